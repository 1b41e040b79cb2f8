"""Build a report: the one body that is previewed, stored, sent and sent again, byte for byte.

A report for a relay is sealed here, in memory: its row in the clear is never stored.
"""

from __future__ import annotations

from dither_shared.wire import Batch

from ...state.journal_records import Queued
from .sealing import sealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dither_shared.mechanism import Item
    from dither_shared.metrics.metric import Metric
    from dither_shared.primitives.entropy import Entropy

    from ..keys import Keys

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

    If the mechanism has permanent draws, the cohort is the device's own, so that reports repeat it; otherwise it is
    drawn for each report, so that two reports share nothing. Each upload has a random batch id, which a sealed body
    does not contain. ``drawn`` is the permanent draw to repeat, if it is not that of ``item``. ``stratum`` is sent in
    the clear; no draw depends on it. A ``local`` report is never sent, so it is not sealed, and the user can read it.
    Raises SealError if nothing can be sealed; the draw is then discarded.
    """
    draws = metric.draws
    if draws.memoised:
        own = keys.of(metric)
        cohort = own.cohort
        payload = draws.repeat(own.draw(item) if drawn is None else drawn, entropy)
    else:
        cohort = draws.draw_cohort(entropy)
        payload = draws.randomize(item, entropy, cohort)
    row = draws.row(cohort, payload)
    # Without a call of the class's own, for this is done for each report; so are the other records.
    batch = tuple.__new__(Batch, (entropy.take(_BATCH_BYTES).hex(), metric.name, metric.version, row, stratum))
    body = batch.encode() if local or metric.seal is None else sealed(batch, metric.seal)
    return tuple.__new__(Queued, (batch.batch, metric.name, today, int(local), body))
