"""Select the strings that stand out among many, at a stated false discovery rate.

A string that nobody holds may share a bucket with a frequent one. So strings enter a common fit the strongest first,
and what they explain is taken off the cells before the others are judged; whatever no longer stands out leaves again.
"""

from typing import NamedTuple

import numpy as np
import scipy

from ...tally.arrays import Booleans, Floats, Indices
from ..fit import FALSE_DISCOVERIES
from ..hashing import Buckets
from ..regression.false_discovery import passing
from .cells import Cells, Fitted
from .rows import Rows

_SPARE = 30
"""So many strings that nobody holds are expected on the short list, from which those found are chosen."""

_CROWDED = 8
"""Buckets per string of a short list: with fewer, too many strings would share buckets."""

_REPEATS = 4
_ROUNDS = 40
_RETURNS = 2
"""How often a string that has left the fit may enter it again."""


class Selected(NamedTuple):
    """The places of the strings that are ``found``, ascending, and the ``fit`` of these together."""

    found: Indices
    fit: Fitted


def selected(rows: Rows, marks: Buckets) -> Selected:
    """Return which of the strings of ``marks``, shape (rows, M), are found.

    An expected share of at most ``FALSE_DISCOVERIES`` of these are held by nobody. How much the others add to the cells
    is known only once the frequent ones are: so it is done again until nothing changes.
    """
    found = np.zeros(0, dtype=np.intp)
    cells = Cells.of(rows)
    for _ in range(_REPEATS):
        fit = cells.fit(marks[:, found])
        score = fit.beside(marks).score
        score[found] = fit.read.score
        before, short = found, highest(score, rows.buckets // _CROWDED, _SPARE)
        among, fit = _grown(cells, marks[:, short], marks.shape[1])
        found, cells = short[among], Cells.of(rows, fit.read)
        if np.array_equal(found, before):
            break
    return Selected(found, fit)


def threshold(found: int, listed: int) -> float:
    """Return the least score that passes if ``found`` of the ``listed`` pass it (Benjamini and Hochberg 1995)."""
    return float(-scipy.special.ndtri(min(1.0, FALSE_DISCOVERIES * found / listed)))


def highest(score: Floats, most: int, spare: int | None = None) -> Indices:
    """Return the places, ascending, of the ``most`` highest scores.

    With ``spare``, only of scores so high that ``spare`` of all would be expected to pass if nobody held any string.
    """
    places = np.arange(len(score), dtype=np.intp)
    if spare is not None:
        places = np.flatnonzero(score > -scipy.special.ndtri(min(1.0, spare / max(1, len(score)))))
    if len(places) > most:
        places = np.sort(places[np.argpartition(-score[places], most)[:most]])
    return places


def _grown(cells: Cells, marks: Buckets, listed: int) -> tuple[Indices, Fitted]:
    """Return which strings of a short list, out of ``listed`` in all, are found, and their fit."""
    chosen = np.zeros(marks.shape[1], dtype=np.bool_)
    departures = np.zeros(marks.shape[1], dtype=np.intp)
    fit = cells.fit(marks[:, chosen])
    for _ in range(_ROUNDS):
        score = fit.beside(marks).score
        score[chosen] = fit.read.score
        passes = np.zeros_like(chosen)
        passes[passing(score, FALSE_DISCOVERIES * len(score) / listed)] = True
        departures += chosen & ~passes
        entering = _leading(score, passes & ~chosen & (departures < _RETURNS), marks)
        if not entering.any() and passes[chosen].all():
            break
        chosen = (chosen & passes) | entering
        fit = cells.fit(marks[:, chosen])
    return np.flatnonzero(chosen), fit


def _leading(score: Floats, asked: Booleans, marks: Buckets) -> Booleans:
    """Return which of those ``asked`` for have the highest score in all of their cells."""
    leading = asked.copy()
    worth = np.where(asked, score, -np.inf)
    for row in marks:
        best = np.full(int(row.max(initial=0)) + 1, -np.inf)
        np.maximum.at(best, row, worth)
        leading &= worth >= best[row]
    return leading
