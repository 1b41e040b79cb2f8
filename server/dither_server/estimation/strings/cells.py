"""Fit strings to the cells that they share by weighted least squares, which undoes their collisions.

A cell is a bucket of a row. With f the frequencies of the strings fitted and U = 1 - Σ f everyone else's share,

    E share[r, b] = Σ_v f_v [h_r(v) = b] + U/B,

over the hash functions of the others. Few strings share a cell with another: these fall into small groups, tied by the
cells that they share, and each of the rest is fitted by itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import scipy

from ...tally.arrays import Floats, Indices
from ..hashing import Buckets
from .rows import Rows

_APART = 1e-6
"""The largest miss in fitting a string to cells of itself alone; beyond it the string is not identifiable."""

_SLACK = 0.65
"""So many standard errors a string may look rarer in one row than in all; with more, too many found are false."""

_DISAGREEING = 3.3
"""Standard errors from which two rows count as different strings; rows of one string differ so once in a thousand."""

_PASSES = 3
"""Fits that are made: weights and background follow from the fit before."""


class Read(NamedTuple):
    """``frequency`` and standard ``error`` of strings, and their ``score`` (``_robust``); each shape (S,)."""

    frequency: Floats
    error: Floats
    score: Floats


@dataclass(frozen=True)
class Fitted:
    """A fit of the strings of ``marks``, shape (rows, S), and what it leaves over of each cell, shape (rows, buckets).

    ``weight`` is the inverse variance of a cell, ``free`` the share of that variance which the fit leaves.
    ``total_error`` is the standard error of the sum of the frequencies, and ``buckets`` how many a row has in all.
    """

    marks: Buckets
    read: Read
    total_error: float
    left: Floats
    weight: Floats
    free: Floats
    buckets: int

    def beside(self, marks: Buckets) -> Read:
        """Return what each of other strings, shape (rows, M), would be if it alone were fitted beside these."""
        buckets = self.buckets
        trust = self.weight * self.free
        with np.errstate(divide="ignore"):
            alone, alone_error = self.left / self.free, 1 / np.sqrt(trust)
            error = 1 / np.sqrt(_gathered(trust, marks))
        frequency = _gathered(self.weight * self.left, marks) * error**2 * (buckets / (buckets - 1))
        rows = ((row[places], errors[places]) for row, errors, places in zip(alone, alone_error, marks, strict=True))
        return Read(frequency, error, _robust(frequency / error, error, rows))


@dataclass(frozen=True)
class Cells:
    """The cells of ``rows``; strings that are not fitted add the variance ``crowd`` to each, their Σ f²/B."""

    rows: Rows
    crowd: float

    @classmethod
    def of(cls, rows: Rows, known: Read | None = None) -> Self:
        """Return the cells, where others than the ``known`` strings share buckets by chance."""
        squares = 0.0 if known is None else float(np.maximum(known.frequency**2 - known.error**2, 0).sum())
        return cls(rows, max(0.0, rows.concentration - squares) / rows.buckets)

    def fit(self, marks: Buckets) -> Fitted:
        """Fit the strings of ``marks``, the buckets of S strings, at least one row of which has reports."""
        shape = self.rows.share.shape
        places = marks.astype(np.intp) + np.arange(shape[0])[:, np.newaxis] * shape[1]
        frequency = np.zeros(marks.shape[1])
        for _ in range(_PASSES):
            background = max(0.0, 1 - float(np.clip(frequency, 0, 1).sum())) / self.rows.buckets
            weight = self._weight(places, np.clip(frequency, 0, 1))
            target = self.rows.share.ravel() - background
            solved = _solved(places, target, weight)
            frequency = solved.frequency
        left = target - _load(places, frequency, target.size)
        with np.errstate(divide="ignore"):
            rows = zip(frequency + left[places], 1 / np.sqrt(weight[places]), strict=True)
        score = np.where(np.isfinite(solved.error), frequency / solved.error, -np.inf)
        read = Read(frequency, solved.error, _robust(score, solved.error, rows))
        total_error = np.sqrt(max(0.0, solved.total - self._shared(frequency)))
        free = np.maximum(1 - solved.leverage, _APART)
        left, weight, free = (each.reshape(shape) for each in (left, weight, free))
        return Fitted(marks, read, total_error, left, weight, free, self.rows.buckets)

    def _weight(self, places: Indices, held: Floats) -> Floats:
        """Return the inverse variance of each cell if these strings are held so often."""
        rows, buckets = self.rows.share.shape
        load = np.clip(_load(places, held, rows * buckets), 0, 1)
        return np.asarray(1 / (self.rows.variance(load.reshape(rows, buckets)) + self.crowd)).ravel()

    def _shared(self, frequency: Floats) -> float:
        """Return by how much the sum varies less than its parts: of people sampled each holds one string."""
        held = np.clip(frequency, 0, 1)
        whole = min(1.0, float(held.sum()))
        return (float((held * (1 - held)).sum()) - whole * (1 - whole)) / max(1, self.rows.total)


def _robust(score: Floats, error: Floats, rows: Iterable[tuple[Floats, Floats]]) -> Floats:
    """Return a ``score``, the frequency in standard errors, or less where the rows speak for a string unequally.

    ``rows`` have a frequency and a standard error each. Other people only add to a cell, so a string that nobody holds
    looks frequent where it shares a bucket with a frequent one, but seldom in every row. So the frequency is at most
    that in the row that speaks least for the string, with ``_SLACK`` standard errors of that row more; and where
    another row says significantly more, the score is that of the least row alone.
    """
    least, most = np.full(len(score), np.inf), np.full(len(score), -np.inf)
    spread = np.full(len(score), np.inf)
    for frequency, errors in rows:
        spread = np.where(frequency < least, errors, spread)
        least, most = np.minimum(least, frequency), np.maximum(most, frequency)
    with np.errstate(invalid="ignore"):
        capped = np.minimum(score, (least + _SLACK * spread) / error)
        return np.where(most - least > _DISAGREEING * np.sqrt(2) * spread, np.minimum(capped, least / spread), capped)


class _Solved(NamedTuple):
    """``total``: the variance of the sum; ``leverage``: the share of each cell's variance that is fitted."""

    frequency: Floats
    error: Floats
    total: float
    leverage: Floats


def _solved(places: Indices, target: Floats, weight: Floats) -> _Solved:
    """Solve the least squares of strings at ``places``, shape (rows, S), among cells in one line."""
    trust = weight[places]
    information = trust.sum(axis=0)
    frequency = (trust * target[places]).sum(axis=0) / information
    variance, told = 1 / information, np.ones(len(information), dtype=np.bool_)
    leverage = np.zeros(len(target))
    leverage[places] = trust / information
    total = variance.copy()
    for group in _groups(places):
        cells, where = np.unique(places[:, group], return_inverse=True)
        columns = np.zeros((len(cells), len(group)))
        columns[where.reshape(places.shape[0], -1), np.arange(len(group))] = 1.0
        weighted = columns.T * weight[cells]
        inverse = np.asarray(scipy.linalg.pinvh(weighted @ columns))
        frequency[group] = inverse @ (weighted @ target[cells])
        variance[group] = np.diag(inverse)
        told[group] = np.abs(np.diag(inverse @ (weighted @ columns)) - 1) < _APART
        leverage[cells] = np.einsum("cs,st,tc->c", columns, inverse, weighted)
        total[group] = inverse.sum(axis=0)
    return _Solved(frequency, np.where(told, np.sqrt(variance), np.inf), float(total.sum()), leverage)


def _groups(places: Indices) -> list[Indices]:
    """Return the groups of strings that are tied by cells, of more than one string."""
    cells, where = np.unique(places, return_inverse=True)
    where = where.reshape(places.shape)
    tied = np.flatnonzero((np.bincount(where.ravel(), minlength=len(cells))[where] > 1).any(axis=0))
    if not len(tied):
        return []
    owners = np.tile(np.arange(len(tied)), len(places))
    edges = (np.ones(owners.size), (owners, len(tied) + where[:, tied].ravel()))
    size = len(tied) + len(cells)
    _, labels = scipy.sparse.csgraph.connected_components(
        scipy.sparse.coo_array(edges, shape=(size, size)), directed=False
    )
    labels = labels[: len(tied)]
    order = np.argsort(labels, kind="stable")
    return np.split(tied[order], np.flatnonzero(np.diff(labels[order])) + 1)


def _load(places: Indices, frequency: Floats, cells: int) -> Floats:
    """Return the sum of the frequencies in each cell."""
    return np.bincount(places.ravel(), np.tile(frequency, len(places)), cells).astype(np.float64, copy=False)


def _gathered(table: Floats, marks: Buckets) -> Floats:
    """Return the sum over the rows of each string's cells."""
    total = np.zeros(marks.shape[1])
    for row, places in zip(table, marks, strict=True):
        total += row[places]
    return total
