"""Sealed reports: what a device sends to a relay, and what the relay sends to the collector.

A device seals the row of its report for the collector, and posts it to a relay: the relay sees the address, but not the
report. The relay posts many together, in an order that reveals nothing: the collector sees the reports, but no address.

    {"pool": "theme/<version>/week-2026-11-23/1000[/<stratum>]", "sealed": "<base64 of one sealed row>"}  (a device)
    {"batch": "<32 hex>", "pool": "…", "suite": "x25519", "total": "812", "sealed": "<base64 of many>"}   (a relay)

Sealing is HPKE in base mode (RFC 9180) of the row alone, with the pool as ``info``. Both ends do it with the package
``cryptography``; this module has what they must agree on.

A device has at most one report in each period, and a batch has reports of one pool, so of one period. The name of a
pool holds the period and the least number of reports of a batch, and rows are sealed for that name: neither a relay nor
a collector can change them.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date
from itertools import count, pairwise
from typing import NamedTuple, Self, get_args

from .errors import WireError
from .flat_json import base64, read_base64, read_object
from .metrics.period import Period, first_day
from .primitives.digests import sha256
from .seal_key import SUITES, Suite
from .wire import LONGEST_STRATUM

_INFO = b"dither sealed 1\0"
_POOL = b"dither pool 1\0"
_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
_VERSION = re.compile(r"[0-9a-f]{16}")
_BATCH = re.compile(r"[0-9a-f]{32}")
_TOTAL = re.compile(r"[1-9][0-9]{0,11}")
_LEAST = re.compile(r"[1-9][0-9]{0,8}")

ONCE = "once"
"""The period of a pool for reports that a device makes once."""


_OF_ONE = ("pool", "sealed")
_MEMBERS = ("batch", "pool", "suite", "total", "sealed")


def pool_period(period: str, today: int) -> str:
    """Return the period, as pools name it, of a report that a metric of this ``period`` makes on a day (an ordinal)."""
    return ONCE if period == ONCE else f"{period}-{date.fromordinal(first_day(today, period)).isoformat()}"


class Pool(NamedTuple):
    """The reports that may be in one batch: those of one metric version, one period and, if it has any, one stratum.

    ``period`` is "once", or a kind of period and its first day, such as "week-2026-11-23". ``least`` is the least
    number of reports that may leave together. Pools that differ in their period alone are a *series*.
    """

    metric: str
    version: str
    stratum: str | None = None
    period: str = ONCE
    least: int = 1

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a pool's name; raise WireError if it is not one."""
        metric, version, period, least, *rest = text.split("/", 4) if text.count("/") > 2 else [""] * 4
        if not _NAME.fullmatch(metric) or not _VERSION.fullmatch(version) or not _LEAST.fullmatch(least):
            raise WireError(
                "pool: not a metric's name, a version of 16 hexadecimal digits, a period and a least number"
            )
        if rest and not 0 < len(rest[0]) <= LONGEST_STRATUM:
            raise WireError(f"pool: a stratum of {len(rest[0])} characters; it has 1 to {LONGEST_STRATUM}")
        if rest and not rest[0].isprintable():  # for example half of a surrogate pair, which cannot be encoded
            raise WireError("pool: a stratum with characters that are not printable")
        pool = cls(metric, version, rest[0] if rest else None, period, int(least))
        _ = pool.days
        return pool

    @classmethod
    def of(cls, series: str, period: str) -> Self:
        """Return the pool of a series for a period."""
        metric, version, rest = series.split("/", 2)
        return cls.parse(f"{metric}/{version}/{period}/{rest}")

    def __str__(self) -> str:
        return self._named(self.metric, self.version, self.period)

    @property
    def series(self) -> str:
        """The name without the period, which the pools of a series share."""
        return self._named(self.metric, self.version)

    def _named(self, *start: str) -> str:
        return "/".join([*start, str(self.least), *([] if self.stratum is None else [self.stratum])])

    @property
    def days(self) -> range | None:
        """The days of its period as ordinals, None for "once". Raises WireError if there is no such period."""
        if self.period == ONCE:
            return None
        kind, _, text = self.period.partition("-")
        try:
            first = date.fromisoformat(text).toordinal()
            if kind == ONCE or kind not in get_args(Period) or pool_period(kind, first) != self.period:
                raise ValueError
            return range(first, next(day for day in count(first + 1) if first_day(day, kind) == day))
        except (ValueError, OverflowError):
            raise WireError('pool: its period is neither "once" nor a kind and its first day') from None

    @property
    def digest(self) -> str:
        """A digest of the series, of 32 hex digits: a collector lists these, which reveal no name to others."""
        return sha256(_POOL + self.series.encode()).hexdigest()[:32]

    @property
    def info(self) -> bytes:
        """The ``info`` of HPKE: a row sealed for one pool cannot be opened in another."""
        return _INFO + str(self).encode()


class SealedReport(NamedTuple):
    """One sealed row, as a device posts it to a relay."""

    pool: Pool
    sealed: bytes

    def encode(self) -> bytes:
        """Return the JSON body; its length depends on the pool and the width of a row, never on an answer."""
        return _object({"pool": str(self.pool), "sealed": base64(self.sealed)})

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """Read a JSON body; raise WireError, which says what is wrong and where, unless it is exactly such a report."""
        values = read_object(body, _OF_ONE, _OF_ONE)
        return cls(Pool.parse(values["pool"]), _sealed(values))


class SealedBatch(NamedTuple):
    """Sealed rows of one pool and suite, ascending and without repetition, as a relay posts them to the collector.

    ``batch`` is a digest of them, so the same rows have the same id. ``total`` is the number of reports that the relay
    has shuffled and sends together, in this body and others.
    """

    batch: str
    pool: Pool
    suite: Suite
    total: int
    sealed: bytes

    @classmethod
    def of(cls, pool: Pool, suite: Suite, total: int, sealed: Iterable[bytes]) -> Self:
        """Return the batch of some sealed rows. It does not depend on the order in which they came."""
        whole = b"".join(sorted(sealed))
        return cls(_digest(pool, whole), pool, suite, total, whole)

    def encode(self) -> bytes:
        """Return the JSON body."""
        total = {"total": str(self.total), "sealed": base64(self.sealed)}
        return _object({"batch": self.batch, "pool": str(self.pool), "suite": self.suite.name} | total)

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """Read a JSON body; raise WireError, which says what is wrong and where, unless it is exactly such a batch.

        The length of a sealed row, and so whether rows ascend, is known only with the metric: see ``split``.
        """
        values = read_object(body, _MEMBERS, _MEMBERS)
        suite = SUITES.get(values["suite"])
        if suite is None:
            raise WireError(f"suite: not one of {', '.join(SUITES)}")
        if not _TOTAL.fullmatch(values["total"]):
            raise WireError("total: not a number of reports in decimal digits")
        if not _BATCH.fullmatch(values["batch"]):
            raise WireError("batch: not 32 lower-case hexadecimal digits")
        pool, sealed = Pool.parse(values["pool"]), _sealed(values)
        if values["batch"] != _digest(pool, sealed):
            raise WireError("batch: not the digest of pool and sealed")
        return cls(values["batch"], pool, suite, int(values["total"]), sealed)

    def split(self, row_bytes: int) -> list[bytes]:
        """Return each sealed row of a metric with rows of ``row_bytes`` bytes; raise WireError unless they ascend."""
        length = row_bytes + self.suite.overhead
        if len(self.sealed) % length:
            raise WireError(f"sealed: {len(self.sealed)} bytes; a sealed row of this pool and suite has {length}")
        rows = [self.sealed[start : start + length] for start in range(0, len(self.sealed), length)]
        if any(one >= following for one, following in pairwise(rows)):
            raise WireError("sealed: the rows are not in ascending order, or one occurs twice")
        if self.total < len(rows):
            raise WireError(f"total: {self.total}, less than the {len(rows)} reports of this body")
        return rows


def _digest(pool: Pool, sealed: bytes) -> str:
    return sha256(str(pool).encode() + b"\0" + sealed).hexdigest()[:32]


def _sealed(values: Mapping[str, str]) -> bytes:
    sealed = read_base64(values["sealed"], "sealed")
    if not sealed:
        raise WireError("sealed: empty")
    return sealed


def _object(members: Mapping[str, str]) -> bytes:
    return json.dumps(members, separators=(",", ":")).encode("ascii")
