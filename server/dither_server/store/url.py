"""Check the URL of a database: SQLite in a file, or PostgreSQL."""

import re

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from dither_shared import ParameterError

_DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}

_EXAMPLES = "for example sqlite:///dither.db or postgresql://user@host/name"


def database_url(text: str) -> sa.URL:
    """Return the parsed URL of a database; raise ParameterError, which never shows a password, if it is not one."""
    try:
        url = sa.make_url(text)
    except (ArgumentError, ValueError):  # a ValueError of a port that is no number
        raise ParameterError("db", f"not a database URL; {_EXAMPLES}") from None
    if url.drivername not in _DRIVERS:
        raise ParameterError("db", f"{url.drivername} is neither sqlite nor postgresql; {_EXAMPLES}")
    url = url.set(drivername=_DRIVERS[url.drivername])
    if url.drivername == "sqlite":
        if url.host or not url.database or url.database == ":memory:" or "\0" in url.database:
            raise ParameterError("db", "in-memory databases lose all reports; name a file such as sqlite:///dither.db")
    elif "@" in (url.host or ""):
        raise ParameterError("db", "has two @; one in a password is written %40")
    elif url.port is not None and not 0 < url.port < 1 << 16:
        raise ParameterError("db", f"the port {url.port} is not between 1 and 65535")
    return url


def without_password(text: str) -> str:
    """Return the text of a database's URL, right or wrong, with stars for its password."""
    text = re.sub(r"(://[^:/?#]*):.*@", r"\1:***@", text, flags=re.DOTALL)
    return re.sub(r"(password=)[^&]*", r"\1***", text, flags=re.IGNORECASE)
