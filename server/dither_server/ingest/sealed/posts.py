"""Read what a relay posts to /v1/sealed: many sealed rows of one pool, which are opened and counted as one batch."""

import hashlib
import logging
from collections.abc import Sequence
from typing import NamedTuple

from dither_shared import Mechanism, Metric, ParameterError, WireError
from dither_shared.counted import counted
from dither_shared.sealed import SealedBatch, SealedReport

from ...observability.once_a_minute import OnceAMinute
from ...observability.prometheus import Prometheus
from ...protocol.problems import Kind, Problem
from ...store import Sealing, Upload
from ...tally.tally import Tally
from ..posts import Posts, place_of
from .keyring import Keyring
from .opening import MOST, Opening

__all__ = ["PATH", "SealedPosts", "sound"]

PATH = "/v1/sealed"

_log = logging.getLogger(__name__)

_LATER = 60
"""Seconds after which to come again while the keys cannot be read: an operator has to mend that."""


class _Sent(NamedTuple):
    metric: str
    version: str
    batch: SealedBatch


class SealedPosts(Posts[_Sent]):
    """Batches of sealed reports. When more than the share ``alarm`` of one is refused, that is told aloud."""

    path = PATH

    def __init__(self, keyring: Keyring, rows_limit: int, alarm: float, prometheus: Prometheus) -> None:
        self.keyring = keyring
        self.limit = min(rows_limit, MOST)
        self._alarm = alarm
        self._prometheus = prometheus
        self._opening = Opening()
        self._lines = OnceAMinute()

    def read(self, body: bytes) -> _Sent:
        """Read a sealed batch. Raises Problem for a report of a device, which is to keep it: here is no relay."""
        try:
            batch = SealedBatch.decode(body)
        except WireError:
            if _is_of_a_device(body):
                raise Problem(Kind.UNKNOWN_POOL, "a collector takes no sealed report but from a relay") from None
            raise
        return _Sent(batch.pool.metric, batch.pool.version, batch)

    def upload(self, sent: _Sent, metric: Metric) -> Upload:
        """Return the rows that open and that a device could have sent, in the order of what they were sealed in.

        Raises WireError if they are not sealed rows of this metric, Problem if they cannot be opened now.
        """
        batch = sent.batch
        place = place_of(metric, batch.pool.stratum)
        sealed = batch.split(metric.mechanism.row_bytes)
        if len(sealed) > self.limit:
            raise Problem(Kind.TOO_LARGE, f"sealed: more than {counted(self.limit, 'report')}; send several batches")
        rows = sound(metric.mechanism, self._opened(sealed, batch))
        digest = hashlib.sha256(batch.suite.name.encode() + b"\0" + batch.sealed).digest()
        sealing = Sealing(digest, batch.total, refused=len(sealed) - len(rows))
        return Upload(bytes.fromhex(batch.batch), metric, b"".join(rows), place, sealing)

    def _opened(self, sealed: Sequence[bytes], batch: SealedBatch) -> list[bytes]:
        try:
            openers = self.keyring.keys().of(batch.suite)
        except ParameterError as error:
            _log.error("sealed reports cannot be opened: %s", error)
            raise Problem(
                Kind.UNAVAILABLE, "the collector cannot read its seal keys; send it again later", _LATER
            ) from None
        return self._opening.open(sealed, batch.pool.info, openers)

    def settled(self, upload: Upload) -> None:
        """Count what became of a batch, and say so in the log if too much of it was refused."""
        name, refused, reports = upload.metric.name, upload.refused, upload.reports
        alarming = refused > self._alarm * (reports + refused)
        self._prometheus.sealed(name, reports, refused, alarming)
        if alarming and (untold := self._lines.add()):
            _log.warning(
                "a sealed batch of %s, version %s: %d of %d reports do not open or are none; does dither-server key "
                "list show the key of all apps, or does somebody flood the relay? %d such since the last such line, at "
                "most one a minute",
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


def sound(mechanism: Mechanism, rows: Sequence[bytes]) -> list[bytes]:
    """Return the rows that a device could have sent: all are looked at together, and one by one if some are not such.

    Anyone can seal anything, so this takes no longer where every second row is wrong.
    """
    try:
        if rows:
            Tally.check(mechanism, b"".join(rows))
    except WireError:
        return [row for row in rows if _is_sound(mechanism, row)]
    return list(rows)


def _is_sound(mechanism: Mechanism, row: bytes) -> bool:
    if mechanism.row_format.is_row(row):
        return True
    try:
        mechanism.row_format.decode(row)
    except WireError:
        return False
    return True
