"""Find strings that nobody listed: extend significant prefixes level by level, and test the whole strings.

The first level tries all prefixes, each further level every extension of the ``KEPT`` best. The remaining strings are
tested with the reports of the confirming level. These come from other people, so for them the strings are hypotheses
fixed in advance: the usual false discovery rate applies, and intervals allow for the selection by the false
coverage-statement rate (Benjamini and Yekutieli, JASA 2005). If s of m strings are found, each interval has confidence
1 - (1 - confidence) s/m.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from dither_shared import PrefixSketch
from dither_shared.mechanisms.prefix_levels import KEPT

from ...tally.arrays import Floats
from ...tally.tally import Tally
from ..fit import onto_subsimplex, with_people
from ..hashing import Buckets, hashed_buckets
from ..intervals.score import share_interval
from .cells import Cells
from .rows import Rows
from .selection import highest, selected

Prefixes = NDArray[np.uint8]
"""Prefixes of one length, shape (prefixes, symbols)."""


@dataclass(frozen=True)
class Spelling:
    """The allowed sequences: ``symbols`` continue a string, and only the first of ``ends`` follows one of ``ends``."""

    symbols: bytes
    ends: bytes

    def extended(self, prefixes: Prefixes, more: int) -> Prefixes:
        """Return every allowed extension of the prefixes by ``more`` symbols."""
        following = np.frombuffer(self.symbols + self.ends, dtype=np.uint8)[:, np.newaxis]
        ends = np.frombuffer(self.ends, dtype=np.uint8)
        for _ in range(more):
            ended = np.isin(prefixes[:, -1:], ends).any(axis=1)
            going = prefixes[~ended]
            closed = np.full((int(ended.sum()), 1), ends[0], dtype=np.uint8)
            grown = np.hstack([np.repeat(going, len(following), axis=0), np.tile(following, (len(going), 1))])
            prefixes = np.vstack([np.hstack([prefixes[ended], closed]), grown])
        return prefixes

    def everything(self, length: int) -> Prefixes:
        """Return all prefixes of a length."""
        return self.extended(np.zeros((1, 0), dtype=np.uint8), length)


Progress = Callable[[int, int], None]
"""Called with (level, levels) before each level, counted from 1, and with (levels + 1, levels) after the last."""


def no_progress(level: int, levels: int) -> None:
    """Ignore the progress: the default for callers that do not show it."""


@dataclass(frozen=True)
class Discovered:
    """The found strings, the most frequent first, among the ``tried`` candidates of the last level.

    - ``items``: their symbols; ``frequency``, ``standard_error``, ``low``, ``high``, ``consistent``: shape (items,),
      as in ``Fit``, for the population; intervals allow for the selection, and lie in [0, 1];
    - ``reports``: the number of all reports; ``confirming``: the number of those from which frequencies are estimated;
    - ``unlisted``, ``unlisted_error``: the share of people who hold none of the tried strings.
    """

    items: tuple[bytes, ...]
    reports: int
    confirming: int
    tried: int
    confidence: float
    frequency: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    consistent: Floats
    unlisted: float
    unlisted_error: float

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        return 200 * len(self.items)


def discover(
    mechanism: PrefixSketch,
    spelling: Spelling,
    tally: Tally,
    confidence: float = 0.95,
    progress: Progress = no_progress,
) -> Discovered:
    """Return the strings found in a tally; none if some level has no reports."""
    found, levels = spelling.everything(0), len(mechanism.levels) + 1
    for level, length in enumerate(mechanism.levels):
        progress(level + 1, levels)
        rows = _rows(mechanism, tally, level)
        found = spelling.extended(found, length - found.shape[1])
        if not rows.total:
            found = found[:0]
        if len(found) > KEPT:
            marks = _marks(mechanism, found, level)
            found = found[highest(Cells.of(rows).fit(marks[:, []]).with_each(marks).score, KEPT)]
    progress(levels, levels)
    result = _confirmed(mechanism, found, tally, confidence)
    progress(levels + 1, levels)
    return result


def _confirmed(mechanism: PrefixSketch, tried: Prefixes, tally: Tally, confidence: float) -> Discovered:
    rows = _rows(mechanism, tally, mechanism.confirming)
    if not (len(tried) and rows.total):
        return _nothing(tally.total, rows.total, confidence)
    marks = _marks(mechanism, tried, mechanism.confirming)
    found, fit = selected(rows, marks)
    listed, listed_error = Cells.of(rows, fit.read).listed(marks)
    order = np.argsort(-fit.read.frequency, kind="stable")
    frequency = fit.read.frequency[order]
    error = with_people(fit.read.error[order], frequency, rows.between)
    alpha = (1 - confidence) * max(1, len(found)) / len(tried)
    margin = -scipy.special.ndtri(alpha / 2) * error
    # The error at an estimate ignores what few reports, or reports of few people, may have missed.
    trials = np.full(len(order), float(rows.total))
    low, high = share_interval(mechanism, frequency, trials, alpha, repeats=rows.effect, sampled=True)
    return Discovered(
        items=tuple(bytes(item) for item in tried[found[order]]),
        reports=tally.total,
        confirming=rows.total,
        tried=len(tried),
        confidence=confidence,
        frequency=frequency,
        standard_error=error,
        low=np.clip(np.minimum(frequency - margin, low), 0, 1),
        high=np.clip(np.maximum(frequency + margin, high), 0, 1),
        consistent=onto_subsimplex(frequency),
        unlisted=1 - listed,
        unlisted_error=float(with_people(listed_error, listed, rows.between)),
    )


def _nothing(reports: int, confirming: int, confidence: float) -> Discovered:
    none = np.zeros(0)
    return Discovered((), reports, confirming, 0, confidence, none, none, none, none, none, math.nan, math.nan)


def _rows(mechanism: PrefixSketch, tally: Tally, level: int) -> Rows:
    return Rows.of(mechanism, tally, range(level * mechanism.rows, (level + 1) * mechanism.rows))


def _marks(mechanism: PrefixSketch, prefixes: Prefixes, level: int) -> Buckets:
    length, written = prefixes.shape[1], prefixes.tobytes()
    values = (written[start : start + length] for start in range(0, len(written), length))
    return hashed_buckets(values, len(prefixes), level, mechanism.rows, mechanism.buckets)
