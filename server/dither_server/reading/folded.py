"""How far folds of a spool have come, as answers tell it."""

from datetime import datetime
from typing import Protocol

__all__ = ["folded"]


class _Folds(Protocol):
    def up_to(self) -> datetime | None: ...


def folded(folds: _Folds) -> dict[str, str]:
    """Return the member ``folded_up_to`` of an answer, such as 2026-11-20T14:05:59Z; nothing where none has run.

    Asked before the counts are read, it promises no more than these hold. Raises StoreError.
    """
    up_to = folds.up_to()
    return {} if up_to is None else {"folded_up_to": up_to.isoformat().replace("+00:00", "Z")}
