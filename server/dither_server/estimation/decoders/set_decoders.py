"""Decoders of mechanisms whose reports cover several values: a window of neighbours, or a list of values and dummies.

Windows lie on a circle: cohort c covers the values c, c+1, …, c+s-1 modulo d. Bit i of window c is of value c+i, so
value v is bit i of the window that begins at v - i.
"""

from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from dither_shared import BitFlip, Mechanism, PrivSet, SetResponse

from ...tally.arrays import Counts, Floats, Indices
from ...tally.tally import Tally
from .decoder import Decoder, Pairs, Support, of_all

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
        for number in np.unique(group):
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
        share, seen, stage = np.clip(frequency, 0, 1), self.pairs(mechanism, tally), mechanism.permanent_stage
        trials = self.support(mechanism, tally, ()).trials.astype(np.float64)
        shared = _most_varied(share, seen) / tally.total if stage is None else _sum_variance(stage, share, seen, trials)
        return _sum_variance(mechanism, share, seen, trials) + (tally.repeats.effect - 1) * shared

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
    together = float(_both_bits(mechanism)[1]) + gap * seen.shares(share)
    first, second = seen.values.T
    covariance = (together - single[first] * single[second]) * seen.trials / (trials[first] * trials[second])
    return (total + 2 * float(covariance.sum())) / gap**2


def _most_varied(share: Floats, seen: Pairs) -> float:
    """Return the largest variance of a person's number of values, given the shares of values and ``seen`` pairs."""
    ascending = np.sort(share)
    together = float(ascending @ np.arange(len(share))[::-1])  # the share of the rarer value of each pair
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
        marked = np.clip((tally.counts[0, mechanism.size :] / tally.total - q) / (p - q), 0, 1)
        if mechanism.permanent_stage is None:  # of the number of marked dummies, of which a set marks the first ones
            shared = float((2 * np.arange(len(marked)) + 1) @ marked - marked.sum() ** 2)
        else:
            shared = _dummies_variance(marked, mechanism.permanent_stage)
        return (_dummies_variance(marked, mechanism) + (tally.repeats.effect - 1) * shared) / tally.total


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


SET_DECODERS: dict[type[Mechanism], Decoder[Any]] = {
    BitFlip: _BitWindows(),
    SetResponse: _PatternWindows(),
    PrivSet: _ListedSets(),
}
