"""Quantiles of a numeric question, with honest intervals from those of the shares below each point."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dither_shared import ParameterError

from ...tally.arrays import Floats
from ..verdicts import too_wide
from .cuts import Cuts

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
