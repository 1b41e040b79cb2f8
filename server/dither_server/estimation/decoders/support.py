"""Count for each value the reports that support it, out of those that cover it.

``DECODERS`` is the one list of decoders. A mechanism needs its own decoder only if its support is computed by a fast
transform; the supports of all others are gathered from the cells that their values mark.

A report of a set covers several values: a window of neighbours, or a list of values and dummies. Windows lie on a
circle: cohort c covers the values c, c+1, …, c+s-1 modulo d. Bit i of window c is of value c+i, so value v is bit i of
the window that begins at v - i.
"""

from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither_shared import (
    BitFlip,
    CountMeanSketch,
    HadamardCountMeanSketch,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    PrefixSketch,
    PrivSet,
    ProjectiveGeometry,
    ProjectiveSketch,
    Rappor,
    SetResponse,
)
from dither_shared.mechanisms.count_mean_sketch import Sketch
from dither_shared.mechanisms.projective_sketch import ProjectiveBuckets
from dither_shared.primitives.projective import point_length

from ...tally.arrays import Counts, Floats, Indices
from ...tally.tally import Tally
from ..fit import Fit
from ..hashing import columns_of
from ..strings.rows import supports, whole_rows
from ..strings.selection import look_up, marks_in
from ..transform import hyperplane_sums, plane, supported_values, supporting_reports
from . import rappor
from .decoder import Decoder, Pairs, Support, Symbols, of_all

_ALONE = (
    "a report covers only one value, so no two are seen together; at a larger epsilon it covers neighbouring values"
)
_APART = "a report covers {} neighbouring values of the list, in which the first follows the last"

_SUMMED = 1024
"""Number of window bits that can be summed for the cost of showing one value."""


class _BitWindows(Decoder[BitFlip]):
    """Decodes windows whose cells are their bits."""

    def support(self, mechanism: BitFlip, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return, per value, how many reports from the windows that contain it have its bit set."""
        return _in_all(_in_each(tally.reports, tally.counts))

    def covered_weights(self, mechanism: BitFlip, tally: Tally, weights: Floats, group: Indices) -> Floats:
        """Sum the weights of a group in each window, and then over the windows that contain each value."""
        windows = (np.arange(mechanism.size)[:, None] + np.arange(mechanism.bits)) % mechanism.size
        sums = np.zeros(len(group))
        for number in range(int(group.max()) + 1):
            members = group == number
            inside = tally.reports * np.where(members, weights, 0.0)[windows].sum(axis=1)
            holding = (np.flatnonzero(members)[:, None] - np.arange(mechanism.bits)) % mechanism.size
            sums[members] = inside[holding].sum(axis=1)
        return sums

    def cost_together(self, mechanism: BitFlip, values: int, groups: int) -> int:
        """Count the bits of all windows, for each group."""
        return groups * values * mechanism.bits // _SUMMED


class _PatternWindows(Decoder[SetResponse]):
    """Decodes windows whose cells are the 2^s patterns of their bits."""

    def support(self, mechanism: SetResponse, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return, per value, how many reports from the windows that contain it have its bit set."""
        return _in_all(self.by_window(mechanism, tally))

    def by_window(self, mechanism: SetResponse, tally: Tally) -> Support:
        """Return the support of each value in each of its windows."""
        return _in_each(tally.reports, _counted(tally, _bits(mechanism.window)))

    def pairs(self, mechanism: SetResponse, tally: Tally) -> Pairs:
        """Return the counts of each pair of values, from all windows that contain both.

        Patterns are reported by randomized response with probabilities a and b, and therefore the four patterns of two
        bits are, too: both bits are reported with probability a + (2^(s-2) - 1) b for a user who has both values, and
        with 2^(s-2) b for any other.
        """
        size, window = mechanism.size, mechanism.window
        if window == 1:
            return Pairs.none(_ALONE)
        bits = _bits(window)
        first, second = np.array(list(combinations(range(window), 2)), dtype=np.intp).T
        values, place, order = _places(size, window)
        both, trials, each = (np.zeros((len(values), *more), dtype=np.int64) for more in ((), (), (2,)))
        np.add.at(both, place, _counted(tally, bits[:, first] * bits[:, second]))
        np.add.at(trials, place, np.broadcast_to(tally.reports[:, np.newaxis], place.shape))
        np.add.at(each, place, _counted(tally, bits)[np.arange(size)[:, np.newaxis, np.newaxis], order])
        unseen = "" if len(values) == size * (size - 1) // 2 else _APART.format(window)
        stage, again = mechanism.permanent_stage, np.full(len(values), tally.repeats.effect)
        if stage is None:  # the other reports of a device are in other windows
            again = 1 + (again - 1) * trials / max(tally.total, 1)
        shared = (Fraction(1), Fraction(0)) if stage is None else _both_bits(stage)
        return Pairs(values, both, each, trials, *_both_bits(mechanism), shared, again, unseen)

    def sum_variance(self, mechanism: SetResponse, tally: Tally, frequency: Floats) -> float:
        """Return the variance of the sum, given the number of reports of each window.

        Two estimates are correlated through the n_jk reports whose windows contain both values: Cov = n_jk/(n_j n_k) ·
        (P[both bits] - P[bit j] P[bit k]) / (p-q)².

        Reports of one device share the window and the permanent pattern. Without a permanent pattern they share the
        set; the variance of its size is largest if any two values that no report covers together occur together as
        often as possible.
        """
        share, seen = np.clip(frequency, 0, 1), self.pairs(mechanism, tally)
        trials = np.maximum(self.support(mechanism, tally, ()).trials, 1.0)
        again, stage = tally.repeats.effect - 1, mechanism.permanent_stage
        total = _sum_variance(mechanism, share, seen, trials)
        if again and stage is not None:
            return total + again * _sum_variance(stage, share, seen, trials)
        return total + again * _most_varied(share, seen) / max(tally.total, 1) if again else total

    def cost(self, mechanism: SetResponse, values: int) -> int:
        """Count the pairs, too: each takes as much work as a value that is shown."""
        pairs = min(mechanism.size * (mechanism.window - 1), mechanism.size * (mechanism.size - 1) // 2)
        return super().cost(mechanism, values) + pairs


def _both_bits(mechanism: SetResponse) -> tuple[Fraction, Fraction]:
    """Return P[a reported pattern has two given bits], for a user who has both values, and for any other user."""
    q = Fraction(mechanism.cells, 4) * mechanism.b
    return q + mechanism.a - mechanism.b, q


def _sum_variance(mechanism: SetResponse, share: Floats, seen: Pairs, trials: Floats) -> float:
    """Return the variance of the sum of the estimates of these shares, if every person reports once."""
    gap = float(mechanism.p - mechanism.q)
    single = float(mechanism.q) + gap * share
    total = float((single * (1 - single) / trials).sum())
    if len(seen.values):
        together = float(_both_bits(mechanism)[1]) + gap * seen.shares(share)
        first, second = seen.values.T
        covariance = (together - single[first] * single[second]) * seen.trials / (trials[first] * trials[second])
        total += 2 * float(covariance.sum())
    return total / gap**2


def _most_varied(share: Floats, seen: Pairs) -> float:
    """Return the largest variance of a person's number of values, given the shares of values and ``seen`` pairs."""
    ascending = np.sort(share)
    together = float(ascending @ np.arange(len(share))[::-1])  # the share of the rarer value of each pair
    if len(seen.values):
        together -= float((share[seen.values].min(axis=1) - seen.shares(share)).sum())
    return float(share.sum()) + 2 * together - float(share.sum()) ** 2


def _in_each(reports: Counts, ones: Counts) -> Support:
    """Return the support of d values in the s windows that contain each, shape (d, s).

    ``reports`` are the numbers of reports of the d windows, shape (d,); ``ones`` those with each bit set, shape (d, s).
    """
    values, bits = ones.shape
    windows = (np.arange(values)[:, np.newaxis] - np.arange(bits)) % values
    return Support(ones[windows, np.arange(bits)], reports[windows])


def _in_all(each: Support) -> Support:
    return Support(each.supporting.sum(axis=1), each.trials.sum(axis=1))


def _counted(tally: Tally, patterns: Floats) -> Counts:
    """Return the number of reports of each window whose pattern is selected, by a 1, in each column of ``patterns``."""
    return np.asarray(np.rint(tally.counts.astype(np.float64) @ patterns), dtype=np.int64)


@lru_cache(maxsize=8)
def _bits(window: int) -> Floats:
    """Return the bits of each pattern, shape (2^s, s)."""
    return (np.arange(1 << window)[:, np.newaxis] >> np.arange(window) & 1).astype(np.float64)


@lru_cache(maxsize=8)
def _places(size: int, window: int) -> tuple[Indices, Indices, Indices]:
    """Return the pairs of values that share a window, the pair of any two bits, and these bits in the pair's order.

    The shapes are (pairs, 2), (windows, two bits) and (windows, two bits, 2); a pair has its lower value first.
    """
    two = np.array(list(combinations(range(window), 2)), dtype=np.intp)
    values = (np.arange(size)[:, np.newaxis, np.newaxis] + two) % size
    order = values.argsort(axis=-1)
    lower, higher = np.take_along_axis(values, order, axis=-1).transpose(2, 0, 1)
    keys, place = np.unique(lower * size + higher, return_inverse=True)
    bits = np.take_along_axis(np.broadcast_to(two, values.shape), order, axis=-1)
    return np.stack(np.divmod(keys, size), axis=-1), place.reshape(lower.shape), bits


_SINGLY = (
    "each value of a report is counted separately; the mechanism set-response also counts neighbouring values together"
)


class _ListedSets(Decoder[PrivSet]):
    """Decodes lists of cells: every value has its own cell, followed by the cells of the dummies."""

    def support(self, mechanism: PrivSet, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return the number of reports that list each value."""
        return of_all(tally, tally.counts[0, : mechanism.size])

    def pairs(self, mechanism: PrivSet, tally: Tally) -> Pairs:
        """Return no pairs, because each count is of a single value."""
        return Pairs.none(_SINGLY)

    def sum_variance(self, mechanism: PrivSet, tally: Tally, frequency: Floats) -> float:
        """Return the variance of the sum, from the distribution of the number of dummies in a report.

        A report lists r cells in all, so each listed dummy is one listed value less. A set marks a dummy only if it
        marks all dummies before it. So a report lists both dummies i < k with probability q₂ + (p₂ - q₂) P[dummy i is
        marked], where p₂ and q₂ are P[two cells are listed] if any of them is marked, and if neither is.
        """
        p, q = float(mechanism.p), float(mechanism.q)
        reports, again, stage = max(tally.total, 1), tally.repeats.effect - 1, mechanism.permanent_stage
        marked = np.clip((tally.counts[0, mechanism.size :] / reports - q) / (p - q), 0, 1)
        spread = _dummies_variance(marked, mechanism)
        if again and stage is not None:
            spread += again * _dummies_variance(marked, stage)
        elif again:  # the number of marked dummies: a set that marks k + 1 marks the first k + 1
            spread += again * max(float((2 * np.arange(len(marked)) + 1) @ marked - marked.sum() ** 2), 0.0)
        return spread / reports


def _dummies_variance(marked: Floats, mechanism: PrivSet) -> float:
    """Return the variance of the number of dummies that one report lists, divided by (p-q)².

    ``marked`` holds the share of people who mark each dummy.
    """
    (p, q), (p_both, q_both) = (float(mechanism.p), float(mechanism.q)), _both(mechanism)
    listed, later = q + (p - q) * marked, np.arange(len(marked))[::-1]  # the number of dummies after each
    pairs = (q_both + (p_both - q_both) * marked) @ later
    return max(float(listed.sum() - listed.sum() ** 2 + 2 * pairs), 0.0) / (p - q) ** 2


def _both(mechanism: PrivSet) -> tuple[float, float]:
    """Return P[a report lists two cells], if the set marks one of them or both, and if it marks neither.

    Among the C(N,r) subsets, those that contain a mark are e^ε times as likely as the C(d,r) others.
    """
    size, cells, r, odds = mechanism.size, mechanism.cells, mechanism.subset, mechanism.ratio
    if r < 2:
        return 0.0, 0.0
    whole = odds * (comb(cells, r) - comb(size, r)) + comb(size, r)
    every, apart = comb(cells - 2, r - 2), comb(size - 2, r - 2)
    return float(odds * every / whole), float((odds * (every - apart) + apart) / whole)


Sketched = TypeVar("Sketched", bound=Sketch)

_GATHERED = 1024
"""Number of look-ups in a sketch that cost as much as showing one value."""

_TRANSFORMED, _LOOKED_UP = 160, 10
"""Number of transformed cells, and of strings looked up in buckets, that cost as much as showing one value."""

_FIT, _STRING = 5_000, 25
"""Cost of a regression on strings: the fixed part, and the part per string."""


class _Halves(Symbols[HadamardResponse]):
    def support(self, mechanism: HadamardResponse, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return the sums over the owned symbols, half of all, which follow from the ±1 sums of the transform."""
        signed = plane(2).transform(tally.counts[0].astype(np.float64), mechanism.cells.bit_length() - 1)
        return of_all(tally, (tally.total + np.real(signed[1 : mechanism.size + 1])) / 2)

    def supported(self, mechanism: HadamardResponse, values: Floats) -> Floats:
        rows = np.concatenate([[0.0], values, np.zeros(mechanism.cells - 1 - len(values))])
        return np.asarray((rows.sum() + np.real(plane(2).transform(rows, mechanism.cells.bit_length() - 1))) / 2)


class _Hyperplanes(Symbols[ProjectiveGeometry]):
    def support(self, mechanism: ProjectiveGeometry, tally: Tally, labels: tuple[str, ...]) -> Support:
        length = point_length(mechanism.order, mechanism.size)
        sums = hyperplane_sums(mechanism.order, length, tally.counts[0].astype(np.float64))
        return of_all(tally, sums[: mechanism.size])

    def supported(self, mechanism: ProjectiveGeometry, values: Floats) -> Floats:
        """Return the sum of ``values`` on the hyperplane of each point: incidence is symmetric."""
        length = point_length(mechanism.order, mechanism.size)
        return hyperplane_sums(mechanism.order, length, np.append(values, np.zeros(mechanism.cells - len(values))))


class _LinearHashes(Symbols[LocalHashing]):
    def support(self, mechanism: LocalHashing, tally: Tally, labels: tuple[str, ...]) -> Support:
        return of_all(tally, supporting_reports(mechanism, tally.counts))

    def supported(self, mechanism: LocalHashing, values: Floats) -> Floats:
        return supported_values(mechanism, values)


class _Columns(Decoder[Sketched]):
    """Defines the cost that all sketches share."""

    def cost(self, mechanism: Sketched, values: int) -> int:
        """Count look-ups: each value and each column in each cohort."""
        return (values + mechanism.bits) * mechanism.cohorts // _GATHERED


class _BitColumns(_Columns[CountMeanSketch]):
    def support(self, mechanism: CountMeanSketch, tally: Tally, labels: tuple[str, ...]) -> Support:
        return of_all(tally, _gathered(tally.counts, columns_of(labels, mechanism.cohorts, mechanism.bits)))

    def loads(self, mechanism: CountMeanSketch, tally: Tally) -> tuple[Floats, float]:
        counts = tally.counts.astype(np.float64)
        a, b = float(mechanism.a), float(mechanism.b)
        ones, all_bits = counts.sum(), float(tally.total * mechanism.bits)
        users = (counts - b * tally.reports[:, np.newaxis]) / (a - b)
        return users, (ones * (1 - b) ** 2 + (all_bits - ones) * b**2) / (a - b) ** 2


class _SignedColumns(_Columns[HadamardCountMeanSketch]):
    def support(self, mechanism: HadamardCountMeanSketch, tally: Tally, labels: tuple[str, ...]) -> Support:
        signed = (tally.counts[:, 0::2] - tally.counts[:, 1::2]).astype(np.float64)
        rows = np.real(plane(2).transform(signed, mechanism.bits.bit_length() - 1))
        sums = _gathered(rows, columns_of(labels, mechanism.cohorts, mechanism.bits))
        return of_all(tally, (tally.total + sums) / 2)

    def loads(self, mechanism: HadamardCountMeanSketch, tally: Tally) -> tuple[Floats, float]:
        counts, gap = tally.counts.astype(np.float64), float(2 * mechanism.inside - 1)
        signed = (counts[:, 0::2] - counts[:, 1::2]) / gap
        rows = np.real(plane(2).transform(signed, mechanism.bits.bit_length() - 1))
        return rows, tally.total * mechanism.bits / gap**2


class _Buckets(Decoder[ProjectiveBuckets]):
    """Fits listed strings to their buckets; in a sketch with levels, from the reports of whole strings."""

    fits: ClassVar[bool] = True

    def support(self, mechanism: ProjectiveBuckets, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return the reports of whole strings that support the bucket of each label, over all rows."""
        cohorts, supporting = whole_rows(mechanism), np.zeros(len(labels))
        for counts, places in zip(tally.counts[cohorts], marks_in(mechanism, labels), strict=True):
            supporting += supports(mechanism, counts)[places]
        trials = int(tally.reports[cohorts].sum())
        return Support(np.rint(supporting).astype(np.int64), np.full(len(labels), trials))

    def fit(self, mechanism: ProjectiveBuckets, labels: tuple[str, ...], tally: Tally, confidence: float) -> Fit:
        return look_up(mechanism, labels, tally, confidence)

    def cost(self, mechanism: ProjectiveBuckets, values: int) -> int:
        """Count the transforms, and the look-ups with their hashes."""
        return mechanism.rows * mechanism.cells // _TRANSFORMED + values // _LOOKED_UP


class _Regression(Decoder[Rappor]):
    fits: ClassVar[bool] = True

    def support(self, mechanism: Rappor, tally: Tally, labels: tuple[str, ...]) -> Support:
        raise NotImplementedError(f"{mechanism.name} has no support counts; its values are estimated by a fit")

    def fit(self, mechanism: Rappor, labels: tuple[str, ...], tally: Tally, confidence: float) -> Fit:
        return rappor.regress(mechanism, labels, tally, confidence)

    def cost(self, mechanism: Rappor, values: int) -> int:
        return _FIT + _STRING * values


DECODERS: dict[type[Mechanism], Decoder[Any]] = {
    HadamardResponse: _Halves(),
    ProjectiveGeometry: _Hyperplanes(),
    LocalHashing: _LinearHashes(),
    BitFlip: _BitWindows(),
    SetResponse: _PatternWindows(),
    PrivSet: _ListedSets(),
    CountMeanSketch: _BitColumns(),
    HadamardCountMeanSketch: _SignedColumns(),
    ProjectiveSketch: _Buckets(),
    PrefixSketch: _Buckets(),
    Rappor: _Regression(),
}
"""Decoders of the families whose supports are not simply gathered; other packages may add theirs."""

_GATHERING: Decoder[Any] = Decoder()


def decoder_of(mechanism: Mechanism) -> Decoder[Any]:
    """Return the decoder of a mechanism's class or of its nearest base class that has one."""
    return next((DECODERS[family] for family in type(mechanism).__mro__ if family in DECODERS), _GATHERING)


def support(mechanism: Mechanism, tally: Tally, labels: tuple[str, ...]) -> Support:
    """Return the support of every value of a listed domain, or of ``labels`` of an open one.

    The work depends on the size of the tally and not on the number of reports.
    """
    return decoder_of(mechanism).support(mechanism, tally, labels)


def _gathered(table: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    """Return the sum over cohorts of each label's column, in a loop: all look-ups at once would take gigabytes."""
    sums = np.zeros(columns.shape[1], dtype=table.dtype)
    for row, places in zip(table, columns, strict=True):
        sums += row[places]
    return sums
