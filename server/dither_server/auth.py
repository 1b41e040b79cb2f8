"""Who may do what: three roles, tokens of which only digests are kept, and closed unless opened.

A token is 32 random bytes: guessing it is out of reach, so its digest needs no salt and no slow hash. It is sent as
``Authorization: Bearer TOKEN``, or as the password of Basic authentication, which browsers ask for by themselves.
"""

import base64
import binascii
import hashlib
import hmac
import ipaddress
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from wsgiref.types import WSGIEnvironment

from .problems import Kind, Problem
from .roles import Role
from .store import StoredToken, StoreError

__all__ = ["Gatekeeper", "Role", "digest_of", "draw_token", "is_loopback"]

_FRESH = 5.0
"""Seconds for which the tokens read from the database are believed: a revoked one is refused after that."""

_RETRY = 0.5
"""Seconds after which an unknown token makes us look again, for it may be new."""

_LONGEST = 256
_FORWARDED = ("HTTP_FORWARDED", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_X_REAL_IP", "HTTP_VIA")


class Gatekeeper:
    """Lets a request pass, or raises the Problem that it is answered with."""

    def __init__(
        self,
        read: Callable[[], Sequence[StoredToken]],
        anyone: frozenset[Role] = frozenset(),
        trust_loopback: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Know the tokens that ``read`` returns; ``anyone`` needs none for these roles, and loopback for none at all.

        The latter only with ``trust_loopback``.
        """
        self._read = read
        self._anyone = anyone
        self._trust_loopback = trust_loopback
        self._clock = clock
        self._known: Sequence[StoredToken] = ()
        self._read_at = float("-inf")
        self._reading = threading.Lock()

    def admit(self, environ: WSGIEnvironment, role: Role) -> None:
        """Return if the request may do what ``role`` may; raise Problem otherwise."""
        if not self.asks_for_token(environ, role):
            return
        token = _presented(environ)
        if token is None:
            raise Problem(Kind.UNAUTHORIZED, f"a token of the role {role.value} is needed")
        found = self._role_of(token)
        if found is None:
            raise Problem(Kind.UNAUTHORIZED, "the token is not known here, or was revoked")
        if not found.covers(role):
            raise Problem(Kind.FORBIDDEN, f"a token of the role {found.value} may not do what takes {role.value}")

    def asks_for_token(self, environ: WSGIEnvironment, role: Role) -> bool:
        """Return whether a request may do what ``role`` may only with a token."""
        return role not in self._anyone and not (self._trust_loopback and _is_local(environ))

    def settled(self, authorization: str) -> bool:
        """Return whether a header of this value can be judged now without a look into the database."""
        if self._clock() - self._read_at >= _FRESH:
            return False
        token = _presented({"HTTP_AUTHORIZATION": authorization})
        return token is not None and self._known_as(digest_of(token)) is not None

    def _role_of(self, token: str) -> Role | None:
        digest = digest_of(token)
        for age in (_FRESH, _RETRY):
            self._refresh(age)
            if (found := self._known_as(digest)) is not None:
                return Role(found.role)
        return None

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
                self._known = self._read()
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
    """Return what the database keeps of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Return whether an address or name is this machine's own."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _is_local(environ: WSGIEnvironment) -> bool:
    """Return whether a request comes from this machine, and not through a proxy on it or a page in its browser."""
    if not is_loopback(environ.get("REMOTE_ADDR") or "") or any(name in environ for name in _FORWARDED):
        return False
    host = environ.get("HTTP_HOST") or "localhost"  # a page that rebinds its name to loopback sends that name
    return is_loopback(host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host)


def _presented(environ: WSGIEnvironment) -> str | None:
    scheme, _, given = str(environ.get("HTTP_AUTHORIZATION", "")).partition(" ")
    given = given.strip()
    if not given or len(given) > _LONGEST:
        return None
    if scheme.lower() == "bearer":
        return given
    if scheme.lower() != "basic":
        return None
    try:
        return base64.b64decode(given, validate=True).decode("utf-8").partition(":")[2] or None
    except (binascii.Error, ValueError):
        return None
