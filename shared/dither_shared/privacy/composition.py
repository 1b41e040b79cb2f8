"""Compute and explain what an epsilon means: for several reports, for several people, and for whoever sees a report."""

import math
from collections.abc import Iterable
from fractions import Fraction

from ..errors import ParameterError
from ..primitives.probability import as_probability

__all__ = ["group", "posterior_bounds", "sequential"]


def sequential(epsilons: Iterable[float]) -> float:
    """Return the privacy loss of several reports of one person together: the sum, rounded up.

    Sequential composition (Dwork and Roth 2014, theorem 3.14), exact in the worst case for pure ε.
    Raises ParameterError for an epsilon that is negative or not finite.
    """
    return _rounded_up(sum((_checked(epsilon) for epsilon in epsilons), Fraction(0)))


def group(epsilon: float, people: int) -> float:
    """Return the privacy loss of ``people`` who share one secret: people · ε, rounded up (ibid., theorem 2.2)."""
    if people < 1:
        raise ParameterError("people", f"{people!r} is not a positive number")
    return _rounded_up(people * _checked(epsilon))


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


def _checked(epsilon: float) -> Fraction:
    if not 0 <= epsilon < math.inf:
        raise ParameterError("epsilon", f"{epsilon!r} is not a finite number of at least 0")
    return Fraction(epsilon)


def _rounded_up(exact: Fraction) -> float:
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
