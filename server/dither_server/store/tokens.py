"""Tokens in the database: digests with a role and a note."""

from dataclasses import dataclass
from datetime import date

import sqlalchemy as sa

from .schema import TOKENS

__all__ = ["StoredToken", "add_token", "drop_tokens", "read_tokens"]


@dataclass(frozen=True)
class StoredToken:
    """What is kept of a token: enough to recognise it, not enough to use it."""

    digest: bytes
    role: str
    note: str
    day: date


def add_token(connection: sa.Connection, token: StoredToken) -> None:
    """Write a token down."""
    row = {"digest": token.digest, "role": token.role, "note": token.note, "day": token.day}
    connection.execute(sa.insert(TOKENS), row)


def read_tokens(connection: sa.Connection) -> list[StoredToken]:
    """Return every token, oldest first."""
    query = sa.select(TOKENS.c.digest, TOKENS.c.role, TOKENS.c.note, TOKENS.c.day)
    rows = connection.execute(query.order_by(TOKENS.c.day, TOKENS.c.digest))
    return [StoredToken(row.digest, row.role, row.note, row.day) for row in rows]


def drop_tokens(connection: sa.Connection, digest: bytes) -> int:
    """Drop the token of a digest; return how many that were."""
    return connection.execute(sa.delete(TOKENS).where(TOKENS.c.digest == digest)).rowcount
