"""Estimate everything about a numeric question from a tally: mean, shares below points, quantiles and curve."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dither_shared import ParameterError

from ...tally.arrays import Floats
from ...tally.tally import Tally
from ..confidence import require_confidence
from ..intervals.score import informative, too_wide
from .law import Cuts, LikelihoodFit, NumericLaw, Share, maximum_likelihood
from .mean import Mean, mean_of

QuantileVerdict = Literal["ok", "edge", "too-few"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""The default quantiles of an answer."""


@dataclass(frozen=True)
class Quantile:
    """The quantile of ``share``: the first point such that at least this share of answers lies at or below it.

    ``point`` is that of the curve, moved into the interval if it lies outside; ``low`` and ``high`` are the points at
    the ends of the interval. Answers are rounded to a neighbouring point, so an answer itself may lie up to a step
    further out.

    ``verdict``: "too-few" if the interval is half of the range or more; "edge" if it reaches an end of the range,
    with that step: answers beyond the range are counted there, so the quantile may lie beyond; else "ok".
    """

    share: float
    point: int
    low: int
    high: int
    verdict: QuantileVerdict


def quantiles_of(cuts: Cuts, curve: Floats, shares: Sequence[float] = QUANTILES) -> list[Quantile]:
    """Return the quantiles of ``shares``, each strictly between 0 and 1; raise ParameterError for others.

    With U and L the upper and lower ends of the cuts, an interval reaches from the first point with U(point + 1) >= t
    to the last with L(point) < t. To miss the quantile Q on the left means U(Q + 1) < t <= F(Q + 1), on the right L(Q)
    >= t > F(Q): so it has the coverage of the interval of one cut, although the cut is not known beforehand.
    """
    for share in shares:
        if not 0 < share < 1:  # NaN compares false
            raise ParameterError("quantiles", f"{share!r} is not strictly between 0 and 1; 0.5 is the median")
    total = np.cumsum(curve)
    return [_quantile(cuts, total, share) for share in shares]


def _quantile(cuts: Cuts, total: Floats, share: float) -> Quantile:
    last = cuts.points - 1
    ends = int(np.argmax(cuts.high[1:] >= share)), last - int(np.argmax(cuts.low[last::-1] < share))
    low, high = min(ends), max(ends)  # ends cross only if one misses: swap them
    point = min(max(int(np.searchsorted(total, share)), low), high)
    verdict: QuantileVerdict = "ok"
    if too_wide(low, high, last):
        verdict = "too-few"
    elif low <= 1 or high >= last - 1:  # with the step further out, which answers show
        verdict = "edge"
    return Quantile(share, point, low, high, verdict)


@dataclass(frozen=True)
class NumericEstimate:
    """The estimated distribution of a number, over points 0..points-1 of its grid.

    - ``mean``: unbiased; as without reports if there are too few; ``cuts``: unbiased shares below each point; both with
      errors and intervals at ``confidence``;
    - ``fit``: the maximum-likelihood curve: consistent, never smoothed, and without errors.
    """

    reports: int
    confidence: float
    mean: Mean
    cuts: Cuts
    fit: LikelihoodFit

    @property
    def size(self) -> int:
        """The approximate size in bytes: five columns of cuts, and the curve."""
        return 6 * 8 * (self.cuts.points + 1)

    def quantiles(self, shares: Sequence[float] = QUANTILES) -> list[Quantile]:
        """Return quantiles; raise ParameterError for a share that is not strictly between 0 and 1."""
        return quantiles_of(self.cuts, self.fit.curve, shares)

    def below(self, place: float) -> Share:
        """Return the share of answers below a place, in grid steps from the low end (``Cuts.below``)."""
        share = self.cuts.below(place, self.fit.curve)
        return share if self.mean.reports else share._replace(consistent=math.nan)

    def at_ends(self) -> tuple[Share, Share]:
        """Return the shares within a step of the low and of the high end, including all answers beyond the range."""
        low, high = self.below(1), self.below(self.cuts.points - 2)
        return low, Share(
            1 - high.frequency, high.noise_error, high.standard_error, 1 - high.high, 1 - high.low, 1 - high.consistent
        )


def estimate_number(law: NumericLaw, tally: Tally, confidence: float = 0.95) -> NumericEstimate:
    """Return the estimate at ``confidence``; raise ParameterError if no interval has that confidence.

    Without reports, or with too few for an ``informative`` mean, means and shares are NaN, intervals are the whole
    range, and the curve is uniform.
    """
    require_confidence(confidence)
    reports = tally.total
    again = (tally.repeats.effect - 1) * (1 / 4 + law.permanent_variance(tally))  # may be NaN without reports
    if not informative(math.sqrt((law.worst_variance + 1 / 4 + again) / max(reports, 1)), 1 - confidence):
        tally = Tally(np.zeros_like(tally.reports), np.zeros_like(tally.counts))
    return NumericEstimate(
        reports,
        confidence,
        mean_of(law, tally, confidence),
        law.cuts(tally, confidence),
        maximum_likelihood(law, law.cell_shares(tally), tally.total),
    )
