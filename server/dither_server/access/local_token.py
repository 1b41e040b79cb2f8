"""Draw a token of this process alone, so that whoever starts a collector can read it in a browser at once.

It is drawn at the start, printed once in the address of the pages, and kept nowhere but in memory. The page that is
opened by that address gives the browser a cookie and drops the token from the address. Cookies know no ports: other
servers of the same host name see this one. So its name tells the port, and its value is not the token: it opens what
is read by GET, here, until the process ends, and nothing else.
"""

import hmac
import secrets
from collections.abc import Iterator
from wsgiref.types import WSGIEnvironment

from .known_tokens import digest_of, draw_token
from .roles import Role

_LONGEST = 256


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
        """Return whether a request reads, and bears the cookie.

        A page of another port on this host has its requests bear the cookie, too. Where the browser says that it is
        such a page that asks, and not a person who goes to ours, the cookie does not count.
        """
        if environ["REQUEST_METHOD"] not in {"GET", "HEAD"}:
            return False
        asks = environ.get("HTTP_SEC_FETCH_SITE", "none")
        if asks not in {"none", "same-origin"} and environ.get("HTTP_SEC_FETCH_MODE") != "navigate":
            return False
        return any(_same(self.cookie, given) for given in self._given(environ))

    def _given(self, environ: WSGIEnvironment) -> Iterator[str]:
        """Yield every cookie of our name: another server of this host may have set one, too."""
        for pair in environ.get("HTTP_COOKIE", "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self.name and len(value) <= _LONGEST:
                yield value


def _same(secret: str, given: str) -> bool:
    return hmac.compare_digest(digest_of(secret), digest_of(given))
