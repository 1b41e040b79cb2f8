"""Compute how far forged reports could have moved an estimate: anyone can send them, and they cannot be recognised."""

import math
from statistics import NormalDist
from typing import TypedDict

import numpy as np

from dither_shared import Mechanism, ParameterError

from ..estimation.numeric.dithered import Dithered
from ..tally.arrays import Floats


class _Poisoning(TypedDict):
    """The assumed number of forged reports, and the number that could make a value up.

    A ``share`` of the reports, ``reports`` in number, is assumed forged. ``reports_to_appear`` forged reports suffice
    for the interval of a value that nobody has to exclude 0.
    """

    share: float
    reports: int
    reports_to_appear: int


def poisoning(mechanism: Mechanism, reports: int, confidence: float, share: float) -> _Poisoning:
    """Return the effect of forged reports on an estimate from ``reports`` reports.

    As in ``gains``, all forged reports cover the attacked value, so if a report covers a share c of the values, each
    counts 1/c times.
    """
    noise = math.sqrt(mechanism.variance(0.0) * reports / mechanism.fitted_cells)
    each = mechanism.reach[1] / float(mechanism.coverage)
    # At a share of 0 all of 1 - confidence lies above (``feldman_cousins``).
    appear = math.ceil(NormalDist().inv_cdf(max(confidence, 0.5)) * noise / each)
    return _Poisoning(share=share, reports=round(share * reports), reports_to_appear=appear)


def gains(mechanism: Mechanism, frequency: Floats, share: float) -> tuple[Floats, Floats]:
    """Return the largest rise and fall of each value's estimate that a share β of forged reports can cause.

    A crafted report supports a value with certainty, or does not, so it contributes (1-q)/(p-q) or -q/(p-q), whereas an
    honest one contributes the estimate f on average: β ((1-q)/(p-q) - f) up, β (f + q/(p-q)) down (Cao, Jia and Gong,
    USENIX Security 2021). If a report covers a share c of the values, all forged reports cover the attacked value, and
    are a share β/(c (1-β) + β) of the reports that do. One report may raise several values at once; each value is
    considered by itself.

    A string that is fitted to its cells has no support: the result is for a fit of this string alone, and a joint fit
    of many strings may amplify the effect.
    """
    low, high = mechanism.reach
    forged = share / (float(mechanism.coverage) * (1 - share) + share)
    return forged * (high - frequency), forged * (frequency - low)


def cut_shift(law: Dithered, forged: float, cuts: int | None = None) -> float:
    """Return how far a share ``forged`` of all reports can move the share below a point, up or down; at most 1.

    All forgers choose the phases of ``cuts`` neighbouring cuts, at most d; with None they spread over all phases, and
    move all shares together. If forgers use few phases, the test of the phases' counts detects it.
    """
    part, d = _part(forged), law.phases
    aimed = d if cuts is None else cuts
    if not 1 <= aimed <= d:
        raise ParameterError("cuts", f"{aimed} is not between 1 and {d}, the number of phases")
    many = part / aimed
    among = many / (many + (1 - part) / d)
    return float(np.minimum(among * (1 - float(law.q)) / law.gap, 1.0))


def _part(forged: float) -> float:
    if not 0 <= forged <= 1:  # NaN compares false
        raise ParameterError("forged", f"{forged!r} is not a share of all reports, from 0 to 1")
    return forged
