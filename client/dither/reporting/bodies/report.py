"""Build a report: the one body that is previewed, stored, sent and sent again, byte for byte.

A report for a relay is sealed here, in memory: its row in the clear is never stored.
"""

from dither_shared.mechanism import Item
from dither_shared.metrics.metric import Metric
from dither_shared.primitives.entropy import Entropy
from dither_shared.wire import Batch, Report

from ...state.journal_records import Queued
from ..keys import Keys
from .sealing import sealed

__all__ = ["build"]

_BATCH_BYTES = 16


def build(
    metric: Metric,
    item: Item,
    keys: Keys,
    entropy: Entropy,
    today: int,
    local: bool,
    drawn: int | None = None,
    stratum: str | None = None,
) -> Queued:
    """Draw one report of ``item`` and return it as the body of its upload, sealed if the metric has a key.

    The cohort is the device's own where there is a permanent draw, so that reports repeat it, and drawn afresh
    where there is none, so that two reports share nothing. The batch id is random, one for each upload; one that is
    sealed goes without it.
    ``drawn`` is the permanent draw to repeat, if not that of ``item``. ``stratum`` is the label of the metric's
    cell, sent in the clear: no draw depends on it. One that is ``local`` is not sealed: it is for the user to read, and
    is never sent. Raises SealError where nothing can be sealed; what was drawn is forgotten then.
    """
    mechanism = metric.mechanism
    if mechanism.memoised:
        own = keys.of(metric)
        cohort = own.cohort
        payload = mechanism.repeat(own.draw(item) if drawn is None else drawn, entropy)
    else:
        cohort = mechanism.draw_cohort(entropy)
        payload = mechanism.randomize(item, entropy, cohort)
    row = Report(cohort, payload).encode(mechanism)
    batch = Batch(entropy.take(_BATCH_BYTES).hex(), metric.name, metric.version, row, stratum)
    body = batch.encode() if local or metric.seal is None else sealed(batch, metric.seal)
    return Queued(batch.batch, metric.name, today, int(local), body)
