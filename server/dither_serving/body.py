"""Read the body of an upload; refuse one that is too long or of another media type."""

from collections.abc import Collection
from wsgiref.types import WSGIEnvironment

from .problems import Kind, Problem

JSON = ("application/json",)
OF_PAGES = ("text/plain", *JSON)
"""The media types of bodies. text/plain is what a page sends without asking first: so only with a listed Origin."""

LONGEST_LENGTH = 20
"""The number of digits of the largest 64-bit integer. Python refuses to read numbers of thousands of digits."""


def read_body(environ: WSGIEnvironment, limit: int, types: Collection[str] = JSON) -> bytes:
    """Return a request's body of one of these media types, having read at most ``limit`` bytes.

    Raises Problem for any Content-Encoding, another media type, and a length that is missing or too large.
    """
    if environ.get("HTTP_CONTENT_ENCODING"):
        raise Problem(Kind.MEDIA_TYPE, "Content-Encoding: not supported; send the JSON uncompressed")
    media_type, _, parameters = environ.get("CONTENT_TYPE", "").partition(";")
    plain = parameters.replace('"', "").replace(" ", "").lower() in {"", "charset=utf-8"}
    if media_type.strip().lower() not in types or not plain:
        raise Problem(Kind.MEDIA_TYPE, f"Content-Type: {' or '.join(types)} is right")
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
