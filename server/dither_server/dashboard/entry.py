"""Pages that are opened by an address with a token: the browser gets a cookie in its place, and goes on without it."""

from urllib.parse import urlencode

from flask import Request, Response, url_for

from dither_serving.problems import SAFE_HEADERS, Kind, Problem

from ..access.gatekeeper import Gatekeeper, Role

__all__ = ["entered"]

_TOKEN = "token"  # noqa: S105 — a parameter's name


def entered(request: Request, gatekeeper: Gatekeeper) -> Response | None:
    """Return the way to the page that a request asks for with a token, without the token; None if there is none.

    Raises Problem if the token is not the one that this process printed, and one is needed.
    """
    if _TOKEN not in request.args:
        return None
    local = gatekeeper.enters_with(request.args[_TOKEN])
    if local is None and gatekeeper.asks_for_token(request.environ, Role.READ):
        raise Problem(
            Kind.UNAUTHORIZED, "token: not the one that this collector drew at its start; open the address it printed"
        )
    answer = Response(status=303, headers=[*SAFE_HEADERS, ("Location", _without_token(request))])
    if local is not None:
        answer.set_cookie(
            local.name, local.cookie, httponly=True, samesite="Strict", secure=_is_https(request), path="/"
        )
    return answer


def _without_token(request: Request) -> str:
    """Return the page's path on this host, with the other arguments: nothing in it can lead elsewhere."""
    path = "/" + url_for(str(request.endpoint), **(request.view_args or {})).lstrip("/")
    rest = [(name, value) for name, value in request.args.items(multi=True) if name != _TOKEN]
    return f"{path}?{urlencode(rest)}" if rest else path


def _is_https(request: Request) -> bool:
    """Return whether the browser says so, or a proxy: whoever lies spoils no cookie but their own."""
    proxied = request.headers.get("Forwarded", "") + ";proto=" + request.headers.get("X-Forwarded-Proto", "")
    return request.is_secure or "proto=https" in proxied.lower()
