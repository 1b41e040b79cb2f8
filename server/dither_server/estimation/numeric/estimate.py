"""Estimate all of a numeric question from a tally: mean, shares below points, quantiles and curve."""

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
from .cuts import Cuts, Share
from .likelihood import LikelihoodFit, NumericLaw, maximum_likelihood
from .mean import Mean, mean_of

QuantileVerdict = Literal["ok", "edge", "too-few"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""The quantiles of an answer unless others are asked for."""


@dataclass(frozen=True)
class Quantile:
    """The quantile of ``share``: the first point at or below which so many answers lie.

    ``point`` is that of the curve, moved into the interval where it lies outside; ``low`` and ``high`` are the points
    at the ends of the interval. Answers are rounded to a point beside them: those themselves reach a step further.

    ``verdict``: "too-few" if the interval is half of the range or more; "edge" if it reaches an end, where all beyond
    the range are counted too, so that the quantile may lie beyond; else "ok".
    """

    share: float
    point: int
    low: int
    high: int
    verdict: QuantileVerdict


def quantiles_of(cuts: Cuts, curve: Floats, shares: Sequence[float] = QUANTILES) -> list[Quantile]:
    """Return the quantiles of ``shares``, each strictly between 0 and 1; raise ParameterError for others.

    With U and L the ends of the cuts, an interval is from the first point with U(point + 1) >= t to the last with
    L(point) < t. To miss the quantile Q on the left means U(Q + 1) < t <= F(Q + 1), on the right L(Q) >= t > F(Q): so
    it holds as surely as the interval of one cut does, though the cut is not known beforehand.
    """
    for share in shares:
        if not 0 < share < 1:  # NaN compares false
            raise ParameterError("quantiles", f"{share!r} is not strictly between 0 and 1; 0.5 is the median")
    total = np.cumsum(curve)
    return [_quantile(cuts, total, share) for share in shares]


def _quantile(cuts: Cuts, total: Floats, share: float) -> Quantile:
    last = cuts.points - 1
    ends = int(np.argmax(cuts.high[1:] >= share)), last - int(np.argmax(cuts.low[last::-1] < share))
    low, high = min(ends), max(ends)  # where they cross, which is a miss, it is what lies between
    point = min(max(int(np.searchsorted(total, share)), low), high)
    verdict: QuantileVerdict = "ok"
    if too_wide(low, high, last):
        verdict = "too-few"
    elif low == 0 or high == last:
        verdict = "edge"
    return Quantile(share, point, low, high, verdict)


@dataclass(frozen=True)
class NumericEstimate:
    """What a tally says of a number's distribution, over points 0..points-1 of its grid.

    - ``mean``: unbiased, of no reports if these say nothing; ``cuts``: unbiased shares below each point; both with
      errors and intervals at ``confidence``;
    - ``fit``: the curve of greatest likelihood: consistent, never smoothed, and without errors.
    """

    reports: int
    confidence: float
    mean: Mean
    cuts: Cuts
    fit: LikelihoodFit

    @property
    def size(self) -> int:
        """The bytes that it takes, nearly: five columns of cuts, and the curve."""
        return 6 * 8 * (self.cuts.points + 1)

    def quantiles(self, shares: Sequence[float] = QUANTILES) -> list[Quantile]:
        """Return quantiles; raise ParameterError for a share that is not strictly between 0 and 1."""
        return quantiles_of(self.cuts, self.fit.curve, shares)

    def below(self, place: float) -> Share:
        """Return the share of answers below a place, in grid steps from the low end (``Cuts.below``)."""
        share = self.cuts.below(place, self.fit.curve)
        return share if self.mean.reports else share._replace(consistent=math.nan)

    def at_ends(self) -> tuple[Share, Share]:
        """Return the shares within a step of the low and of the high end, with all answers beyond the range."""
        low, high = self.below(1), self.below(self.cuts.points - 2)
        return low, Share(
            1 - high.frequency, high.noise_error, high.standard_error, 1 - high.high, 1 - high.low, 1 - high.consistent
        )


def estimate_number(law: NumericLaw, tally: Tally, confidence: float = 0.95) -> NumericEstimate:
    """Return the estimate at a confidence; raise ParameterError if no interval can be made at it.

    Without reports, or with so few that no mean is ``informative``, means and shares are NaN, intervals are all that is
    possible, and the curve is even.
    """
    require_confidence(confidence)
    reports = tally.total
    again = (tally.repeats.effect - 1) * (1 / 4 + law.permanent_variance(tally)) if reports else 0.0
    if not informative(math.sqrt((law.worst_variance + 1 / 4 + again) / max(reports, 1)), 1 - confidence):
        tally = Tally(np.zeros_like(tally.reports), np.zeros_like(tally.counts))
    return NumericEstimate(
        reports,
        confidence,
        mean_of(law, tally, confidence),
        law.cuts(tally, confidence),
        maximum_likelihood(law, law.cell_shares(tally), tally.total),
    )
