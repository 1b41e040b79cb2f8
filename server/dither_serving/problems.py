"""Make error answers: RFC 9457 ``application/problem+json`` with stable types.

A detail says what was wrong, where, and what would be right. It never repeats what the peer sent, because that may be a
person's report.
"""

import json
from enum import Enum
from http import HTTPStatus

from dither_shared import DitherError

MEDIA_TYPE = "application/problem+json"

SAFE_HEADERS = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
)
"""Headers of every answer, whether it succeeds or fails."""

Answer = tuple[int, list[tuple[str, str]], bytes]
"""Status, headers and body of an answer."""


class StoreError(DitherError):
    """The database cannot be read or written now; nothing that was requested has happened."""

    public = "the database cannot be read or written now"
    """The message for strangers."""


class Kind(Enum):
    """The kinds of problems: status, the end of the type ``urn:dither:problem:*``, and title."""

    MALFORMED = (400, "malformed", "The body is not a batch of reports")
    SEALED = (400, "sealed", "Sealed reports do not open")
    PARAMETER = (400, "parameter", "A query parameter is not valid")
    NO_CANDIDATES = (400, "no-candidates", "The metric lists no candidate strings")
    UNAUTHORIZED = (401, "unauthorized", "A token is needed")
    FORBIDDEN = (403, "forbidden", "The token's role does not allow this")
    ORIGIN = (403, "origin", "The page's origin is not listed")
    UNKNOWN_METRIC = (404, "unknown-metric", "No such metric")
    UNKNOWN_VERSION = (404, "unknown-version", "No such version of the metric")
    UNKNOWN_POOL = (404, "unknown-pool", "No such pool")
    NOT_FOUND = (404, "not-found", "No such page")
    METHOD_NOT_ALLOWED = (405, "method-not-allowed", "The method is not allowed here")
    NOT_ACCEPTABLE = (406, "not-acceptable", "No accepted format is available")
    VERSION_CONFLICT = (409, "version-conflict", "The metric has another version here")
    BATCH_CONFLICT = (409, "batch-conflict", "The batch id belongs to another batch")
    UNMIXED = (409, "unmixed", "The batch is too small or too early")
    DISABLED = (410, "metric-disabled", "The metric is disabled")
    LENGTH_REQUIRED = (411, "length-required", "The body's length is missing")
    TOO_LARGE = (413, "too-large", "The batch is too large")
    POOL_CLOSED = (422, "pool-closed", "The pool takes no more reports")
    MEDIA_TYPE = (415, "media-type", "The body is not plain application/json")
    TOO_COSTLY = (413, "too-costly", "The answer would take too much work")
    CROWDED = (429, "crowded", "Too many requests from this address at once")
    BUSY = (503, "busy", "Too many analyses are running")
    OVERLOADED = (503, "overloaded", "Too many batches are waiting")
    UNAVAILABLE = (503, "unavailable", "The database or the spool is unavailable")
    INTERNAL = (500, "internal", "The collector failed")

    def __init__(self, status: int, slug: str, title: str) -> None:
        self.status = status
        self.slug = slug
        self.title = title

    @property
    def urn(self) -> str:
        """The problem's stable type."""
        return f"urn:dither:problem:{self.slug}"


BASIC = 'Basic realm="dither", charset="UTF-8"'
"""The challenge for which a browser asks its user for a password."""


class Problem(DitherError):  # noqa: N818  # RFC 9457 calls it a problem
    """An error that is answered as a problem. ``retry_after`` is the number of seconds after which to retry."""

    def __init__(self, kind: Kind, detail: str, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after

    def answer(self) -> Answer:
        """Return the problem as status, headers and body."""
        status, headers, body = _answer(self.kind.urn, self.kind.title, self.kind.status, self.detail)
        if self.kind is Kind.UNAUTHORIZED:
            headers.append(("WWW-Authenticate", f'Bearer realm="dither", {BASIC}'))
        if self.retry_after is not None:
            headers.append(("Retry-After", str(self.retry_after)))
        return status, headers, body


def http_answer(status: int) -> Answer:
    """Return the problem for a bare HTTP error from the framework or the server."""
    phrase = HTTPStatus(status).phrase
    kind = _OF_STATUS.get(status)
    if kind is not None:
        return Problem(kind, phrase).answer()
    return _answer("about:blank", phrase, status, phrase)


def reason(status: int) -> str:
    """Return a status with its phrase, as WSGI wants it."""
    return f"{status} {HTTPStatus(status).phrase}"


_OF_STATUS = {kind.status: kind for kind in (Kind.NOT_FOUND, Kind.METHOD_NOT_ALLOWED, Kind.TOO_LARGE, Kind.INTERNAL)}


def _answer(urn: str, title: str, status: int, detail: str) -> Answer:
    body = json.dumps({"type": urn, "title": title, "status": status, "detail": detail}).encode("ascii")
    return status, [("Content-Type", MEDIA_TYPE), ("Content-Length", str(len(body))), *SAFE_HEADERS], body
