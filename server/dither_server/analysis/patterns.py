"""Find the parts of a tally that depend on nobody's answer: supports of no value, and counts that must be alike."""

from dataclasses import replace
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from dither_shared import HadamardCountMeanSketch, HadamardResponse, LocalHashing, Mechanism, ProjectiveGeometry

from ..decoders.support import support
from ..tally import Counts, Tally

__all__ = ["spare_supports", "uniform_counts"]

Floats = NDArray[np.float64]


@singledispatch
def spare_supports(mechanism: Mechanism, tally: Tally) -> Counts:
    """Return the supports of the points that a mechanism's geometry has beyond those that stand for values.

    Any report supports each of them with probability q.
    """
    return np.zeros(0, dtype=np.int64)


@spare_supports.register
def _(mechanism: HadamardResponse, tally: Tally) -> Counts:
    return _beyond(mechanism, mechanism.cells - 1, tally)


@spare_supports.register
def _(mechanism: ProjectiveGeometry, tally: Tally) -> Counts:
    return _beyond(mechanism, mechanism.cells, tally)


@spare_supports.register
def _(mechanism: LocalHashing, tally: Tally) -> Counts:
    return _beyond(mechanism, mechanism.cohorts, tally)


def _beyond(mechanism: HadamardResponse | ProjectiveGeometry | LocalHashing, points: int, tally: Tally) -> Counts:
    if points == mechanism.size:
        return np.zeros(0, dtype=np.int64)
    return support(replace(mechanism, size=points), tally, ()).supporting[mechanism.size :]


@singledispatch
def uniform_counts(mechanism: Mechanism, counts: Floats) -> Floats:
    """Return counts of reports that are equally likely whatever the answers; ``counts`` are the tally's."""
    return np.zeros(0)


@uniform_counts.register
def _(mechanism: LocalHashing, counts: Floats) -> Floats:
    """Return the symbols but 0, on which value 0 and the seed 0 fall: over all seeds the others are alike."""
    return np.asarray(counts.sum(axis=0)[1:])


@uniform_counts.register
def _(mechanism: HadamardCountMeanSketch, counts: Floats) -> Floats:
    """Return the rows, of which each report draws one."""
    return np.asarray(counts.sum(axis=0).reshape(-1, 2).sum(axis=1))
