"""Tokens in the database: digests with a role and a note."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import date

import sqlalchemy as sa

from .schema import TOKENS, Repository

_SHOWN = 12
"""Hexadecimal digits of a digest that name a token."""


@dataclass(frozen=True)
class StoredToken:
    """The stored part of a token: enough to recognize it, not enough to use it.

    ``day`` is when it was made, ``expires`` the first UTC day on which it is invalid, ``used`` the last on which it was
    used.
    """

    digest: bytes
    role: str
    note: str
    day: date
    expires: date | None = None
    used: date | None = None

    @property
    def identifier(self) -> str:
        """Its name for people: enough digits of the digest to distinguish thousands of tokens."""
        return self.digest.hex()[:_SHOWN]


class Tokens(Repository):
    """The tokens of a collector."""

    def all(self) -> list[StoredToken]:
        """Return every token, oldest first."""
        with self._transaction() as connection:
            rows = connection.execute(sa.select(TOKENS).order_by(TOKENS.c.day, TOKENS.c.digest))
            return [StoredToken(**row) for row in rows.mappings()]

    def add(self, token: StoredToken) -> None:
        """Store a token."""
        with self._transaction(write=True) as connection:
            connection.execute(sa.insert(TOKENS), asdict(token))

    def rotate(self, digest: bytes, fresh: StoredToken, day: date) -> None:
        """Store a token in place of another, which expires on a day unless it expires earlier."""
        later = TOKENS.c.expires.is_(None) | (TOKENS.c.expires > day)
        with self._transaction(write=True) as connection:
            connection.execute(sa.update(TOKENS).where(TOKENS.c.digest == digest, later).values(expires=day))
            connection.execute(sa.insert(TOKENS), asdict(fresh))

    def note_uses(self, digests: Collection[bytes], day: date) -> None:
        """Note that tokens were used on a day, unless they were used later."""
        earlier = TOKENS.c.used.is_(None) | (TOKENS.c.used < day)
        with self._transaction(write=True) as connection:
            connection.execute(sa.update(TOKENS).where(TOKENS.c.digest.in_(digests), earlier).values(used=day))

    def delete(self, digest: bytes) -> bool:
        """Delete a token; return whether it was there."""
        with self._transaction(write=True) as connection:
            return connection.execute(sa.delete(TOKENS).where(TOKENS.c.digest == digest)).rowcount > 0
