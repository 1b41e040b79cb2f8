"""Keep the tokens that a collector knows: read them from the database now and then, and compare in constant time.

A token is 32 random bytes: guessing it is out of reach, so its digest needs no salt and no slow hash.
"""

import hashlib
import hmac
import logging
import secrets
import threading
import time
from collections.abc import Callable, Collection, Sequence
from datetime import date
from typing import Protocol

from dither_serving.problems import Kind, Problem

from ..store import StoredToken, StoreError
from .roles import Role

__all__ = ["KnownTokens", "digest_of", "draw_token"]

_log = logging.getLogger(__name__)

_FRESH = 5.0
"""Seconds for which the tokens read from the database are believed: a revoked one is refused after that."""

_RETRY = 0.5
"""Seconds after which an unknown token makes us look again, for it may be new."""


class _Tokens(Protocol):
    def tokens(self) -> Sequence[StoredToken]: ...
    def use_tokens(self, digests: Collection[bytes], day: date) -> None: ...


class KnownTokens:
    """The tokens of a database, from many threads; and which of them were used, by day and no finer."""

    def __init__(self, store: _Tokens, today: Callable[[], date], clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._today = today
        self._clock = clock
        self._known: Sequence[StoredToken] = ()
        self._used: set[tuple[bytes, date]] = set()
        self._read_at = float("-inf")
        self._reading = threading.Lock()

    def find(self, token: str) -> StoredToken | None:
        """Return the stored token, expired or not. Raises Problem if the database could never be read yet."""
        digest = digest_of(token)
        for age in (_FRESH, _RETRY):
            self._refresh(age)
            if (found := self._known_as(digest)) is not None:
                return found
        return None

    def is_at_hand(self, token: str) -> bool:
        """Return whether a token can be found now without a look into the database."""
        return self._clock() - self._read_at < _FRESH and self._known_as(digest_of(token)) is not None

    def is_expired(self, token: StoredToken) -> bool:
        """Return whether a token has expired."""
        return token.expires is not None and token.expires <= self._today()

    def note_use(self, token: StoredToken) -> None:
        """Keep in mind that a token was used today; that is written with others, once a day."""
        today = self._today()
        if token.used is None or token.used < today:
            self._used.add((token.digest, today))

    def write_uses(self) -> None:
        """Write down the uses that are in mind; what cannot be written is kept for the next time."""
        used = self._used.copy()
        try:
            for day in sorted({day for _, day in used}):
                self._store.use_tokens([digest for digest, on in used if on == day], day)
        except StoreError as error:
            _log.warning("the last uses of tokens were not written: %s", error)
        else:
            self._used -= used

    def _known_as(self, digest: bytes) -> StoredToken | None:
        found = None
        for known in self._known:  # each one is compared, so that time tells nothing about any
            if hmac.compare_digest(known.digest, digest):
                found = known
        return found

    def _refresh(self, oldest: float) -> None:
        """Read the tokens again if they are older than that; one thread reads, the others go on with what is known."""
        if self._clock() - self._read_at < oldest or not self._reading.acquire(blocking=self._read_at < 0):
            return
        try:
            if self._clock() - self._read_at >= oldest:
                self.write_uses()
                self._known = self._store.tokens()
                self._read_at = self._clock()
        except StoreError:
            if self._read_at < 0:
                raise Problem(Kind.UNAVAILABLE, "the database cannot be read now", 10) from None
        finally:
            self._reading.release()


def draw_token(role: Role) -> str:
    """Return a fresh token; it is shown once and kept nowhere."""
    return f"dither-{role.value}-{secrets.token_urlsafe(32)}"


def digest_of(token: str) -> bytes:
    """Return the digest that the database keeps of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
