"""Select strings among many candidates at a stated false discovery rate.

A string that nobody holds may share a bucket with a frequent one. So strings enter a common fit in order of
significance, and their contribution is subtracted from the cells before the others are tested; strings that are no
longer significant leave the fit.

A short list is fitted together. Of a long list, up to millions, the found strings are fitted together; each of the
others is estimated as an addition to this fit, unbiased and with its error. The share of people who hold no string of a
list follows from the sum over its buckets (``Rows.listed``), unless it fills nearly all buckets.
"""

from typing import NamedTuple

import numpy as np
import scipy

from dither_shared.mechanisms.projective_sketch import ProjectiveBuckets

from ...tally.arrays import Booleans, Floats, Indices
from ...tally.tally import Tally
from ..fit import FALSE_DISCOVERIES, Fit, passing
from ..hashing import Buckets, buckets_of
from .cells import Cells, Chance, Fitted, Read
from .rows import Rows, whole_rows

_SPARE = 30
"""Expected number of strings that nobody holds on the short list from which the found ones are selected."""

_CROWDED = 8
"""Minimum buckets per string of a short list; with fewer, too many strings would share buckets."""

_REPEATS = 4
_ROUNDS = 40
_RETURNS = 2
"""How many times a string that has left the fit may enter it again."""


class _Selected(NamedTuple):
    """The indices of the strings that are ``found``, ascending, and their joint ``fit``."""

    found: Indices
    fit: Fitted


def selected(rows: Rows, marks: Buckets) -> _Selected:
    """Return which of the strings of ``marks``, shape (rows, M), are found.

    An expected share of at most ``FALSE_DISCOVERIES`` of these are held by nobody. The contribution of other strings to
    the cells is known only after the frequent ones are found, so the selection is repeated until it is stable.
    """
    found = np.zeros(0, dtype=np.intp)
    cells = Cells.of(rows)
    for _ in range(_REPEATS):
        fit = cells.fit(marks[:, found])
        score = fit.with_each(marks).score
        score[found] = fit.read.score
        before, short = found, highest(score, rows.buckets // _CROWDED, _SPARE)
        among, fit = _grown(cells, marks[:, short], marks.shape[1])
        found, cells = short[among], Cells.of(rows, fit.read)
        if np.array_equal(found, before):
            break
    return _Selected(found, fit)


def threshold(found: int, listed: int) -> float:
    """Return the threshold of the score if ``found`` of the ``listed`` strings pass (Benjamini and Hochberg 1995)."""
    return float(-scipy.special.ndtri(min(1.0, FALSE_DISCOVERIES * found / listed)))


def highest(score: Floats, most: int, spare: int | None = None) -> Indices:
    """Return the indices, ascending, of the ``most`` highest scores.

    If ``spare`` is given, only scores count that an expected number of ``spare`` strings would reach if nobody held
    any.
    """
    places = np.arange(len(score), dtype=np.intp)
    if spare is not None:
        places = np.flatnonzero(score > -scipy.special.ndtri(min(1.0, spare / max(1, len(score)))))
    if len(places) > most:
        places = np.sort(places[np.argpartition(-score[places], most)[:most]])
    return places


def _grown(cells: Cells, marks: Buckets, listed: int) -> tuple[Indices, Fitted]:
    """Return the found strings of a short list, taken from ``listed`` strings, and their fit."""
    chosen = np.zeros(marks.shape[1], dtype=np.bool_)
    departures = np.zeros(marks.shape[1], dtype=np.intp)
    fit = cells.fit(marks[:, chosen])
    for _ in range(_ROUNDS):
        score = fit.with_each(marks).score
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


def _leading(score: Floats, entering: Booleans, marks: Buckets) -> Booleans:
    """Return which of the ``entering`` strings have the highest score in all of their cells."""
    leading = entering.copy()
    worth = np.where(entering, score, -np.inf)
    for row in marks:
        best = np.full(int(row.max(initial=0)) + 1, -np.inf)
        np.maximum.at(best, row, worth)
        leading &= worth >= best[row]
    return leading


_MOST_AT_ONCE = 300
"""Maximum length of a list that is fitted together: the time grows with the cube of the strings that share buckets."""


def look_up(mechanism: ProjectiveBuckets, labels: tuple[str, ...], tally: Tally, confidence: float) -> Fit:
    """Return the fit of strings to a tally with at least one report; in a sketch with levels, to the last level."""
    rows, marks = Rows.of(mechanism, tally, whole_rows(mechanism)), marks_in(mechanism, labels)
    if not rows.total:
        return Fit.of_nothing(len(labels))
    rows, marks = rows.only(marks)
    together = len(labels) <= _MOST_AT_ONCE
    read, found, cells, chance = _together(rows, marks) if together else _selected(rows, marks)
    return Fit.of(
        read.frequency,
        read.error,
        found,
        chance.least(threshold(len(found), len(labels))),
        confidence,
        prior=(read.score, read.error),
        listed=cells.listed(marks),
    ).of_people(rows.between)


def marks_in(mechanism: ProjectiveBuckets, labels: tuple[str, ...]) -> Buckets:
    """Return the buckets of whole strings, shape (rows, labels); the result is cached."""
    return buckets_of(labels, mechanism.rows, mechanism.buckets, mechanism.cohorts // mechanism.rows - 1)


class _Found(NamedTuple):
    """Estimates of the strings, the indices of those ``found``, the other cells, and the law of chance scores."""

    read: Read
    found: Indices
    cells: Cells
    chance: Chance


def _together(rows: Rows, marks: Buckets) -> _Found:
    cells = Cells.of(rows, Cells.of(rows).fit(marks).read)
    fit = cells.fit(marks)
    return _Found(fit.read, passing(fit.read.score, FALSE_DISCOVERIES), cells, fit.chance)


def _selected(rows: Rows, marks: Buckets) -> _Found:
    found, fit = selected(rows, marks)
    read = fit.with_each(marks)
    for everyone, joint in zip(read, fit.read, strict=True):
        everyone[found] = joint
    return _Found(read, found, Cells.of(rows, fit.read), fit.chance)
