"""One complete HTTP request, its WSGI environment, and the body that an app reads from it."""

import sys
from collections.abc import Collection
from functools import lru_cache
from io import BytesIO
from typing import NamedTuple
from urllib.parse import unquote_to_bytes
from wsgiref.types import WSGIEnvironment

from .problems import Kind, Problem

JSON = ("application/json",)
OF_PAGES = ("text/plain", *JSON)
"""The media types of bodies. A page sends text/plain without a preflight, so it is accepted only from a listed
Origin.
"""

LONGEST_LENGTH = 20
"""The number of digits of the largest 64-bit integer. Python refuses to read numbers of thousands of digits."""

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
    """Return the path of a request's target, still quoted, and its query; None if it names no resource of ours."""
    if not target.startswith(b"/"):
        if target == b"*":
            return target, b""
        scheme, separator, rest = target.partition(b"://")
        if not separator or scheme.lower() not in {b"http", b"https"}:
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
    """Return WSGI's name of a header; None if an underscore could make it pass for another header."""
    if b"_" in name:
        return None
    key = name.decode("latin-1").upper().replace("-", "_")
    return key if key in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{key}"


def read_body(environ: WSGIEnvironment, limit: int, types: Collection[str] = JSON) -> bytes:
    """Return a request's body of one of these media types, having read at most ``limit`` bytes.

    Raises Problem for any Content-Encoding, another media type, and a length that is missing or too large.
    """
    if environ.get("HTTP_CONTENT_ENCODING"):
        raise Problem(Kind.MEDIA_TYPE, "Content-Encoding: not supported; send the JSON uncompressed")
    media_type, _, parameters = environ.get("CONTENT_TYPE", "").partition(";")
    plain = parameters.replace('"', "").replace(" ", "").lower() in {"", "charset=utf-8"}
    if media_type.strip().lower() not in types or not plain:
        raise Problem(Kind.MEDIA_TYPE, f"Content-Type: must be {' or '.join(types)}")
    length = _length(environ)
    if length > limit:
        raise Problem(Kind.TOO_LARGE, f"body: more than {limit} bytes; send several batches")
    body: bytes = environ["wsgi.input"].read(length if length >= 0 else limit + 1)
    if len(body) > limit:
        raise Problem(Kind.TOO_LARGE, f"body: more than {limit} bytes; send several batches")
    if len(body) < length:
        raise Problem(Kind.MALFORMED, "body: ends before its Content-Length")
    return body


def _length(environ: WSGIEnvironment) -> int:
    """Return the body's length, or -1 if the server finds its end without a Content-Length."""
    text = environ.get("CONTENT_LENGTH", "")
    if not text:
        if environ.get("wsgi.input_terminated"):
            return -1
        raise Problem(Kind.LENGTH_REQUIRED, "Content-Length: missing")
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_LENGTH):
        raise Problem(Kind.MALFORMED, "Content-Length: not a number of bytes")
    return int(text)
