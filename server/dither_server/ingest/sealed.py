"""Read what a relay posts to /v1/sealed: many sealed rows of one pool, which are opened and counted as one batch.

Rows are opened alongside everything else that a collector does: peers take turns, one slice at a time. Opening a row
takes 0.1 ms, during which no other Python thread runs. A thread that waits for the interpreter would wait for 5 ms each
time, so the thread that opens rows sleeps for a moment after a few of them.

Anyone who may report can send bodies. So one thread works at a time, and peers (addresses) get slices of equal size in
turn, however many bodies each of them sends. A body of which nothing opens costs only one slice.
"""

import hashlib
import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import date
from wsgiref.types import WSGIEnvironment

from dither_serving.logs import OnceAMinute
from dither_serving.problems import Kind, Problem
from dither_shared import Mechanism, Metric, ParameterError, WireError
from dither_shared.counted import counted
from dither_shared.metrics.period import utc_today
from dither_shared.seal_key import Suite
from dither_shared.sealed import SealedBatch, SealedReport

from ..prometheus import Prometheus
from ..store import Sealing, Upload
from ..tally.tally import Tally
from .hpke import Opener
from .ingest import SEALED_PATH, Sent, UploadFormat, place_of
from .seal_keys import KeyFile

MOST = 20_000
"""Maximum rows of a body: some seconds of work for each key of the suite."""

_PLACES = 8
"""Maximum bodies opened at a time; a thread waits for each."""

_SLICE = 64
"""Rows opened per turn, and rows tried first: if none of those opens, the others are not tried."""

_SOON = 5
"""Seconds until a retry if all places are taken."""

_FEW = 4
_ASIDE = 1e-5
"""Rows between two pauses, and the seconds of a pause, which lets other threads run."""

_chance = random.SystemRandom()


class Opening:
    """The bodies that are being opened, each by the thread of its request, in turns."""

    def __init__(self, places: int = _PLACES) -> None:
        self._places = places
        self._changed = threading.Condition()
        self._bodies: list[_Place] = []  # in the order in which they came
        self._last_turn: dict[str, int] = {}
        self._turns = 0
        self._is_taken = False

    @contextmanager
    def place(self, peer: str) -> Iterator["_Place"]:
        """Take a place for a body of a peer.

        Raises Problem if all are taken, unless another peer has at least two more of them than this one: then the
        newest body of that peer gives way.
        """
        with self._changed:
            if len(self._bodies) >= self._places:
                self._make_room(peer)
            body = _Place(self, peer)
            self._bodies.append(body)
            self._last_turn.setdefault(peer, self._turns)
        try:
            yield body
        finally:
            with self._changed:
                self._leave(body)

    @contextmanager
    def turn(self, body: "_Place") -> Iterator[None]:
        """Wait for a body's turn; the longest waiting peer comes first. Raises Problem if the body was dropped."""
        with self._changed:
            body.waits = True
            self._changed.wait_for(lambda: body.gave_way or (not self._is_taken and self._next() is body))
            body.waits = False
            if body.gave_way:
                raise _crowded()
            self._is_taken = True
            self._turns += 1
            self._last_turn[body.peer] = self._turns
        try:
            yield
        finally:
            with self._changed:
                self._is_taken = False
                self._changed.notify_all()

    def _next(self) -> "_Place":
        return min((one for one in self._bodies if one.waits), key=lambda one: self._last_turn[one.peer])

    def _make_room(self, peer: str) -> None:
        bodies = Counter(one.peer for one in self._bodies)
        ((largest, most),) = bodies.most_common(1)
        if most < bodies[peer] + 2:
            raise _crowded()
        newest = next(one for one in reversed(self._bodies) if one.peer == largest)
        newest.gave_way = True
        self._leave(newest)

    def _leave(self, body: "_Place") -> None:
        if body in self._bodies:
            self._bodies.remove(body)
            if all(one.peer != body.peer for one in self._bodies):
                del self._last_turn[body.peer]
        self._changed.notify_all()


class _Place:
    """The place of one body."""

    def __init__(self, opening: Opening, peer: str) -> None:
        self.peer = peer
        self.waits = False
        self.gave_way = False
        self._opening = opening

    def turn(self) -> AbstractContextManager[None]:
        """Wait for a turn to work for some milliseconds. Raises Problem if the body was dropped for another peer's."""
        return self._opening.turn(self)

    def open(
        self, rows: Sequence[bytes], info: bytes, openers: Sequence[Opener]
    ) -> tuple[dict[bytes, bytes], Sequence[bytes]]:
        """Return the opened rows, by sealed row and in the order of the rows; and the rows that were tried.

        A few rows, drawn at random, are tried first: an attacker who sends garbage may choose the order of the rows.
        """
        tried = rows if len(rows) <= _SLICE else _chance.sample(rows, _SLICE)
        keys = list(openers)
        opened = self._opened(tried, info, keys)
        if not opened or len(tried) == len(rows):
            return opened, tried
        for start in range(0, len(rows), _SLICE):
            opened |= self._opened([row for row in rows[start : start + _SLICE] if row not in opened], info, keys)
        return {row: opened[row] for row in rows if row in opened}, rows

    def _opened(self, rows: Sequence[bytes], info: bytes, openers: list[Opener]) -> dict[bytes, bytes]:
        """Open a slice. The key that opened the last row is tried first, because most devices seal for the same key."""
        opened: dict[bytes, bytes] = {}
        if not openers:
            return opened
        with self.turn():
            for number, sealed in enumerate(rows):
                for place, one in enumerate(openers):
                    if (row := one(sealed, info)) is not None:
                        openers.insert(0, openers.pop(place))
                        opened[sealed] = row
                        break
                if number % _FEW == 0:
                    time.sleep(_ASIDE)
        return opened


def _crowded() -> Problem:
    return Problem(Kind.OVERLOADED, "too many batches are being opened; this one was not taken", _SOON)


_log = logging.getLogger(__name__)

_ROW = b"dither sealed row 1\0"

_LATER = 60
"""Seconds until a retry while the keys cannot be read: an operator has to fix that."""


class SealedUpload(UploadFormat):
    """The format of sealed bodies. If more than the share ``alarm`` of a body is refused, that is logged.

    ``peer_of`` returns the address, or group of addresses, between which the collector's time is divided equally. A
    pool is closed ``horizon`` days after its period, the days for which ids of rows are kept: none counts twice.
    """

    path = SEALED_PATH

    def __init__(
        self,
        keys: KeyFile,
        rows_limit: int,
        alarm: float,
        prometheus: Prometheus,
        peer_of: Callable[[WSGIEnvironment], str],
        today: Callable[[], date] = utc_today,
        horizon: int = 45,
    ) -> None:
        self.keys = keys
        self._today = today
        self._horizon = horizon
        self.limit = min(rows_limit, MOST)
        self._alarm = alarm
        self._prometheus = prometheus
        self._peer_of = peer_of
        self._opening = Opening()
        self._lines = OnceAMinute()

    @contextmanager
    def reading(self, environ: WSGIEnvironment, body: bytes) -> Iterator[Sent]:
        """Read a sealed batch, and hold a place among the bodies in work.

        Raises Problem if there is no place for this peer, and for a device's report, which the device then keeps for
        its relay.
        """
        with self._opening.place(self._peer_of(environ)) as place:
            with place.turn():
                batch = _decoded(body)
            pool = batch.pool
            yield Sent(pool.metric, pool.version, lambda metric: self._upload(batch, place, metric))

    def _upload(self, batch: SealedBatch, place: "_Place", metric: Metric) -> Upload:
        """Return the rows that open and that a device could have sent, in the order of their sealed rows.

        They count for the first day of their period. Raises WireError if they are not sealed rows of this metric,
        Problem if they cannot be opened now, or may not: their period is not over, or they are too few.
        """
        self._require_mixed(batch, metric)
        stratum = place_of(metric, batch.pool.stratum)
        with place.turn():
            sealed = batch.split(metric.mechanism.row_bytes)
        if len(sealed) > self.limit:
            raise Problem(Kind.TOO_LARGE, f"sealed: more than {counted(self.limit, 'report')}; send several batches")
        openers = self._openers(batch.suite)
        opened, tried = place.open(sealed, batch.pool.info, openers)
        with place.turn():
            # If two rows share an encapsulated key, the same device must have sealed both: the last one counts.
            rows = sound(metric.mechanism, dict(zip(row_ids(batch, opened), opened.values(), strict=True)))
            ids = tuple(rows or row_ids(batch, tried))
        sealing = Sealing(ids, batch.total, refused=len(sealed) - len(rows))
        begun = None if batch.pool.days is None else date.fromordinal(batch.pool.days.start)
        return Upload(bytes.fromhex(batch.batch), metric, b"".join(rows.values()), stratum, sealing, begun)

    def _require_mixed(self, batch: SealedBatch, metric: Metric) -> None:
        """Refuse a batch that a relay should have kept, before anything of it is opened."""
        pool = batch.pool
        if pool.least != metric.least:
            raise WireError(f"pool: its least number of reports is not {metric.least}, as the definition says")
        # elsewhere it is no part of the version, and apps of an earlier release may ask by another
        if metric.of is not None and pool.period.partition("-")[0] != metric.period:
            raise WireError(f"pool: its period is not of the kind {metric.period!r}, as the definition says")
        if batch.total < pool.least:
            raise Problem(Kind.UNMIXED, f"total: below {pool.least}, the least number of reports of a batch here")
        if pool.days is None:
            return
        over_for = self._today().toordinal() - pool.days.stop
        if over_for < 0:
            raise Problem(Kind.UNMIXED, "pool: its period is not over; send it again later")
        if over_for >= self._horizon:  # the ids of rows that were counted may be forgotten
            raise Problem(Kind.POOL_CLOSED, f"pool: its period ended {self._horizon} days ago or earlier")

    def _openers(self, suite: Suite) -> list[Opener]:
        try:
            return self.keys.openers(suite)
        except ParameterError as error:
            _log.error("sealed reports cannot be opened: %s", error)
            raise Problem(
                Kind.UNAVAILABLE, "the collector cannot read its seal keys; send it again later", _LATER
            ) from None

    def settled(self, upload: Upload) -> None:
        """Count the outcome of a batch, and log it if too much of it was refused."""
        name, refused, reports = upload.metric.name, upload.refused, upload.reports
        alarming = refused > self._alarm * (reports + refused)
        self._prometheus.sealed(name, reports, refused, alarming)
        if alarming and (unlogged := self._lines.add()):
            _log.warning(
                "a sealed batch of %s, version %s: %d of %d reports cannot be opened or read; compare dither-server "
                "key list with the keys of all apps, and see whether the relay is flooded. %d such since the last such "
                "line, at most one a minute",
                name,
                upload.metric.version,
                refused,
                reports + refused,
                unlogged,
            )

    def acknowledgement(self, upload: Upload) -> bytes:
        """Return how many reports were counted, and how many refused."""
        return b'{"accepted": %d, "refused": %d}' % (upload.reports, upload.refused)


def _decoded(body: bytes) -> SealedBatch:
    try:
        return SealedBatch.decode(body)
    except WireError:
        with suppress(WireError):
            SealedReport.decode(body)
            raise Problem(Kind.UNKNOWN_POOL, "a collector takes sealed reports from relays only") from None
        raise


def row_ids(batch: SealedBatch, sealed: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the 16 bytes that identify each of these rows, whichever body of its pool contains it.

    They are a digest of the row's encapsulated key. Nobody but the device can change a row so that it still opens,
    least of all that key, from which the cipher's key is derived (RFC 9180, section 4.1; the combiner of X-Wing).
    """
    common = hashlib.sha256(_ROW + batch.pool.info + b"\0" + batch.suite.name.encode() + b"\0")
    for row in sealed:
        digest = common.copy()
        digest.update(row[: batch.suite.encapsulated_bytes])
        yield digest.digest()[:16]


def sound(mechanism: Mechanism, rows: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the rows that a device could have sent, by their ids.

    All rows are checked together, and one by one only if some are wrong. Anyone can seal anything, so this takes no
    longer if every second row is wrong.
    """
    try:
        if rows:
            Tally.check(mechanism, b"".join(rows.values()))
    except WireError:
        return {name: row for name, row in rows.items() if _is_sound(mechanism, row)}
    return dict(rows)


def _is_sound(mechanism: Mechanism, row: bytes) -> bool:
    if mechanism.row_format.is_row(row):
        return True
    try:
        mechanism.row_format.decode(row)
    except WireError:
        return False
    return True
