"""Compute how far forged reports could have moved an estimate; anyone can send one, and none can be recognised."""

import math
from statistics import NormalDist
from typing import TypedDict

import numpy as np

from dither_shared import Mechanism, ParameterError

from ..estimation.numeric.dithered import Dithered
from ..tally.arrays import Floats


class _Poisoning(TypedDict):
    """The assumed number of forged reports, and how few of them could make a value up.

    ``share`` of the reports, that is ``reports`` of them, are assumed forged. ``reports_to_appear`` forged ones take a
    value that nobody has from 0 to where its interval no longer contains 0.
    """

    share: float
    reports: int
    reports_to_appear: int


def poisoning(mechanism: Mechanism, reports: int, confidence: float, share: float) -> _Poisoning:
    """Return the effect of forged reports on an estimate from ``reports`` reports.

    As in ``gains`` all forged ones speak of the value that is attacked, so where a report speaks of a share c of the
    values each counts 1/c times.
    """
    noise = math.sqrt(mechanism.variance(0.0) * reports / mechanism.fitted_cells)
    each = mechanism.reach[1] / float(mechanism.coverage)
    # At a share of 0 all of 1 - confidence lies above (``feldman_cousins``).
    appear = math.ceil(NormalDist().inv_cdf(max(confidence, 0.5)) * noise / each)
    return _Poisoning(share=share, reports=round(share * reports), reports_to_appear=appear)


def gains(mechanism: Mechanism, frequency: Floats, share: float) -> tuple[Floats, Floats]:
    """Return by how much a share β of forged reports raises and lowers the estimate of each value, at worst.

    A crafted report supports a value for certain, or does not, and so counts (1-q)/(p-q) or -q/(p-q) where an honest
    one counts the estimate on average: β ((1-q)/(p-q) - f) up, β (f + q/(p-q)) down (Cao, Jia and Gong, USENIX
    Security 2021).
    Where a report speaks of a share c of the values, forged ones all speak of the one that is attacked, and are a share
    β/(c (1-β) + β) of those that do. One report may raise several values at once; this is for each by itself.

    A string that is fitted to its cells has no support of its own: what is told is of a fit of it alone, and a fit of
    many together may magnify it.
    """
    low, high = mechanism.reach
    forged = share / (float(mechanism.coverage) * (1 - share) + share)
    return forged * (high - frequency), forged * (frequency - low)


def cut_shift(law: Dithered, forged: float, cuts: int | None = None) -> float:
    """Return how far a part ``forged`` of all reports can move a share below a point, down or up; at most 1.

    All forgers choose the phases of so many ``cuts`` in a row, at most d; with None they spread over all phases, and
    move all shares together. Forgers in few phases make these stand out: the test of the phases' counts sees it.
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
