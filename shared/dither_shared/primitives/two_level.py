"""Laws of two levels, from which the bounds on shuffled reports follow."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class TwoLevel:
    """A law in which every value owns a set of reports, and each of these is ``ratio`` times as likely as any other.

    Probabilities are relative to a law μ over all reports, including cohorts, that is the same for all values:

        P[y | x] = γ μ(y) · (ratio if x owns y, else 1),   γ = 1/(1 + (ratio - 1) · share).

    - ``share``: μ of what a value owns, the same for all values;
    - ``overlap``: the least μ of what two values both own. If some pair has less, the bound does not hold; a number
      that is too small is safe, because the stated loss is then too large;
    - ``aside``: μ of what a third value owns together with the first but not the second of such a pair, and equally the
      other way round; None if there is no third value, or none is known. Attacks need it, bounds do not.
    """

    ratio: Fraction
    share: Fraction
    overlap: Fraction
    aside: Fraction | None = None

    @property
    def blanket(self) -> Fraction:
        """γ, the probability with which a report can be regarded as independent of its value."""
        return 1 / (1 + (self.ratio - 1) * self.share)
