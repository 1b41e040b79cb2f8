"""Interpolate the exact ends of thousands of intervals, from a few hundred counts at which they are computed.

In the count an end is smooth but at its bends: where it leaves 0, where it reaches 1, and where the tails become alike.
Between two bends it is fitted by Chebyshev polynomials of the count's angle (on which an estimate's error is constant)
and, where values have trials of their own, of the number of trials too. Polynomials that have not converged are taken
over half the range, and the few counts of a short range, or beside a bend, are computed themselves.
"""

from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from ...tally.arrays import Floats, Indices
from .exact import LowEnds

_FEW = 400
"""The number of counts up to which each end is computed by itself."""

_DEGREE = 15
"""Degrees of the polynomials of the count."""

_CLOSE = 1e-8
"""Standard errors below which the last two coefficients of a converged polynomial are."""

_BETWEEN = float(np.nextafter(0, 1)), float(np.nextafter(1, 0))
"""An end that is neither 0 nor 1 is between them."""

_BESIDE = 0.01
"""Standard errors within which a count is next to a bend."""


def ends_of_many(ends: LowEnds, seen: Floats, trials: Floats) -> Floats:
    """Return the low end of each value: within 1e-6 standard errors of the exact one, and never falling in the count.

    It is 0 where the exact one is, and 1 where that is.
    """
    order = np.lexsort((seen, trials))
    seen, trials = seen[order], trials[order]
    new = np.append(True, (np.diff(seen) != 0) | (np.diff(trials) != 0))[: len(seen)]  # of none there is none
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    seen, trials = seen[new], trials[new]
    found = ends.ends(seen, trials) if len(seen) <= _FEW else _interpolated(ends, seen, trials)
    _let_rise(found, trials)
    return np.asarray(found[place])


def _let_rise(found: Floats, trials: Floats) -> None:
    """Lift the ends that rounding has put below that of a lesser count, in place; counts ascend."""
    while (fallen := (np.diff(found) < 0) & (np.diff(trials) == 0)).any():
        found[1:][fallen] = found[:-1][fallen]


def _interpolated(ends: LowEnds, seen: Floats, trials: Floats) -> Floats:
    """Interpolate where numbers of trials are within a factor of two of one another."""
    found = np.empty(len(seen))
    octave = np.floor(np.log2(np.maximum(trials, 1)))
    for one in np.unique(octave):
        places = np.flatnonzero(octave == one)
        if len(places) <= _FEW:
            found[places] = ends.ends(seen[places], trials[places])
        else:
            found[places] = _Octave(ends, seen[places], trials[places]).ends()
    return found


class _Grid(NamedTuple):
    """Chebyshev points of [-1, 1], and the matrix that makes coefficients of values there."""

    points: Floats
    fit: Floats

    @classmethod
    def of(cls, degree: int) -> "_Grid":
        points = np.asarray(chebyshev.chebpts1(degree + 1), dtype=np.float64)
        fit = np.asarray(np.linalg.inv(chebyshev.chebvander(points, degree)), dtype=np.float64)
        return cls(points, fit)


_COUNTS = _Grid.of(_DEGREE)


class _Octave:
    """Ends of distinct counts out of numbers of trials that are alike."""

    def __init__(self, ends: LowEnds, seen: Floats, trials: Floats) -> None:
        """Find the angles of the bends, at a few numbers of trials and from these at all."""
        self._ends, self._seen, self._trials = ends, seen, trials
        self._angle = np.arcsin(np.sqrt(seen / trials))
        least, most = trials.min(), trials.max()
        self._grid = _Grid.of(_degree_for(least, most))
        self._kinds = (least + most) / 2 + (most - least) / 2 * self._grid.points
        scaled = (2 * trials - least - most) / max(most - least, 1.0)
        self._bases = chebyshev.chebvander(scaled, len(self._grid.points) - 1)
        bends = ends.bends(self._kinds)
        counts = ends.counts_at(bends.ravel(), np.tile(self._kinds, len(bends))).reshape(bends.shape)
        self._bends_of_kinds = np.arcsin(np.sqrt(counts / self._kinds))
        self._bends = (self._bends_of_kinds @ self._grid.fit.T) @ self._bases.T

    def ends(self) -> Floats:
        """Return the ends."""
        found = np.zeros(len(self._seen))
        beside = _BESIDE / (2 * np.sqrt(self._trials))
        alone = (np.abs(self._angle - self._bends) < beside).any(axis=0) | (self._angle > self._bends[-1])
        for bend in range(len(self._bends) - 1):
            after, before = self._bends[bend], self._bends[bend + 1]
            inside = np.flatnonzero((after < self._angle) & (self._angle < before) & ~alone)
            part = (self._angle[inside] - after[inside]) / (before - after)[inside]
            for left in self._stretch(bend, inside, part, found):
                alone[left] = True
        found[alone] = self._ends.ends(self._seen[alone], self._trials[alone])
        return found

    def _stretch(self, bend: int, places: Indices, part: Floats, found: Floats) -> list[Indices]:
        """Find the ends between two bends, and return the places of those that are left to be computed.

        ``part`` is how far from one bend to the next each count is.
        """
        left, ranges = [], [(places, part)]
        while ranges:
            places, part = ranges.pop()
            if len(places) <= 2 * len(self._kinds) * len(_COUNTS.points):
                left.append(places)
                continue
            least, most = part.min(), part.max()
            polynomial = self._fitted(bend, least, most)
            if polynomial is None:
                upper = part > (least + most) / 2
                ranges += [(places[side], part[side]) for side in (upper, ~upper)]
            else:
                found[places] = self._evaluated(polynomial, places, (2 * part - least - most) / (most - least))
        return left

    def _evaluated(self, polynomial: Floats, places: Indices, part: Floats) -> Floats:
        basis = chebyshev.chebvander(part, _DEGREE)
        excess = np.sum(basis * (self._bases[places] @ polynomial.T), axis=1) / np.sqrt(self._trials[places])
        estimate = self._ends.support.estimate(self._seen[places], self._trials[places])
        return np.asarray(np.clip(estimate + excess, *_BETWEEN))

    def _fitted(self, bend: int, least: float, most: float) -> Floats | None:
        """Return the coefficients, by count and trials, of sqrt(n) (end - estimate); None if they do not converge."""
        after, before = self._bends_of_kinds[bend], self._bends_of_kinds[bend + 1]
        part = (least + most) / 2 + (most - least) / 2 * _COUNTS.points[:, np.newaxis]
        angle = after + part * (before - after)
        trials = np.broadcast_to(self._kinds, angle.shape).ravel()
        seen = trials * np.sin(angle.ravel()) ** 2
        support = self._ends.support
        estimate = support.estimate(seen, trials)
        excess = np.sqrt(trials) * (self._ends.ends(seen, trials) - estimate)
        coefficients = _COUNTS.fit @ excess.reshape(angle.shape) @ self._grid.fit.T
        scale = np.sqrt(trials) * support.error(np.clip(estimate, 0, 1), trials)
        close = np.abs(coefficients[-2:]).max() < _CLOSE * scale.min()
        return coefficients if close else None


def _degree_for(least: float, most: float) -> int:
    """Return the degree at which a polynomial over such a range, of a function that is singular at 0, is right."""
    if least == most:
        return 0
    ratio = (most + least) / (most - least)
    return int(np.ceil(np.log(1e10) / np.log(ratio + np.sqrt(ratio**2 - 1))))
