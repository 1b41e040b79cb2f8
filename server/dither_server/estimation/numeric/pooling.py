"""Bounds of a share below a point, from the counts of several cuts taken together."""

import numpy as np
from numpy.typing import NDArray

from .binomial import approximate_upper, level, upper

__all__ = ["WIDTHS", "pooled_bounds"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

WIDTHS = (1, 2, 4, 8, 16)
"""So many cuts are taken together."""


def pooled_bounds(
    successes: Counts, trials: Counts, base: Floats, gap: float, phases: int, alpha: float
) -> tuple[Floats, Floats]:
    """Return bounds below and above each share, that hold together with 1 - ``alpha``: an entry a cut.

    Of ``trials[i]`` reports ``successes[i]`` are below cut i, each with the chance base[i] + gap·F(i); of up to
    ``phases`` cuts in a row no two have a report in common.

    F rises. So the mean of F over cuts i, i+1, …, weighed by trials, is no less than F(i), and its upper bound is one
    of F(i); likewise the lower bound of cuts up to i. Windows of h = 1, 2, 4, 8, 16 cuts, h <= phases, are each allowed
    α/2 over their number, and then the tightest bound holds, and any other. Beyond the last cut a window ends.
    """
    above = _upper(successes, trials, base, gap, phases, alpha / 2)
    opposite = _upper((trials - successes)[::-1], trials[::-1], 1 - gap - base[::-1], gap, phases, alpha / 2)
    low, high = np.clip(1 - opposite[::-1], 0, 1), np.clip(above, 0, 1)
    return np.minimum(low, high), np.maximum(low, high)  # ends that cross have missed: hold what lies between


def _upper(successes: Counts, trials: Counts, base: Floats, gap: float, phases: int, alpha: float) -> Floats:
    """Return a bound above each share.

    Which window is tightest is judged by Wilson's interval, and the exact bound is computed of that one alone.
    """
    widths = np.array([width for width in WIDTHS if width <= phases])[:, np.newaxis]
    first = np.arange(len(trials))
    last = np.minimum(first + widths, len(trials))
    seen, asked, based = (
        (total := np.append(0.0, np.cumsum(column)))[last] - total[first]
        for column in (successes, trials, base * trials)
    )
    each = level(alpha / len(widths))
    based = based / np.maximum(asked, 1)
    judged = np.where(asked > 0, (approximate_upper(seen, asked, each) - based) / gap, np.inf)
    best = judged.argmin(axis=0), first
    bound = (upper(seen[best], asked[best], each) - based[best]) / gap
    return np.where(asked[best] > 0, bound, 1.0)
