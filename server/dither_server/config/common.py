"""Check what the settings of every server have in common."""

from dataclasses import Field, fields
from typing import Any, ClassVar, Protocol

from dither_serving.proxies import Proxies
from dither_shared import ParameterError

RETRY_DAYS = 30
"""Days for which a device may send a batch again: the client's outbox keeps none for longer."""

_LEVELS = {"debug", "info", "warning", "error"}


class _Common(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def db(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def proxies(self) -> str: ...
    @property
    def horizon(self) -> int: ...
    @property
    def log_level(self) -> str: ...


def check_common(config: _Common) -> None:
    """Raise ParameterError for a number that is not positive, and for what no database, proxy, port or level is."""
    for one in fields(config):
        value = getattr(config, one.name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and value <= 0 and one.name != "port":
            raise ParameterError(one.name, f"{value!r} is not positive")
    from ..store.url import database_url  # noqa: PLC0415 - SQLAlchemy is what a command's help would wait for

    database_url(config.db)
    Proxies(config.proxies)
    if not 0 <= config.port <= 65_535:
        raise ParameterError("port", f"{config.port} is not between 0 and 65535")
    if config.horizon <= RETRY_DAYS:
        raise ParameterError("horizon", f"{config.horizon} is not above {RETRY_DAYS}, the days devices retry")
    if config.log_level not in _LEVELS:
        raise ParameterError("log_level", f"{config.log_level!r} is not one of debug, info, warning, error")
