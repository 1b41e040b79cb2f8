"""Ask the collector which pools there are, and post bodies. TLS is verified, and no redirect is followed.

The list of pools is fetched each hour, and sooner if a report names an unknown pool.
"""

import json
import logging
import re
import threading
from collections.abc import Mapping
from itertools import permutations
from typing import Any

from dither_serving.collector_url import CollectorUrl, NoAnswerError
from dither_serving.problems import Kind, Problem, StoreError
from dither_shared import DitherError, WireError
from dither_shared.counted import counted
from dither_shared.seal_key import SUITES
from dither_shared.sealed import Pool

from .store import ListedPool, RelayStore

_log = logging.getLogger(__name__)

PATH = "/v1/sealed"

_LONGEST_ANSWER = 1 << 16
_LONGEST_LIST = 1 << 24
_LONGEST_ROW = 1 << 15
_LONGEST_TEXT = 300

_DIGEST = re.compile(r"[0-9a-f]{32}")

_REFRESH = 3600.0
"""Seconds after which the collector is asked again."""

_AT_MOST = 60.0
"""Minimum seconds between two requests to the collector, whatever unknown pools strangers name."""

_OTHER_SUITE = frozenset(suite.overhead - other.overhead for suite, other in permutations(SUITES.values(), 2))
"""Differences of length, in bytes, between the same row sealed for keys of two kinds."""


class TroubleError(DitherError):
    """The collector cannot be reached, or is unavailable; ``after`` is its Retry-After in seconds."""

    def __init__(self, message: str, after: int | None = None) -> None:
        super().__init__(message)
        self.after = after


class RejectedError(DitherError):
    """The collector rejects a request, and would reject it again if it were repeated soon."""


class CollectorClient:
    """A collector behind a URL, asked with its token, if any; an answer may take ``seconds``."""

    def __init__(self, url: str, token: str, seconds: float) -> None:
        self._url = CollectorUrl.parse("collector", url)
        self._fields = {"User-Agent": "dither-relay"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._seconds = seconds

    def listing(self) -> tuple[list[ListedPool], dict[str, int]]:
        """Ask for which pools the collector takes reports.

        Return them, and the limits of a body: ``batch_limit`` in reports, ``body_limit`` in bytes. Raises TroubleError
        or RejectedError.
        """
        status, answer = self._ask(None, _LONGEST_LIST)
        if status != 200:
            raise RejectedError(_describe(status, answer))
        try:
            return _listing(json.loads(answer))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise RejectedError("the collector's list of pools cannot be read; is that URL a collector's?") from None

    def post(self, body: bytes, reports: int) -> int:
        """Post a body of this many reports; return how many of them the collector could not open or read.

        Raises TroubleError (the body may or may not be counted), or RejectedError, also if the receipt does not cover
        all reports: none may be forgotten that was not read.
        """
        status, answer = self._ask(body, _LONGEST_ANSWER)
        if status != 202:
            raise RejectedError(_describe(status, answer))
        try:
            counts = json.loads(answer)
            accepted, refused = _count(counts["accepted"]), _count(counts["refused"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise RejectedError("the collector's receipt cannot be read; is that URL a collector's?") from None
        if accepted + refused != reports:
            receipt = f"{accepted:,} accepted and {refused:,} refused of {counted(reports, 'report')}"
            raise RejectedError(f"the collector's receipt says {receipt}; is that URL a collector's?")
        return refused

    def _ask(self, body: bytes | None, limit: int) -> tuple[int, bytes]:
        """Return status and body of an answer that is final."""
        try:
            status, fields, answer = self._url.ask(PATH, self._fields, self._seconds, limit + 1, body)
        except NoAnswerError as error:
            raise TroubleError(f"the collector {_line(error)}") from None
        if status == 429 or status >= 500:
            raise TroubleError(_describe(status, answer), _seconds(fields.get("retry-after")))
        if len(answer) > limit:
            raise RejectedError(f"the collector's answer has more than {limit} bytes")
        return status, answer


class Pools:
    """The pools, by digest and length of a sealed row. Only the collector adds pools."""

    def __init__(self, store: RelayStore, collector: CollectorClient) -> None:
        self._store = store
        self._collector = collector
        self._known: Mapping[str, Mapping[int, int]] = {}
        self._wanted = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dither-pools", daemon=True)
        self.trouble = ""
        self._read()

    def start(self) -> None:
        """Start the thread that asks the collector."""
        self._thread.start()

    def close(self) -> None:
        """End the thread, without waiting for a request in progress."""
        self._ended.set()
        self._wanted.set()

    @property
    def is_known(self) -> bool:
        """Whether any pool is known."""
        return bool(self._known)

    def number(self, pool: Pool, length: int) -> int:
        """Return the number of a pool whose reports have this length; raise Problem if there is none."""
        lengths = self._known.get(pool.digest)
        if lengths is not None and length in lengths:
            return lengths[length]
        self._wanted.set()
        if self.trouble or not self._known:
            raise Problem(Kind.UNAVAILABLE, "the list of pools is not known now", int(_AT_MOST))
        if lengths is None:
            raise Problem(
                Kind.UNKNOWN_POOL, "pool: the collector lists no pool of this name; the relay will ask again soon"
            )
        # a new key: with 400, devices would drop the report
        if any(length - listed in _OTHER_SUITE for listed in lengths):
            raise Problem(
                Kind.UNKNOWN_POOL, "sealed: the collector lists no key of this kind; the relay will ask again soon"
            )
        right = " or ".join(map(str, sorted(lengths)))
        raise Problem(Kind.MALFORMED, f"sealed: {length} bytes; a sealed row of this pool has {right}")

    def refresh(self) -> None:
        """Ask the collector now.

        Raises TroubleError, RejectedError or StoreError, and then keeps the old list; RejectedError also if none is
        listed.
        """
        self._store.list_pools(*self._collector.listing())
        self._read()
        if not self._known:
            raise RejectedError(
                "the collector lists no pool: nothing in its metrics.toml is sealed, or its key file is elsewhere"
            )

    def _read(self) -> None:
        self._known = self._store.pools()

    def _run(self) -> None:
        while not self._ended.is_set():
            self._wanted.clear()
            try:
                self.refresh()
                self.trouble = ""
            except (TroubleError, RejectedError, StoreError) as error:
                self.trouble = str(error)
                _log.warning("the list of pools could not be fetched: %s", error)
            except Exception:
                self.trouble = "the list of pools could not be fetched; the log says why"
                _log.exception("the list of pools could not be fetched")
            self._rest()

    def _rest(self) -> None:
        """Wait a minute in any case, and if all is well until an unknown pool is asked for, or for an hour."""
        self._ended.wait(_AT_MOST)
        if not self.trouble and not self._ended.is_set():
            self._wanted.wait(_REFRESH - _AT_MOST)


def _listing(content: Mapping[str, Any]) -> tuple[list[ListedPool], dict[str, int]]:
    pools = []
    for pool in content["pools"]:
        suite, length = SUITES.get(pool["suite"]), _number(pool["length"])
        if suite is None:  # the suite of a newer collector: its reports are refused as of an unknown pool
            continue
        if not suite.overhead < length <= _LONGEST_ROW:
            raise WireError("length: impossible for a sealed row")
        if not _DIGEST.fullmatch(pool["pool"]):
            raise WireError("pool: not a digest of 32 lower-case hexadecimal digits")
        pools.append(ListedPool(pool["pool"], suite, length))
    return pools, {name: _number(content[name]) for name in ("batch_limit", "body_limit")}


def _number(value: object) -> int:
    if not (number := _count(value)):
        raise WireError("0 reports or bytes")
    return number


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 40:
        raise WireError("not a number of reports or bytes")
    return value


def _seconds(header: str | None) -> int | None:
    return int(header) if header is not None and header.isascii() and header.isdigit() and len(header) < 9 else None


def _line(text: object) -> str:
    """Return a text of the collector as one line without control characters."""
    return "".join(character for character in str(text) if character.isprintable())[:_LONGEST_TEXT]


def _describe(status: int, answer: bytes) -> str:
    """Return an unexpected answer of the collector as a message."""
    if 300 <= status < 400:
        return f"the collector answered {status}; redirects are not followed, so give the final URL"
    try:
        detail = json.loads(answer)["detail"]
    except (ValueError, KeyError, TypeError, RecursionError):
        detail = ""
    line = _line(detail)
    return f"the collector answered {status}" + (f": {line}" if line else "")
