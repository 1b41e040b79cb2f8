"""Intervals of a ratio of two estimates, such as the share of x among those with y: r = f_xy / f_y.

Fieller's set (Fieller 1954, "Some problems in interval estimation") is that of all r for which x - r y is within its
own error of 0,

    { r : (x - r y)² <= z² (v_x - 2 r v_xy + r² v_y) },

an interval if y is clear of 0 by its own z errors. If it is not, no end of it can be known, and there is none.
"""

from typing import NamedTuple

import numpy as np

from ...tally.arrays import Floats


class Ratios(NamedTuple):
    """Ratios with their intervals; all three are NaN where the denominator may be 0, for then there are too few."""

    ratio: Floats
    low: Floats
    high: Floats


def fieller(
    x: Floats | float,
    y: Floats | float,
    v_x: Floats | float,
    v_y: Floats | float,
    v_xy: Floats | float,
    z: float,
    sure: float = 0.0,
) -> Ratios:
    """Return x / y with the ends of Fieller's set, cut to [0, 1]; all arrays broadcast.

    ``v_x``, ``v_y`` and ``v_xy`` are variances and covariance of x and y; ``z`` is the normal quantile of the
    confidence. Unless y is clear of 0 by ``sure`` of its errors too there is none, because y may be absent. The ends
    are the roots of r² (y² - z² v_y) - 2 r (x y - z² v_xy) + (x² - z² v_x) = 0.
    """
    x, y, v_x, v_y, v_xy = np.broadcast_arrays(*(np.asarray(one, dtype=np.float64) for one in (x, y, v_x, v_y, v_xy)))
    square = y**2 - z**2 * v_y
    middle = x * y - z**2 * v_xy
    # The discriminant is not negative where the set is an interval, but for rounding.
    reach = np.sqrt(np.maximum(middle**2 - square * (x**2 - z**2 * v_x), 0))
    known = (square > 0) & (y > sure * np.sqrt(v_y))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio, low, high = (np.where(known, top / bottom, np.nan) for top, bottom in (
            (x, y), (middle - reach, square), (middle + reach, square)
        ))  # fmt: skip
    return Ratios(ratio, np.clip(low, 0, 1), np.clip(high, 0, 1))
