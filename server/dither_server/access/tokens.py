"""The roles, and the tokens that a collector knows: those of the database, and one that it draws when it starts.

A token is 32 random bytes, which cannot be guessed, so its digest needs no salt and no slow hash. Digests are read from
the database every few seconds, and compared in constant time.

The local token lets the person who starts the collector read it in a browser at once. It is printed in the address of
the pages, and kept only in memory. The page opened by that address gives the browser a cookie and drops the token from
the address. Cookies do not depend on the port: other servers with the same host name see this one. So its name contains
the port, and its value is not the token: it allows only GET requests, here, until the process ends.
"""

import hashlib
import hmac
import logging
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Protocol
from wsgiref.types import WSGIEnvironment

from dither_serving.problems import Kind, Problem, StoreError

if TYPE_CHECKING:
    from ..store import StoredToken

_log = logging.getLogger(__name__)

_FRESH = 5.0
"""Seconds for which tokens read from the database are trusted: a revoked one is refused after that."""

_RETRY = 0.5
"""Seconds after which an unknown token causes another read, because it may be new."""

_LONGEST = 256
"""Characters of a cookie's value that is compared."""


class Role(Enum):
    """The role of a token."""

    REPORT = "report"
    """Send reports: for gateways. A token in an app that everyone has is no secret."""
    READ = "read"
    """Read metrics, estimates, the pages, and the collector's own numbers (``/metrics``)."""
    ADMIN = "admin"
    """Both."""

    def covers(self, other: "Role") -> bool:
        """Return whether this role may do what ``other`` may."""
        return self in {other, Role.ADMIN}


OPEN = None
"""Instead of a role: open to everyone."""


class _Tokens(Protocol):
    def all(self) -> "Sequence[StoredToken]": ...
    def note_uses(self, digests: Collection[bytes], day: date) -> None: ...


class KnownTokens:
    """The tokens of a database, and the days on which they were used. Safe to use from many threads."""

    def __init__(self, stored: _Tokens, today: Callable[[], date], clock: Callable[[], float] = time.monotonic) -> None:
        self._stored = stored
        self._today = today
        self._clock = clock
        self._known: Sequence[StoredToken] = ()
        self._used: set[tuple[bytes, date]] = set()
        self._read_at = float("-inf")
        self._reading = threading.Lock()

    def find(self, token: str) -> "StoredToken | None":
        """Return the stored token, expired or not. Raises Problem if the database could never be read yet."""
        digest = digest_of(token)
        for age in (_FRESH, _RETRY):
            self._refresh(age)
            if (found := self._known_as(digest)) is not None:
                return found
        return None

    def is_at_hand(self, token: str) -> bool:
        """Return whether a token can be checked now without reading the database."""
        return self._clock() - self._read_at < _FRESH and self._known_as(digest_of(token)) is not None

    def is_expired(self, token: "StoredToken") -> bool:
        """Return whether a token has expired."""
        return token.expires is not None and token.expires <= self._today()

    def note_use(self, token: "StoredToken") -> None:
        """Note that a token was used today. Uses are written together, once per token and day."""
        today = self._today()
        if token.used is None or token.used < today:
            self._used.add((token.digest, today))

    def write_uses(self) -> None:
        """Write the noted uses; keep them for the next time if that fails."""
        used = self._used.copy()
        try:
            for day in sorted({day for _, day in used}):
                self._stored.note_uses([digest for digest, on in used if on == day], day)
        except StoreError as error:
            _log.warning("the last uses of tokens were not written: %s", error)
        else:
            self._used -= used

    def _known_as(self, digest: bytes) -> "StoredToken | None":
        found = None
        for known in self._known:  # all are compared, so that the time reveals nothing
            if hmac.compare_digest(known.digest, digest):
                found = known
        return found

    def _refresh(self, oldest: float) -> None:
        """Read the tokens again if they are older than ``oldest``; other threads go on with the known ones."""
        if self._clock() - self._read_at < oldest or not self._reading.acquire(blocking=self._read_at < 0):
            return
        try:
            if self._clock() - self._read_at >= oldest:
                self.write_uses()
                self._known = self._stored.all()
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


class LocalToken:
    """A token of the role ``read``, and the cookie that stands for it."""

    def __init__(self, port: int) -> None:
        """Draw both for a collector at ``port``."""
        self.token = draw_token(Role.READ)
        self.name = f"dither-{port}"
        self.cookie = secrets.token_urlsafe(32)

    def matches(self, token: str) -> bool:
        """Return whether ``token`` is the local token, compared in constant time."""
        return _same(self.token, token)

    def is_kept_by(self, environ: WSGIEnvironment) -> bool:
        """Return whether a request reads, and bears the cookie, which pages of another port on this host send, too."""
        return is_asked_by_a_person(environ) and any(_same(self.cookie, given) for given in self._given(environ))

    def _given(self, environ: WSGIEnvironment) -> Iterator[str]:
        """Yield every cookie with our name: another server of this host may have set one, too."""
        for pair in environ.get("HTTP_COOKIE", "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self.name and len(value) <= _LONGEST:
                yield value


def is_asked_by_a_person(environ: WSGIEnvironment) -> bool:
    """Return whether a request reads, and no browser says that another site's page asks instead of a person."""
    if environ["REQUEST_METHOD"] not in {"GET", "HEAD"}:
        return False
    asks = environ.get("HTTP_SEC_FETCH_SITE", "none")
    return asks in {"none", "same-origin"} or environ.get("HTTP_SEC_FETCH_MODE") == "navigate"


def _same(secret: str, given: str) -> bool:
    return hmac.compare_digest(digest_of(secret), digest_of(given))
