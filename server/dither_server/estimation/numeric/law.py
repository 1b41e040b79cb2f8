"""What the estimates of a numeric question ask of a mechanism's law."""

from dataclasses import dataclass
from typing import Protocol

from ...tally.arrays import Counts, Floats
from ...tally.tally import Tally
from .cuts import Cuts
from .likelihood import Channel


@dataclass(frozen=True)
class ReportScores:
    """Scores of reports, whose expectation is the answer in parts of the range, whatever the answer.

    ``values``: the score of each report that there can be; ``counts``: how many were of it, in the same shape.
    """

    values: Floats
    counts: Counts

    @property
    def mean(self) -> float:
        """The average score; NaN of no reports."""
        total = int(self.counts.sum())
        return float((self.values * self.counts).sum() / total) if total else float("nan")

    @property
    def squares(self) -> float:
        """The sum of squares of the scores' distances from their average."""
        return float((self.counts * (self.values - self.mean) ** 2).sum())

    @property
    def variance(self) -> float:
        """The sample variance of one score; NaN of fewer than two reports."""
        total = int(self.counts.sum())
        return self.squares / (total - 1) if total > 1 else float("nan")


class NumericLaw(Channel, Protocol):
    """A law of reports over a grid of ``points`` answers."""

    def scores(self, tally: Tally) -> ReportScores:
        """Return the scores of the reports of a tally."""

    def noise_variance(self, tally: Tally) -> float:
        """Return the variance of one score from the noise alone, averaged over those who reported (estimated)."""

    def least_noise_variance(self, tally: Tally) -> float:
        """Return this variance, or a smaller number if it has no unbiased estimate."""

    def permanent_variance(self, tally: Tally) -> float:
        """Return the part of ``noise_variance`` that all reports of one device share; 0 without a permanent draw."""

    @property
    def worst_variance(self) -> float:
        """The variance of one score from the noise alone, for the answer where it is largest."""

    def cuts(self, tally: Tally, confidence: float) -> Cuts:
        """Return the shares below all points, with intervals that each hold with ``confidence``."""

    def cell_shares(self, tally: Tally) -> Floats:
        """Return the share of all reports in each cell of the channel."""

    @property
    def cost(self) -> int:
        """The cost of one estimate, in values of about 15 microseconds each (measured, right to a factor of two)."""
