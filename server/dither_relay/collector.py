"""Ask the collector which pools there are, and post bodies. TLS is verified, and no redirect is followed."""

import http.client
import json
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Event, Timer
from typing import Any, NamedTuple

from dither_shared import DitherError, WireError
from dither_shared.sealed import SUITES

from .collector_url import CollectorUrl
from .store import ListedPool

PATH = "/v1/sealed"

_LONGEST_ANSWER = 1 << 16
_LONGEST_LIST = 1 << 24
_LONGEST_ROW = 1 << 15
_LONGEST_TEXT = 300

_DIGEST = re.compile(r"[0-9a-f]{32}")


class TroubleError(DitherError):
    """The collector cannot be reached, or takes nothing now; ``after`` are the seconds of its Retry-After."""

    def __init__(self, message: str, after: int | None = None) -> None:
        super().__init__(message)
        self.after = after


class RejectedError(DitherError):
    """The collector does not take this, and would not take it soon."""


class Listing(NamedTuple):
    """The pools for which the collector takes sealed reports, and the largest body: in reports, and in bytes."""

    pools: list[ListedPool]
    batch_limit: int
    body_limit: int


class Receipt(NamedTuple):
    """How many reports of a body are counted, and how many could not be opened or read."""

    accepted: int
    refused: int


class Collector:
    """A collector behind a URL, asked with a token, if it has one; for an answer it may take ``seconds``."""

    def __init__(self, url: str, token: str, seconds: float) -> None:
        self._url = CollectorUrl.parse(url)
        self._headers = {"User-Agent": "dither-relay", "Accept": "application/json", "Connection": "close"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._seconds = seconds
        self._trust = ssl.create_default_context() if self._url.is_secure else None

    def listing(self) -> Listing:
        """Ask which pools there are. Raises TroubleError or RejectedError."""
        status, answer = self._ask("GET", None, _LONGEST_LIST)
        if status != 200:
            raise RejectedError(_describe(status, answer))
        try:
            return _listing(json.loads(answer))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise RejectedError("the collector's list of pools cannot be read; is that URL a collector's?") from None

    def post(self, body: bytes) -> Receipt:
        """Post a body. Raises TroubleError, and then it may be counted or not, or RejectedError."""
        status, answer = self._ask("POST", body, _LONGEST_ANSWER)
        if status != 202:
            raise RejectedError(_describe(status, answer))
        try:
            counts = json.loads(answer)
            return Receipt(_count(counts["accepted"]), _count(counts["refused"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise RejectedError("the collector's receipt cannot be read; is that URL a collector's?") from None

    def _ask(self, method: str, body: bytes | None, limit: int) -> tuple[int, bytes]:
        """Return status and body of an answer that is final."""
        connection = self._connection()
        try:
            headers = self._headers if body is None else self._headers | {"Content-Type": "application/json"}
            connection.connect()
            with _cut_after(self._seconds, connection):
                connection.request(method, self._url.prefix + PATH, body, headers)
                response = connection.getresponse()
                answer = _read(response, limit + 1)
        except ssl.SSLCertVerificationError as error:
            raise TroubleError(f"the collector's certificate is not valid: {error.verify_message}") from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise TroubleError(f"the collector cannot be reached: {_line(reason)}") from None
        finally:
            connection.close()
        if response.status == 429 or response.status >= 500:
            raise TroubleError(_describe(response.status, answer), _seconds(response.headers.get("Retry-After")))
        if len(answer) > limit:
            raise RejectedError(f"the collector's answer has more than {limit} bytes")
        return response.status, answer

    def _connection(self) -> http.client.HTTPConnection:
        if self._trust is None:
            return http.client.HTTPConnection(self._url.host, self._url.port, timeout=self._seconds)
        return http.client.HTTPSConnection(self._url.host, self._url.port, timeout=self._seconds, context=self._trust)


def _listing(content: Mapping[str, Any]) -> Listing:
    pools = []
    for one in content["pools"]:
        suite, length = SUITES.get(one["suite"]), _number(one["length"])
        if suite is None:  # of a newer collector; devices that seal so are told that the pool is unknown
            continue
        if not suite.overhead < length <= _LONGEST_ROW:
            raise WireError("length: no sealed row has it")
        if not _DIGEST.fullmatch(one["pool"]):
            raise WireError("pool: not a digest of 32 lower-case hexadecimal digits")
        pools.append(ListedPool(one["pool"], suite, length))
    return Listing(pools, _number(content["batch_limit"]), _number(content["body_limit"]))


def _number(value: object) -> int:
    if not (number := _count(value)):
        raise WireError("0 reports or bytes")
    return number


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 40:
        raise WireError("not a number of reports or bytes")
    return value


@contextmanager
def _cut_after(seconds: float, connection: http.client.HTTPConnection) -> Iterator[None]:
    """Cut a connection that is still open after ``seconds``, and raise TimeoutError, as if it had been silent.

    A peer that sends a byte now and then would hold us for ever.
    """
    late = Event()

    def cut() -> None:
        late.set()
        with suppress(OSError):  # it has ended
            socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)  # not that of TLS, which would go on in the clear

    timer = Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except TimeoutError:  # of the socket, which may notice first
        late.set()
    finally:
        timer.cancel()
        if late.is_set():
            raise TimeoutError(f"no whole answer in {seconds:g} seconds")


def _read(response: http.client.HTTPResponse, limit: int) -> bytes:
    """Return at most ``limit`` bytes of an answer, piece by piece: ``read`` would take all of a forged chunk."""
    parts: list[bytes] = []
    while limit > 0 and (part := response.read1(limit)):
        parts.append(part)
        limit -= len(part)
    if limit > 0 and response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(parts)


def _seconds(header: str | None) -> int | None:
    return int(header) if header is not None and header.isascii() and header.isdigit() and len(header) < 9 else None


def _line(text: object) -> str:
    """Return a text of the collector as one line without control characters."""
    return "".join(one for one in str(text) if one.isprintable())[:_LONGEST_TEXT]


def _describe(status: int, answer: bytes) -> str:
    """Return an unexpected answer of the collector as a message."""
    if 300 <= status < 400:
        return f"the collector answered {status}; redirects are not followed, so give the URL where it is"
    try:
        detail = json.loads(answer)["detail"]
    except (ValueError, KeyError, TypeError, RecursionError):
        detail = ""
    line = _line(detail)
    return f"the collector answered {status}" + (f": {line}" if line else "")
