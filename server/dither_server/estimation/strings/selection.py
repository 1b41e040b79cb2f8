"""Select the strings that stand out among many, at a stated false discovery rate.

A string that nobody holds may share a bucket with a frequent one. So strings enter a common fit the strongest first,
and what they explain is taken off the cells before the others are judged; whatever no longer stands out leaves again.
"""

import numpy as np
from scipy import special

from ...tally.arrays import Booleans, Floats, Indices
from ..regression.false_discovery import passing
from .cells import Cells, Fitted
from .rows import Rows

__all__ = ["beyond", "found_in", "short_list"]

_SPARE = 30
"""So many strings that nobody holds are expected on the short list, which the fit is chosen from."""

_ROUNDS = 40
_RETURNS = 2
"""How often a string that has left the fit may enter it again."""


def short_list(score: Floats, most: int) -> Indices:
    """Return the places of the scores that stand out from all, at most so many of the highest."""
    threshold = -special.ndtri(min(1.0, _SPARE / max(1, len(score))))
    places = np.flatnonzero(score > threshold)
    if len(places) > most:
        places = np.sort(places[np.argpartition(-score[places], most)[:most]])
    return places


def found_in(cells: Cells, marks: Indices, listed: int, level: float) -> tuple[Indices, Fitted]:
    """Return which strings of a short list, ``marks`` of shape (rows, S), are found of so many ``listed``, and their fit.

    An expected share of at most ``level`` of those found are held by nobody.
    """
    chosen = np.zeros(marks.shape[1], dtype=np.bool_)
    left = np.zeros(marks.shape[1], dtype=np.intp)
    fit = cells.fit(marks[:, chosen])
    for _ in range(_ROUNDS):
        score = fit.beside(marks).score
        score[chosen] = fit.read.score
        passes = np.zeros_like(chosen)
        passes[passing(score, level * len(score) / listed)] = True
        gone = chosen & ~passes
        left[gone] += 1
        wanted = (chosen & passes) | _leading(score, passes & ~chosen & (left < _RETURNS), marks, cells.rows.buckets)
        if (wanted == chosen).all():
            break
        chosen = wanted
        fit = cells.fit(marks[:, chosen])
    return np.flatnonzero(chosen), fit


def _leading(score: Floats, asked: Booleans, marks: Indices, buckets: int) -> Booleans:
    """Return which of the strings ``asked`` for have the highest score in all of their cells."""
    leading = asked.copy()
    worth = np.where(asked, score, -np.inf)
    for row in marks:
        best = np.full(buckets, -np.inf)
        np.maximum.at(best, row, worth)
        leading &= worth >= best[row]
    return leading


def beyond(rows: Rows, frequency: Floats) -> float:
    """Return Σ f² over the strings but these: the variance that they add to each cell, times the buckets."""
    return max(0.0, rows.concentration - float(np.square(np.clip(frequency, 0, 1)).sum()))
