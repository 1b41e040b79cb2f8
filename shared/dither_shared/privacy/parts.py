"""What one person is asked over time, as parts: so many reports that tell equally much."""

from dataclasses import dataclass
from fractions import Fraction

from ..errors import ParameterError
from ..primitives.probability import exp_above, exp_below

__all__ = ["LEAST_EPSILON", "MOST_EPSILON", "MOST_REPORTS", "Part"]

LEAST_EPSILON, MOST_EPSILON = Fraction(1, 10**30), Fraction(10_000)
"""The range of ε of a part that tells anything: room for amplified reports below, for groups of people above."""

MOST_REPORTS = 10**9


@dataclass(frozen=True)
class Part:
    """``reports`` reports of one person, each (ε, δ)-private by itself. What is asked may depend on earlier reports.

    Number, ε and δ must be fixed before the first report: to stop or go on as the answers suggest is another theorem.
    Raises ParameterError for an ε that is neither 0 nor from ``LEAST_EPSILON`` to ``MOST_EPSILON``, a δ outside [0, 1),
    or a number of reports that is not from 1 to ``MOST_REPORTS``.
    """

    epsilon: Fraction
    reports: int = 1
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.epsilon and not LEAST_EPSILON <= self.epsilon <= MOST_EPSILON:
            raise ParameterError(
                "epsilon", f"{float(self.epsilon):g} is not from {float(LEAST_EPSILON):g} to {int(MOST_EPSILON):,}"
            )
        if not 1 <= self.reports <= MOST_REPORTS:
            raise ParameterError("reports", f"{self.reports} is not from 1 to {MOST_REPORTS:,}")
        if not 0 <= self.delta < 1:
            raise ParameterError("delta", f"{float(self.delta):.3g} is not in [0, 1); from 1 on it promises nothing")

    @property
    def total(self) -> Fraction:
        """The sum of ε over its reports."""
        return self.reports * self.epsilon

    @property
    def total_delta(self) -> Fraction:
        """The sum of δ over its reports."""
        return self.reports * self.delta

    def of_group(self, people: int) -> "Part":
        """Return the part that it is for ``people`` whose answers all depend on one secret.

        Group privacy (Dwork and Roth 2014, theorem 2.2; with δ, Vadhan 2017, lemma 2.2, before it is simplified): ε
        becomes people · ε and δ becomes δ · (1 + e^ε + … + e^((people - 1) ε)), rounded up.
        Raises ParameterError for no people, or if nothing is promised to so many.
        """
        if people < 1:
            raise ParameterError("people", f"{people} is not a positive number")
        pure = Part(people * self.epsilon, self.reports)
        if not self.delta:
            return pure
        series = Fraction(people)
        if self.epsilon:
            series = (exp_above(pure.epsilon) - 1) / (exp_below(self.epsilon) - 1)
        return Part(pure.epsilon, self.reports, self.delta * series)
