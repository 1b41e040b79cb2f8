"""Read what a relay posts to /v1/sealed: many sealed rows of one pool, which are opened and counted as one batch."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from dither_serving.logs import OnceAMinute
from dither_serving.problems import Kind, Problem
from dither_shared import Mechanism, Metric, ParameterError, WireError
from dither_shared.counted import counted
from dither_shared.sealed import SealedBatch, SealedReport, Suite

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

    ``peer_of`` returns the address, or group of addresses, between which the collector's time is divided equally.
    """

    path = PATH

    def __init__(
        self,
        keyring: Keyring,
        rows_limit: int,
        alarm: float,
        prometheus: Prometheus,
        peer_of: Callable[[WSGIEnvironment], str],
    ) -> None:
        self.keyring = keyring
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

        Raises WireError if they are not sealed rows of this metric, Problem if they cannot be opened now.
        """
        batch = sent.batch
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
        return Upload(bytes.fromhex(batch.batch), metric, b"".join(rows.values()), stratum, sealing)

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
