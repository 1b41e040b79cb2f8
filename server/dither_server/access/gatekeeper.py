"""Decide who may do what, by three roles and by tokens of which only digests are kept; closed unless opened.

If the setting ``login_header`` is set, a person whom a declared proxy names in that header may read: the proxy has
asked who they are, by OIDC for example. The header counts from the addresses in ``proxies`` alone, for this role alone.

A token is sent as ``Authorization: Bearer TOKEN``, or as the password of Basic authentication, which browsers ask for
by themselves. Two things need no token: what the setting ``open`` allows, and reports that are made on the collector's
own machine (``LocalHosts`` says which). Reading from that machine needs one.
"""

import base64
import binascii
import logging
from collections.abc import Callable
from wsgiref.types import WSGIEnvironment

from dither_serving.addresses import NO_LOCAL_HOSTS, LocalHosts, Proxies
from dither_serving.problems import Kind, Problem

from .tokens import KnownTokens, LocalToken, Role, is_asked_by_a_person

_log = logging.getLogger(__name__)

_LONGEST = 256


Login = Callable[[WSGIEnvironment], bool]
"""Says whether a request reads for somebody who has logged in."""


def proxy_login(header: str, proxies: Proxies, ignored: Callable[[], object]) -> Login:
    """Return the login that a proxy in front has done: the person named in ``header`` may read; "" means nobody may.

    ``ignored`` is called for each request that has the header although no proxy sent it: somebody tries it, or
    ``proxies`` does not name the proxy.
    """
    key = f"HTTP_{header.upper().replace('-', '_')}"
    is_logged = False

    def reads(environ: WSGIEnvironment) -> bool:
        nonlocal is_logged
        name = str(environ.get(key, "")).strip() if header else ""
        if not name:
            return False
        if (environ.get("REMOTE_ADDR") or "") not in proxies:
            ignored()
            if not is_logged:
                is_logged = True
                _log.warning("a login header is ignored, because it comes from an address that proxies does not name")
            return False
        # A comma means that the header came twice, once perhaps from outside: a proxy has to replace it.
        return "," not in name and is_asked_by_a_person(environ)

    return reads


class Gatekeeper:
    """Lets a request pass, or raises the Problem that it is answered with."""

    def __init__(
        self,
        tokens: KnownTokens,
        anyone: frozenset[Role] = frozenset(),
        here: LocalHosts = NO_LOCAL_HOSTS,
        login: Login = lambda _: False,
    ) -> None:
        """Require one of ``tokens``, except for roles of ``anyone``, reports from ``here`` and readers by ``login``."""
        self._login = login
        self._tokens = tokens
        self._anyone = frozenset(role for role in Role if any(one.covers(role) for one in anyone))
        self._here = here
        self._local: LocalToken | None = None

    def draw_local_token(self, port: int) -> LocalToken:
        """Return a read token, valid until this process ends; ``port`` is where it listens."""
        self._local = LocalToken(port)
        return self._local

    def admit(self, environ: WSGIEnvironment, role: Role) -> None:
        """Return if the request may do what ``role`` may; raise Problem otherwise."""
        if not self.asks_for_token(environ, role) or self._bears_cookie(environ, role):
            return
        if role is Role.READ and self._login(environ):
            return
        token = _presented(environ)
        if token is None:
            raise Problem(Kind.UNAUTHORIZED, f"a token of the role {role.value} is needed")
        found = self._role_of(token)
        if not found.covers(role):
            raise Problem(Kind.FORBIDDEN, f"the token has the role {found.value}; this needs {role.value}")

    def asks_for_token(self, environ: WSGIEnvironment, role: Role) -> bool:
        """Return whether a request needs a token for what ``role`` may do."""
        return role not in self._anyone and (role is not Role.REPORT or not self._here.is_source_of(environ))

    def enters_with(self, token: str) -> LocalToken | None:
        """Return the local token if ``token`` is it, so that the browser that sent it may get its cookie."""
        return self._local if self._local is not None and self._local.matches(token) else None

    def settled(self, authorization: str) -> bool:
        """Return whether this header value can be judged now without reading the database."""
        token = _presented({"HTTP_AUTHORIZATION": authorization})
        return token is not None and self._tokens.is_at_hand(token)

    def close(self) -> None:
        """Write which tokens were used."""
        self._tokens.write_uses()

    def _bears_cookie(self, environ: WSGIEnvironment, role: Role) -> bool:
        return role is Role.READ and self._local is not None and self._local.is_kept_by(environ)

    def _role_of(self, token: str) -> Role:
        if self.enters_with(token) is not None:
            return Role.READ
        found = self._tokens.find(token)
        if found is None:
            raise Problem(Kind.UNAUTHORIZED, "the token is not known here, or was revoked")
        if self._tokens.is_expired(found):
            raise Problem(Kind.UNAUTHORIZED, f"the token expired on {found.expires}")
        self._tokens.note_use(found)
        return Role(found.role)


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
