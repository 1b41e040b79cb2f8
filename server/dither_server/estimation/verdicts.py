"""Say what an interval tells by itself: one rule for every kind of answer, wherever it is shown."""

from statistics import NormalDist
from typing import Literal

import numpy as np

from ..tally.arrays import Booleans, Floats

Verdict = Literal["ok", "noise", "too-few"]

_VERDICTS: tuple[Verdict, ...] = ("ok", "noise", "too-few")

_WIDEST = 0.5
"""The width, as a part of all that is possible, from which an interval says too little."""


def too_wide(low: Floats | float, high: Floats | float, whole: float = 1.0) -> Booleans:
    """Return whether each interval spans half of the ``whole`` or more, or has no ends (NaN)."""
    narrow: Booleans = np.asarray(high) - np.asarray(low) < _WIDEST * whole
    return ~narrow


def verdicts(low: Floats, high: Floats) -> tuple[Verdict, ...]:
    """Return the verdict on each interval of a share, of which NaN has no ends.

    It is "ok" if the interval lies above 0, "too-few" if it contains 0 and is ``too_wide``, and otherwise "noise".
    """
    said = np.array(_VERDICTS, dtype=object)  # the same three strings however many verdicts there are
    return tuple(said[np.where(low > 0, 0, np.where(too_wide(low, high), 2, 1))])


def informative(error: Floats | float, alpha: float) -> Booleans:
    """Return whether any estimate from these reports can tell a share from another; below that none is shown.

    ``error`` is the standard error of a share of 0. If even an estimate of 1, the largest share, is not clear of 0 by
    it, its interval is the whole range. Near 0 all of ``alpha`` lies in one tail (``intervals.feldman_cousins``).
    """
    score = -NormalDist().inv_cdf(min(alpha, 0.5))
    return np.asarray(error) < (1 / score if score else np.inf)
