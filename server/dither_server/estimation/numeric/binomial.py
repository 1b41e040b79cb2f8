"""Bounds of a chance from successes in trials whose chances may differ."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["approximate_upper", "level", "upper"]

Floats = NDArray[np.float64]


def level(alpha: float) -> float:
    """Return the level of an exact binomial bound that holds with 1 - ``alpha`` for trials of unequal chances too.

    Let S be the successes in N independent trials of mean chance s. The bound of Clopper and Pearson (1934) is below s
    only where P[Bin(N, s) <= S] is below the level. Hoeffding (1956, theorem 4): such a tail of S is no more likely
    than the binomial one, up to N s - 1. Beyond that the binomial tail exceeds 1/4 (Greenberg and Mohri 2014), so no
    level up to 1/4 reaches it, but for S = N - 1: there the bound is (1 - level)^(1/N), and a miss has a chance of at
    most N (1 - s) <= -ln(1 - level). That is ``alpha`` for the level 1 - e^-alpha.
    """
    return -math.expm1(-alpha)


def upper(successes: Floats, trials: Floats, alpha: float) -> Floats:
    """Return the upper bounds of Clopper and Pearson that miss with at most ``alpha``; 1 where there is no failure.

    The lower bound is 1 less the upper one of the failures.
    """
    failures = trials - successes
    some = np.maximum(failures, 1.0)
    return np.where(failures > 0, 1 - special.betaincinv(some, successes + 1, alpha), 1.0)


def approximate_upper(successes: Floats, trials: Floats, alpha: float) -> Floats:
    """Return nearly these bounds, by Wilson's interval (1927) with half a success for continuity; 1 of no trials."""
    z, trials = float(special.ndtri(1 - alpha)), np.maximum(trials, 1.0)
    successes = np.minimum(successes + 0.5, trials)
    half = z * np.sqrt(successes * (trials - successes) / trials + z**2 / 4)
    return np.asarray((successes + z**2 / 2 + half) / (trials + z**2))
