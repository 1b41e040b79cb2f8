"""Exact confidence bounds on a binomial probability, in the standard library alone."""

import math
from functools import lru_cache

__all__ = ["lower_bound", "tail_fraction", "upper_bound"]


def lower_bound(successes: int, trials: int, confidence: float) -> float:
    """Return the p below which ``successes`` or more would be seen with probability at most 1 - confidence.

    The one-sided bound of Clopper and Pearson (1934): a quantile of Beta(successes, trials - successes + 1).
    """
    if successes == 0:
        return 0.0
    return _quantile(1 - confidence, successes, trials - successes + 1)


def upper_bound(successes: int, trials: int, confidence: float) -> float:
    """Return the p above which ``successes`` or fewer would be seen with probability at most 1 - confidence."""
    if successes == trials:
        return 1.0
    return _quantile(confidence, successes + 1, trials - successes)


@lru_cache(1 << 14)  # events with the same counts are common
def _quantile(level: float, a: float, b: float) -> float:
    """Return x with I_x(a, b) = level, by bisection: 60 halvings reach the precision of floats."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _regularized(middle, a, b) < level else (low, middle)
    return (low + high) / 2


def _regularized(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b) (DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the continued fraction of the complement converges faster
        return 1 - _regularized(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * tail_fraction(x, a, b) / a


def tail_fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of I_x(a, b) by Lentz's algorithm, for x <= (a+1)/(a+b+2).

    P[Bin(n, x) >= k] is (1 - x) times P[Bin(n, x) = k] times that of a = k, b = n - k + 1.
    """
    tiny = 1e-300
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1), tiny)
    fraction = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / _away(1 + even * d, tiny), _away(1 + even / c, tiny)
        fraction *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / _away(1 + odd * d, tiny), _away(1 + odd / c, tiny)
        fraction *= d * c
        if abs(d * c - 1) < 1e-14:
            break
    return fraction


def _away(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
