"""Tokens in the database: digests with a role and a note."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import date

import sqlalchemy as sa

from .schema import TOKENS

__all__ = ["StoredToken", "add_token", "drop_tokens", "end_token", "read_tokens", "use_tokens"]

_SHOWN = 12
"""Hexadecimal digits of a digest that name a token."""


@dataclass(frozen=True)
class StoredToken:
    """What is kept of a token: enough to recognise it, not enough to use it.

    ``day`` is when it was made, ``expires`` the first UTC day on which it opens nothing, ``used`` the last on which it
    did.
    """

    digest: bytes
    role: str
    note: str
    day: date
    expires: date | None = None
    used: date | None = None

    @property
    def identifier(self) -> str:
        """What names it to people: enough of the digest to tell thousands apart."""
        return self.digest.hex()[:_SHOWN]


def add_token(connection: sa.Connection, token: StoredToken) -> None:
    """Write a token down."""
    connection.execute(sa.insert(TOKENS), asdict(token))


def read_tokens(connection: sa.Connection) -> list[StoredToken]:
    """Return every token, oldest first."""
    rows = connection.execute(sa.select(TOKENS).order_by(TOKENS.c.day, TOKENS.c.digest))
    return [StoredToken(**row) for row in rows.mappings()]


def use_tokens(connection: sa.Connection, digests: Collection[bytes], day: date) -> None:
    """Write down that tokens were used on a day; a later one that stands there stays."""
    earlier = TOKENS.c.used.is_(None) | (TOKENS.c.used < day)
    connection.execute(sa.update(TOKENS).where(TOKENS.c.digest.in_(digests), earlier).values(used=day))


def end_token(connection: sa.Connection, digest: bytes, day: date) -> None:
    """Let a token open nothing from a day on; one that ends earlier still does."""
    later = TOKENS.c.expires.is_(None) | (TOKENS.c.expires > day)
    connection.execute(sa.update(TOKENS).where(TOKENS.c.digest == digest, later).values(expires=day))


def drop_tokens(connection: sa.Connection, digest: bytes) -> int:
    """Drop the token of a digest; return how many that were."""
    return connection.execute(sa.delete(TOKENS).where(TOKENS.c.digest == digest)).rowcount
