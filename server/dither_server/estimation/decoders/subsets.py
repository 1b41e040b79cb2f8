"""Decode PrivSet: a report lists some of d values and w dummies, of which a set marks the first w - |set|."""

from math import comb

import numpy as np

from dither_shared import PrivSet

from ...tally.arrays import Floats
from ...tally.tally import Tally
from .decoder import Decoder, Support, of_all
from .pairs import Pairs

__all__ = ["ListedSets"]

_SINGLY = (
    "the values of a report are counted each by itself; the mechanism set-response tells of neighbours on the list"
)


class ListedSets(Decoder[PrivSet]):
    """Every value has a cell of its own; behind them stand the dummies."""

    def support(self, mechanism: PrivSet, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return the reports that list each value."""
        return of_all(tally, tally.counts[0, : mechanism.size])

    def pairs(self, mechanism: PrivSet, tally: Tally) -> Pairs:
        """Return none: no count is of two values."""
        return Pairs.none(_SINGLY)

    def sum_variance(self, mechanism: PrivSet, tally: Tally, frequency: Floats) -> float:
        """Return the variance of the sum, by the law of the number of dummies in a report.

        A report lists r cells in all, and w of those that are marked on average count: what is listed of the dummies
        is not of the values. A set marks a dummy only if it marks those before it, so a report has dummies i < k with
        P = q₂ + (p₂ - q₂) P[dummy i is marked], p₂ and q₂ being P[two cells are listed] if any of them is marked and
        if none is.
        """
        p, q = float(mechanism.p), float(mechanism.q)
        reports = max(tally.total, 1)
        marked = np.clip((tally.counts[0, mechanism.size :] / reports - q) / (p - q), 0, 1)
        listed = q + (p - q) * marked
        p_both, q_both = _both(mechanism)
        later = np.arange(len(marked))[::-1]  # dummies behind each
        pairs = (q_both + (p_both - q_both) * marked) @ later
        spread = float(listed.sum() - listed.sum() ** 2 + 2 * pairs)
        return float(max(spread, 0.0) / (reports * (p - q) ** 2))


def _both(mechanism: PrivSet) -> tuple[float, float]:
    """Return P[a report lists two cells], if the set marks one of them or both, and if it marks neither.

    Of the C(N,r) subsets those that meet the marks are e^ε times as likely as the C(d,r) others.
    """
    size, cells, r, odds = mechanism.size, mechanism.cells, mechanism.subset, mechanism.ratio
    if r < 2:
        return 0.0, 0.0
    whole = odds * (comb(cells, r) - comb(size, r)) + comb(size, r)
    every, apart = comb(cells - 2, r - 2), comb(size - 2, r - 2)
    return float(odds * every / whole), float((odds * (every - apart) + apart) / whole)
