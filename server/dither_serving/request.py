"""One complete HTTP request, and its WSGI environment."""

import sys
from functools import lru_cache
from io import BytesIO
from typing import NamedTuple
from urllib.parse import unquote_to_bytes
from wsgiref.types import WSGIEnvironment

PEER_GONE = "dither.peer_gone"
"""The key of a callable in the WSGI environment, which returns whether the peer has hung up."""

_REPEATED = {"HTTP_COOKIE": "; "}
"""The separators that join the values of a header given twice, where it is not a comma."""


class Request(NamedTuple):
    """Method, target, version (such as 1.1), headers in their order, body, and whether another may follow."""

    method: str
    target: bytes
    version: str
    headers: list[tuple[bytes, bytes]]
    body: bytes
    is_chunked: bool
    keeps_alive: bool


def path_of(target: bytes) -> tuple[bytes, bytes] | None:
    """Return the path of a request's target, still quoted, and its query; None for what names no resource of ours."""
    if not target.startswith(b"/"):
        if target == b"*":
            return target, b""
        scheme, found, rest = target.partition(b"://")
        if not found or scheme.lower() not in {b"http", b"https"}:
            return None
        target = b"/" + rest.partition(b"/")[2]
    path, _, query = target.partition(b"#")[0].partition(b"?")
    return path, query


def environ_of(request: Request, peer: str, here: tuple[str, int]) -> WSGIEnvironment:
    """Return the WSGI environment of a request from an address to ours, ``here``."""
    path, query = path_of(request.target) or (b"", b"")
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": (unquote_to_bytes(path) if b"%" in path else path).decode("latin-1"),
        "QUERY_STRING": query.decode("latin-1"),
        "REQUEST_URI": request.target.decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{request.version}",
        "SERVER_NAME": here[0],
        "SERVER_PORT": str(here[1]),
        "REMOTE_ADDR": peer,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(request.body),
        "wsgi.input_terminated": request.is_chunked,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in request.headers:
        key = _key(name)
        if key is None:
            continue
        text = value.decode("latin-1").strip(" \t")
        environ[key] = text if key not in environ else environ[key] + _REPEATED.get(key, ", ") + text
    if request.is_chunked:
        environ["CONTENT_LENGTH"] = str(len(request.body))
    return environ


@lru_cache(maxsize=256)
def _key(name: bytes) -> str | None:
    """Return WSGI's name of a header; None where an underline would make it another header's."""
    if b"_" in name:
        return None
    key = name.decode("latin-1").upper().replace("-", "_")
    return key if key in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{key}"
