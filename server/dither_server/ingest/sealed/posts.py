"""Read what a relay posts to /v1/sealed: many sealed rows of one pool, which are opened and counted as one batch."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import date
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from dither_serving.logs import OnceAMinute
from dither_serving.problems import Kind, Problem
from dither_shared import Mechanism, Metric, ParameterError, WireError
from dither_shared.counted import counted
from dither_shared.metrics.period import utc_today
from dither_shared.seal_key import Suite
from dither_shared.sealed import SealedBatch, SealedReport

from ...prometheus import Prometheus
from ...store import Sealing, Upload
from ...tally.tally import Tally
from ..posts import UploadFormat, place_of
from .hpke import Opener
from .keyring import Keyring
from .opening import MOST, Opening, Place

PATH = "/v1/sealed"

_log = logging.getLogger(__name__)

_ROW = b"dither sealed row 1\0"

_LATER = 60
"""Seconds until a retry while the keys cannot be read: an operator has to fix that."""


class _Sent(NamedTuple):
    metric: str
    version: str
    batch: SealedBatch
    place: Place


class SealedUpload(UploadFormat[_Sent, Place]):
    """The format of sealed bodies. If more than the share ``alarm`` of a body is refused, that is logged.

    ``peer_of`` returns the address, or group of addresses, between which the collector's time is divided equally. A
    pool is closed ``horizon`` days after its period, the days for which ids of rows are kept: none counts twice.
    """

    path = PATH

    def __init__(
        self,
        keyring: Keyring,
        rows_limit: int,
        alarm: float,
        prometheus: Prometheus,
        peer_of: Callable[[WSGIEnvironment], str],
        today: Callable[[], date] = utc_today,
        horizon: int = 45,
    ) -> None:
        self.keyring = keyring
        self._today = today
        self._horizon = horizon
        self.limit = min(rows_limit, MOST)
        self._alarm = alarm
        self._prometheus = prometheus
        self._peer_of = peer_of
        self._opening = Opening()
        self._lines = OnceAMinute()

    def place(self, environ: WSGIEnvironment) -> AbstractContextManager[Place]:
        """Take a place among the bodies in work. Raises Problem if there is none for this peer."""
        return self._opening.place(self._peer_of(environ))

    def read(self, body: bytes, place: Place) -> _Sent:
        """Read a sealed batch. Raises Problem for a device's report, so that the device keeps it for its relay."""
        with place.turn():
            try:
                batch = SealedBatch.decode(body)
            except WireError:
                if _is_of_a_device(body):
                    raise Problem(Kind.UNKNOWN_POOL, "a collector takes sealed reports from relays only") from None
                raise
        return _Sent(batch.pool.metric, batch.pool.version, batch, place)

    def upload(self, sent: _Sent, metric: Metric) -> Upload:
        """Return the rows that open and that a device could have sent, in the order of their sealed rows.

        They count for the first day of their period. Raises WireError if they are not sealed rows of this metric,
        Problem if they cannot be opened now, or may not: their period is not over, or they are too few.
        """
        batch = sent.batch
        self._require_mixed(batch, metric)
        stratum = place_of(metric, batch.pool.stratum)
        with sent.place.turn():
            sealed = batch.split(metric.mechanism.row_bytes)
        if len(sealed) > self.limit:
            raise Problem(Kind.TOO_LARGE, f"sealed: more than {counted(self.limit, 'report')}; send several batches")
        openers = self._openers(batch.suite)
        opened, tried = sent.place.open(sealed, batch.pool.info, openers)
        with sent.place.turn():
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
            return self.keyring.openers(suite)
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
        if alarming and (untold := self._lines.add()):
            _log.warning(
                "a sealed batch of %s, version %s: %d of %d reports cannot be opened or read; compare dither-server "
                "key list with the keys of all apps, and see whether the relay is flooded. %d such since the last such "
                "line, at most one a minute",
                name,
                upload.metric.version,
                refused,
                reports + refused,
                untold,
            )

    def acknowledgement(self, upload: Upload) -> bytes:
        """Return how many reports were counted, and how many refused."""
        return b'{"accepted": %d, "refused": %d}' % (upload.reports, upload.refused)


def _is_of_a_device(body: bytes) -> bool:
    try:
        SealedReport.decode(body)
    except WireError:
        return False
    return True


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
