"""Fit strings to their cells by weighted least squares, which corrects for collisions.

A cell is a bucket of a row. With f the frequencies of the fitted strings and U = 1 - Σ f the share of all others,

    E share[r, b] = Σ_v f_v [h_r(v) = b] + U/B,

over the hash functions of the others. Few strings share a cell with another: these form small connected groups, and
each of the rest is fitted by itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import scipy

from ...tally.arrays import Floats, Indices
from ..hashing import Buckets
from .rows import Rows

_APART = 1e-6
"""Largest error in fitting a string to cells of itself alone; above it the string is not identifiable."""

SLACK = 0.65
"""Number of standard errors by which a string may look rarer in one row than in all rows."""

_THRESHOLDS, _WIDTH = np.arange(1.5, 10.1, 0.25), 0.05
"""Scores for which ``Chance`` convolves the laws of rows, and its bin width; above them, the least row decides."""

_TINY = np.finfo(float).tiny

_PASSES = 3
"""Number of fits; each takes weights and background from the one before."""


class Read(NamedTuple):
    """``frequency`` and standard ``error`` of strings, and their ``score`` (``Chance``); each shape (S,)."""

    frequency: Floats
    error: Floats
    score: Floats


@dataclass(frozen=True)
class Chance:
    """The distribution of the score of a string that nobody holds: in each row its bucket is uniform and independent.

    So a row's score has the distribution of that row's cells, including those of frequent unlisted strings, and rows
    are independent. ``cells`` has for each row with reports the scores of the cells without fitted strings.
    """

    cells: tuple[Floats, ...]

    def judged(self, scores: Floats) -> Floats:
        """Return scores, shape (S,), lowered to the normal quantiles of the probability of such a score by chance."""
        chance = np.interp(scores, _THRESHOLDS, self._tails)
        far = scores > _THRESHOLDS.max()
        if far.any():
            least = scores[far] / np.sqrt(len(self.cells)) - SLACK
            chance[far] = sum(np.log(_share_above(cells, least)) for cells in self.cells)
        return np.where(scores < _THRESHOLDS.min(), scores, np.minimum(scores, -scipy.special.ndtri_exp(chance)))

    def least(self, judged: float) -> float:
        """Return the least score that is ``judged`` at least this high."""
        scores = np.concatenate([np.arange(0, _THRESHOLDS.max(), 0.02), np.geomspace(_THRESHOLDS.max(), 1e4, 200)])
        return float(scores[np.argmax(self.judged(scores) >= judged)])

    @cached_property
    def _tails(self) -> Floats:
        """The logarithms of the probabilities of reaching each of ``_THRESHOLDS`` by chance."""
        root = np.sqrt(len(self.cells))
        most = int(np.ceil(_THRESHOLDS.max() / _WIDTH))
        places = [np.clip(np.rint(cells / root / _WIDTH), 0, most).astype(np.intp) for cells in self.cells]
        laws = [np.bincount(row, minlength=most + 1) / max(1, len(row)) for row in places]
        tails = np.empty(len(_THRESHOLDS))
        for place, threshold in enumerate(_THRESHOLDS):
            least = max(0, int(np.rint((threshold / root - SLACK) / root / _WIDTH)))
            sums = np.ones(1)
            for law in laws:
                sums = np.convolve(sums, law[least:])
            tails[place] = sums[max(0, int(np.rint(threshold / _WIDTH)) - least * len(laws)) :].sum()
        return np.asarray(np.log(np.maximum(tails, _TINY)))


@dataclass(frozen=True)
class Fitted:
    """A fit of the strings of ``marks``, shape (rows, S), and the residual of each cell, shape (rows, buckets).

    ``weight`` is the inverse variance of a cell, ``free`` the share of that variance that the fit does not absorb.
    ``buckets`` is the number of buckets of a row.
    """

    marks: Buckets
    read: Read
    left: Floats
    weight: Floats
    free: Floats
    buckets: int
    chance: Chance

    def with_each(self, marks: Buckets) -> Read:
        """Return the fit of each of other strings, shape (rows, M), as if it alone were added to the fitted ones."""
        buckets = self.buckets
        trust = self.weight * self.free
        with np.errstate(divide="ignore"):
            alone, alone_error = self.left / self.free, 1 / np.sqrt(trust)
            error = 1 / np.sqrt(_gathered(trust, marks))
        frequency = _gathered(self.weight * self.left, marks) * error**2 * (buckets / (buckets - 1))
        rows = ((row[places], errors[places]) for row, errors, places in zip(alone, alone_error, marks, strict=True))
        return Read(frequency, error, self.chance.judged(_agreed(rows, frequency / error)))


@dataclass(frozen=True)
class Cells:
    """The cells of ``rows``; strings that are not fitted add the variance ``crowd``, Σ f²/B over them, to each."""

    rows: Rows
    crowd: float

    @classmethod
    def of(cls, rows: Rows, known: Read | None = None) -> Self:
        """Return the cells; all strings except the ``known`` ones share buckets by chance."""
        squares = 0.0 if known is None else float(np.maximum(known.frequency**2 - known.error**2, 0).sum())
        return cls(rows, max(0.0, rows.concentration - squares) / rows.buckets)

    def listed(self, marks: Buckets) -> tuple[float, float]:
        """Return the share of people with any string of ``marks``, shape (rows, S), known ones too, and its error."""
        return self.rows.listed(marks, self.crowd * self.rows.buckets)

    def fit(self, marks: Buckets) -> Fitted:
        """Fit the strings of ``marks``, the buckets of S strings, at least one row of which has reports."""
        shape = self.rows.share.shape
        places = marks.astype(np.intp) + np.arange(shape[0])[:, np.newaxis] * shape[1]
        frequency, share = np.zeros(marks.shape[1]), self.rows.share.ravel()
        for _ in range(_PASSES):
            weight = self._weight(places, np.maximum(frequency, 0))
            solved = _solved(places, np.stack([share, np.ones_like(share)]), weight)
            alone, even = solved.frequency
            background = self._background(float(alone.sum()), float(even.sum()))
            frequency = alone - background * even
        left = share - background - _load(places, frequency, share.size)
        with np.errstate(divide="ignore"):
            rows = zip(frequency + left[places], 1 / np.sqrt(weight[places]), strict=True)
        score = _agreed(rows, np.where(np.isfinite(solved.error), frequency / solved.error, -np.inf))
        free = np.maximum(1 - solved.leverage, _APART)
        left, weight, free = (each.reshape(shape) for each in (left, weight, free))
        chance = self._chance(left, weight, marks, background)
        read = Read(frequency, solved.error, chance.judged(score))
        return Fitted(marks, read, left, weight, free, self.rows.buckets, chance)

    def _background(self, alone: float, even: float) -> float:
        """Return the share b = U/B of all other strings in each cell: that with which all shares sum to 1.

        The strings' frequencies sum to ``alone`` - b ``even``. A list that fills nearly all buckets leaves b unknown.
        """
        buckets = self.rows.buckets
        return min(max(0.0, 1 - alone) / max(buckets - even, 1.0), 1 / buckets)

    def _chance(self, left: Floats, weight: Floats, marks: Buckets, background: float) -> Chance:
        """Return the distribution of the cells without any of ``marks``, from ``left`` and the rest of the rows."""
        cells = []
        empty = 1 / np.sqrt(self.rows.variance(np.zeros((len(left), 1))) + self.crowd)
        for row in np.flatnonzero(self.rows.reports):
            apart = ~np.isnan(left[row])
            apart[marks[row]] = False
            scores = left[row] * np.sqrt(weight[row])
            rest = () if self.rows.rest is None else (self.rows.rest[row] - background) * empty[row]
            cells.append(np.append(scores[apart], rest))
        return Chance(tuple(cells))

    def _weight(self, places: Indices, held: Floats) -> Floats:
        """Return the inverse variance of each cell, given the frequencies ``held`` of these strings."""
        rows, buckets = self.rows.share.shape
        load = _load(places, held, rows * buckets)
        return np.asarray(1 / (self.rows.variance(load.reshape(rows, buckets)) + self.crowd)).ravel()


def _share_above(cells: Floats, least: Floats) -> Floats:
    """Return the share of cells that are at least ``least``."""
    high = np.sort(cells[cells >= least.min()])
    return np.asarray(np.maximum((len(high) - np.searchsorted(high, least)) / max(1, len(cells)), _TINY))


def _agreed(rows: Iterable[tuple[Floats, Floats]], score: Floats) -> Floats:
    """Return the ``score``, the frequency in standard errors, lowered for strings on which the rows disagree.

    Each row has a frequency and a standard error. Other people only add to a cell, so a string that nobody holds looks
    frequent in rows where it shares a bucket with a frequent string, but seldom in every row. So the score is at most
    that of rows that all agree with the lowest one, plus ``SLACK`` standard errors.
    """
    least, reported = np.full(len(score), np.inf), np.zeros(len(score))
    for frequency, errors in rows:
        known = np.isfinite(errors)
        least = np.where(known, np.minimum(least, frequency / errors), least)
        reported += known
    return np.minimum(score, np.sqrt(reported) * (least + SLACK))


class _Solved(NamedTuple):
    """``frequency``: one row per target; ``leverage``: the share of each cell's variance that is fitted."""

    frequency: Floats
    error: Floats
    leverage: Floats


def _solved(places: Indices, targets: Floats, weight: Floats) -> _Solved:
    """Solve the least-squares problem of strings at ``places``, shape (rows, S), indices into the flattened cells.

    ``targets`` has one row per problem, each of which differs in its right-hand side only.
    """
    trust = weight[places]
    information = trust.sum(axis=0)
    frequency = (trust * targets[:, places]).sum(axis=1) / information
    variance, known = 1 / information, np.ones(len(information), dtype=np.bool_)
    leverage = np.zeros(len(weight))
    leverage[places] = trust / information
    for group in _groups(places):
        cells, where = np.unique(places[:, group], return_inverse=True)
        columns = np.zeros((len(cells), len(group)))
        columns[where.reshape(places.shape[0], -1), np.arange(len(group))] = 1.0
        weighted = columns.T * weight[cells]
        inverse = np.asarray(scipy.linalg.pinvh(weighted @ columns))
        frequency[:, group] = targets[:, cells] @ weighted.T @ inverse
        variance[group] = np.diag(inverse)
        known[group] = np.abs(np.diag(inverse @ (weighted @ columns)) - 1) < _APART
        leverage[cells] = np.einsum("cs,st,tc->c", columns, inverse, weighted)
    return _Solved(frequency, np.where(known, np.sqrt(variance), np.inf), leverage)


def _groups(places: Indices) -> list[Indices]:
    """Return the connected groups of two or more strings that share cells."""
    cells, where = np.unique(places, return_inverse=True)
    where = where.reshape(places.shape)
    tied = np.flatnonzero((np.bincount(where.ravel(), minlength=len(cells))[where] > 1).any(axis=0))
    if not len(tied):
        return []
    owners = np.tile(np.arange(len(tied)), len(places))
    edges = (np.ones(owners.size), (owners, len(tied) + where[:, tied].ravel()))
    size = len(tied) + len(cells)
    _, labels = scipy.sparse.csgraph.connected_components(scipy.sparse.coo_array(edges, shape=(size, size)))
    labels = labels[: len(tied)]
    order = np.argsort(labels, kind="stable")
    return np.split(tied[order], np.flatnonzero(np.diff(labels[order])) + 1)


def _load(places: Indices, frequency: Floats, cells: int) -> Floats:
    """Return the sum of the frequencies in each cell."""
    return np.asarray(np.bincount(places.ravel(), np.tile(frequency, len(places)), cells), dtype=np.float64)


def _gathered(table: Floats, marks: Buckets) -> Floats:
    """Return the sum over the rows of each string's cells."""
    total = np.zeros(marks.shape[1])
    for row, places in zip(table, marks, strict=True):
        total += row[places]
    return total
