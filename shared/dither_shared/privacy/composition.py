"""Compute what an ε means: for several reports, for several people, and for an observer of a report.

The collector's ``analysis/composition.py`` computes the loss of several reports if a small δ is allowed.
"""

import math
from collections.abc import Iterable
from fractions import Fraction

from ..errors import ParameterError
from ..primitives.probability import as_probability, float_above


def sequential(losses: Iterable[float | Fraction]) -> float:
    """Return the privacy loss of several reports of one person together: the sum, rounded up.

    Sequential composition (Dwork and Roth 2014, theorem 3.14), exact in the worst case for pure ε. A δ adds up likewise
    (theorem 3.16). Raises ParameterError for a loss that is negative or not finite.
    """
    return float_above(sum((_checked(loss) for loss in losses), Fraction(0)))


def parallel(losses: Iterable[float | Fraction]) -> float:
    """Return the privacy loss of several questions if each person answers only one: the greatest, rounded up.

    Parallel composition (McSherry 2009, theorem 4). Several answers of one person add up, whatever they are about.
    """
    return float_above(max((_checked(loss) for loss in losses), default=Fraction(0)))


def group(epsilon: float, people: int) -> float:
    """Return the privacy loss of ``people`` who share one secret: people · ε, rounded up (ibid., theorem 2.2)."""
    if people < 1:
        raise ParameterError("people", f"{people!r} is not a positive number")
    return float_above(people * _checked(epsilon))


def posterior_bounds(epsilon: float, prior: float = 0.5) -> tuple[float, float]:
    """Return the least and greatest Pr(D | R) after any report R, for a hypothesis D held with ``prior``.

        prior/(prior + (1-prior) e^ε)  <=  Pr(D | R)  <=  prior/(prior + (1-prior) e^-ε)

    which for prior 1/2 is 1/(1+e^ε) and 1/(1+e^-ε). D says which of two answers is the true one.
    Raises ParameterError for an epsilon below 0 or a prior outside [0, 1].
    """
    loss, held = float(_checked(epsilon)), float(as_probability(prior, "prior"))
    low = held * math.exp(-loss) / (held * math.exp(-loss) + (1 - held)) if held < 1 else 1.0
    high = held / (held + (1 - held) * math.exp(-loss)) if held > 0 else 0.0
    return low, high


def _checked(epsilon: float | Fraction) -> Fraction:
    if not 0 <= epsilon < math.inf:
        raise ParameterError("epsilon", f"{epsilon!r} is not a finite number of at least 0")
    return Fraction(epsilon)
