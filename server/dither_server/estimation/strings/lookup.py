"""Look for listed strings in a sketch: a look at one bucket a row for each, and a fit of those that stand out.

A short list is fitted together. Of a long one, up to millions, those found are fitted together (selection.py); each of
the others is read beside these, unbiased and with its error. How many people hold none of a list follows from the sum
of its buckets (``Rows.listed``), until it fills nearly all of them.
"""

from typing import ClassVar, NamedTuple

import numpy as np

from dither_shared.mechanisms.projective_buckets import ProjectiveBuckets

from ...tally.arrays import Indices
from ...tally.tally import Tally
from ..decoders.decoder import Decoder, Support
from ..fit import FALSE_DISCOVERIES, Fit, Scores
from ..hashing import Buckets, buckets_of
from ..regression.false_discovery import passing
from .cells import Cells, Chance, Read
from .rows import Rows, supports, whole_rows
from .selection import selected, threshold

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
