"""Select the strings that stand out among many, at a stated false discovery rate.

A string that nobody holds may share a bucket with a frequent one. So strings enter a common fit the strongest first,
and what they explain is taken off the cells before the others are judged; whatever no longer stands out leaves again.

A short list is fitted together. Of a long one, up to millions, those found are fitted together; each of the others is
read beside these, unbiased and with its error. How many people hold none of a list follows from the sum of its buckets
(``Rows.listed``), until it fills nearly all of them.
"""

from typing import ClassVar, NamedTuple

import numpy as np
import scipy

from dither_shared.mechanisms.projective_buckets import ProjectiveBuckets

from ...tally.arrays import Booleans, Floats, Indices
from ...tally.tally import Tally
from ..decoders.decoder import Decoder, Support
from ..fit import FALSE_DISCOVERIES, Fit, Scores
from ..hashing import Buckets, buckets_of
from ..regression.false_discovery import passing
from .cells import Cells, Chance, Fitted, Read
from .rows import Rows, supports, whole_rows

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


_MOST_AT_ONCE = 300
"""The longest list that is fitted together: the fit's time grows with the cube of those that share buckets."""


def look_up(mechanism: ProjectiveBuckets, labels: tuple[str, ...], tally: Tally, confidence: float) -> Fit:
    """Return the fit of strings to a tally with at least one report; where there are levels, to the last of them."""
    rows, marks = Rows.of(mechanism, tally, whole_rows(mechanism)), marks_in(mechanism, labels)
    if not rows.total:
        return Fit.of_nothing(len(labels))
    if len(labels) < rows.buckets // 2:
        rows, marks = rows.only(marks)
    together = len(labels) <= _MOST_AT_ONCE
    read, found, cells, chance = _together(rows, marks) if together else _selected(rows, marks)
    return Fit.of(
        read.frequency,
        read.error,
        found,
        chance.least(threshold(len(found), len(labels))),
        confidence,
        prior=Scores(read.score, read.error),
        listed=cells.listed(marks),
    ).of_people(rows.between)


def marks_in(mechanism: ProjectiveBuckets, labels: tuple[str, ...]) -> Buckets:
    """Return the buckets of whole strings, shape (rows, labels); hashed once."""
    return buckets_of(labels, mechanism.rows, mechanism.buckets, mechanism.cohorts // mechanism.rows - 1)


class _Found(NamedTuple):
    """The strings as they are read, the places of those ``found``, the cells beside these, and the law of chance."""

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
    read = fit.beside(marks)
    for everyone, own in zip(read, fit.read, strict=True):
        everyone[found] = own
    return _Found(read, found, Cells.of(rows, fit.read), fit.chance)


_TRANSFORMED, _LOOKED_UP = 160, 10
"""So many cells that are transformed, or strings that are looked for, cost as much as a value that is shown."""


class BucketSketch(Decoder[ProjectiveBuckets]):
    """Fits listed strings to their buckets; where there are levels, by the reports of whole strings."""

    fits: ClassVar[bool] = True

    def support(self, mechanism: ProjectiveBuckets, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return the reports of whole strings that support the bucket of each label, over all rows."""
        cohorts, supporting = whole_rows(mechanism), np.zeros(len(labels))
        for counts, places in zip(tally.counts[cohorts], marks_in(mechanism, labels), strict=True):
            supporting += supports(mechanism, counts)[places]
        trials = int(tally.reports[cohorts].sum())
        return Support(np.rint(supporting).astype(np.int64), np.full(len(labels), trials))

    def fit(self, mechanism: ProjectiveBuckets, labels: tuple[str, ...], tally: Tally, confidence: float) -> Fit:
        """Return ``look_up``."""
        return look_up(mechanism, labels, tally, confidence)

    def cost(self, mechanism: ProjectiveBuckets, values: int) -> int:
        """Count transforms, and look-ups with their hashes."""
        return mechanism.rows * mechanism.cells // _TRANSFORMED + values // _LOOKED_UP
