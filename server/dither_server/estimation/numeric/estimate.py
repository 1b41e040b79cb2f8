"""Estimate all of a numeric question from a tally: mean, shares below points, quantiles and curve."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...tally.tally import Tally
from ..confidence import require_confidence
from ..verdicts import informative
from .cuts import Cuts, Share
from .law import NumericLaw
from .likelihood import LikelihoodFit, maximum_likelihood
from .mean import Mean, mean_of
from .quantiles import QUANTILES, Quantile, quantiles_of


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
