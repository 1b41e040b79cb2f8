"""The commands of ``python -m dither``, for users and for an app's developer; an app offers them by ``run``."""

from .users import run

__all__ = ["run"]
