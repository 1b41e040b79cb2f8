"""The law of the dithered response, and the estimates that follow from it for a tally.

A point v = 0..steps·phases is mapped in phase c, which is public and uniform, to the cell (v + c) // phases; randomized
response then reports this cell or another.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import scipy
from numpy.lib.stride_tricks import sliding_window_view

from dither_shared import DitheredResponse, ParameterError

from ...tally.arrays import Counts, Floats
from ...tally.tally import Tally
from .law import Cuts, ReportScores, Solver


def poisson_binomial_level(alpha: float) -> float:
    """Return the level of an exact binomial bound that holds with 1 - ``alpha`` for trials of unequal chances, too.

    Let S be the successes in N independent trials of mean chance s. The bound of Clopper and Pearson (1934) is below s
    only where P[Bin(N, s) <= S] is below the level. Hoeffding (1956, theorem 4): such a tail of S is no more likely
    than the binomial one, up to N s - 1. Beyond that the binomial tail exceeds 1/4 (Greenberg and Mohri 2014), so no
    level up to 1/4 reaches it, except for S = N - 1: there the bound is (1 - level)^(1/N), and a miss has a chance of
    at most N (1 - s) <= -ln(1 - level). That is ``alpha`` for the level 1 - e^-alpha.
    """
    return -math.expm1(-alpha)


def upper_bounds(successes: Floats, trials: Floats, alpha: float) -> Floats:
    """Return the upper bounds of Clopper and Pearson that miss with at most ``alpha``; 1 where there is no failure.

    The lower bound is 1 minus the upper bound for the failures.
    """
    failures = trials - successes
    return np.where(failures > 0, 1 - scipy.special.betaincinv(failures, successes + 1, alpha), 1.0)


def approximate_upper_bounds(successes: Floats, trials: Floats, alpha: float) -> Floats:
    """Return approximate upper bounds by Wilson's interval (1927) with a continuity correction; 1 without trials."""
    z, trials = float(scipy.special.ndtri(1 - alpha)), np.maximum(trials, 1.0)
    successes = np.minimum(successes + 0.5, trials)
    half = z * np.sqrt(successes * (trials - successes) / trials + z**2 / 4)
    return np.asarray((successes + z**2 / 2 + half) / (trials + z**2))


WIDTHS = (1, 2, 4, 8, 16)
"""Window widths: numbers of neighbouring cuts that are pooled."""

_NARROW, _ENOUGH = 4, 10_000
"""The minimum width of a window, and the average number of reports in its phases that allows a narrower one.

A cut uses the reports of one phase, and forgers choose their phase: 150 forged reports among the 1,500 of a phase
would move its share far.
"""


def widths_of(reports: int, phases: int) -> list[int]:
    """Return the widths of windows for a number of ``reports``; they depend on no answer, so the bounds hold."""
    fitting = [width for width in WIDTHS if width <= phases]
    robust = [width for width in fitting if width >= _NARROW or width * reports >= _ENOUGH * phases]
    return robust or fitting[-1:]


class Pooling(NamedTuple):
    """The law of the supports of cuts, with one entry per cut.

    A report is below a cut with probability ``base`` + ``gap`` F, where F is the share of answers below the cut. All
    reports of a device in the cut's phase share the permanent cell or, without one, the answer; it is below the cut
    with probability ``shared_base`` + ``shared_gap`` F. ``repeats`` is the design effect of all reports, and ``each``
    the share of a device's other reports that are in a given phase, or None if all of them are in the same phase.
    """

    base: Floats
    gap: float
    shared_base: Floats
    shared_gap: float
    repeats: float
    each: float | None

    def opposite(self) -> "Pooling":
        """Return the law of the complements, the shares at or above each cut, counted from the other end."""
        return self._replace(
            base=1 - self.gap - self.base[::-1], shared_base=1 - self.shared_gap - self.shared_base[::-1]
        )

    def variance(self, share: Floats, width: Floats | int) -> Floats:
        """Return the variance of one report's estimate of a share, if ``width`` cuts are pooled.

        That includes its covariance with other reports of its device. Indicators of neighbouring cuts are monotone in
        the answer, and the variance of an indicator is concave in the share, so the share of all pooled reports bounds
        the shared part.
        """
        chance, common = self.base + self.gap * share, self.shared_base + self.shared_gap * share
        again = (self.repeats - 1) * (1.0 if self.each is None else self.each * width)
        return np.asarray(chance * (1 - chance) / self.gap**2 + again * common * (1 - common) / self.shared_gap**2)

    def effect(self, share: Floats, width: Floats) -> Floats:
        """Return the design effect of the pooled reports."""
        share = np.clip(share, 0, 1)
        alone = self._replace(repeats=1.0).variance(share, width)  # 0 of no reports
        return np.asarray(self.variance(share, width) / np.where(alone > 0, alone, np.inf) + (alone == 0))


def pooled_bounds(
    successes: Counts | Floats, trials: Counts | Floats, law: Pooling, widths: Sequence[int], alpha: float
) -> tuple[Floats, Floats]:
    """Return lower and upper bounds of each share, one entry per cut, that both hold with 1 - ``alpha``.

    ``successes[i]`` of ``trials[i]`` reports are below cut i. No report belongs to two cuts within a row of the
    greatest of ``widths``.

    F is non-decreasing. So the mean of F over cuts i, i+1, …, weighted by trials, is at least F(i), and its upper bound
    is also one of F(i); the lower bound of cuts up to i likewise. Each width gets α/2 divided by the number of widths,
    so the bounds of all widths hold together, and the tightest is used. A window ends at the last cut.

    If people report repeatedly, a bound is computed for the number of independent reports that have the same variance,
    the larger of the variances at the estimate and at the bound itself.
    """
    above = _upper(successes, trials, law, widths, alpha / 2)
    opposite = _upper((trials - successes)[::-1], trials[::-1], law.opposite(), widths, alpha / 2)
    below = 1 - opposite[::-1]  # bounds cross only if one misses: swap them
    return np.clip(np.minimum(below, above), 0, 1), np.clip(np.maximum(below, above), 0, 1)


def _upper(
    successes: Counts | Floats, trials: Counts | Floats, law: Pooling, widths: Sequence[int], alpha: float
) -> Floats:
    """Return an upper bound of each share, which is at least 1 without reports.

    The tightest window is selected by Wilson's interval, and the exact bound is computed for it alone.
    """
    first = np.arange(len(trials))
    pooling = np.array(widths)[:, np.newaxis]
    last = np.minimum(first + pooling, len(trials))
    seen, covering, based, common = (
        (total := np.append(0.0, np.cumsum(column)))[last] - total[first]
        for column in (successes, trials, law.base * trials, law.shared_base * trials)
    )
    each, some = poisson_binomial_level(alpha / len(widths)), np.maximum(covering, 1)
    pooled = law._replace(base=based / some, shared_base=common / some)
    effect = pooled.effect((seen / some - pooled.base) / law.gap, pooling)
    judged = (approximate_upper_bounds(seen / effect, covering / effect, each) - pooled.base) / law.gap
    best = np.where(covering > 0, judged, np.inf).argmin(axis=0), first
    seen, covering, effect, width = seen[best], covering[best], effect[best], pooling[best[0], 0]
    pooled = law._replace(base=pooled.base[best], shared_base=pooled.shared_base[best])
    for _ in range(_PASSES):
        bound = (upper_bounds(seen / effect, covering / effect, each) - pooled.base) / law.gap
        effect = np.maximum(effect, pooled.effect(bound, width))
    return np.asarray(bound)


_PASSES = 2
"""Number of passes that compute a bound: with the design effect at the estimate, then with that at the bound."""


@dataclass(frozen=True)
class Dithered:
    """The law with d = ``phases`` and m = ``steps``; a cell is reported with p, and each other cell with q.

    With a permanent draw, p and q are those of the whole chain, and ``permanent`` is the law of that draw. Raises
    ParameterError unless p > q and p + m q = 1.
    """

    phases: int
    steps: int
    p: Fraction
    q: Fraction
    permanent: Self | None = None

    def __post_init__(self) -> None:
        if self.phases < 1 or self.steps < 1:
            raise ParameterError("phases", f"{self.phases} phases of {self.steps} steps; each must be at least 1")
        if not 0 < self.q < self.p or self.p + self.steps * self.q != 1:
            raise ParameterError("p", f"{self.p} and {self.steps} times {self.q} must add up to 1, with p above q")

    @classmethod
    def of(cls, mechanism: DitheredResponse) -> Self:
        """Return the law of a mechanism."""
        stage = mechanism.permanent_stage
        permanent = None if stage is None else cls.of(stage)
        return cls(mechanism.cohorts, mechanism.cells - 1, mechanism.a, mechanism.b, permanent)

    @property
    def points(self) -> int:
        """The number of points of the grid: m d + 1."""
        return self.steps * self.phases + 1

    @cached_property
    def gap(self) -> float:
        """Return p - q, the share of reports that state the true cell; the others are uniform."""
        return float(self.p - self.q)

    @cached_property
    def score_table(self) -> Floats:
        """The score of each report, shape (phases, cells).

        ((s - m/2)/(p-q) + m/2 + ((d-1)/2 - c)/d)/m in phase c, because Σ_c (v + c) // d = v.
        """
        m, d = self.steps, self.phases
        dither = ((d - 1) / 2 - np.arange(d)) / d
        return np.asarray(((np.arange(m + 1) - m / 2) / self.gap + m / 2 + dither[:, np.newaxis]) / m)

    def scores(self, tally: Tally) -> ReportScores:
        """Return the scores of the reports of a tally."""
        return ReportScores(self.score_table, tally.counts)

    def variance(self, spread: float) -> float:
        """Return the noise variance of the score of an answer, given the mean over phases of (cell - m/2)²."""
        m, d, gap = self.steps, self.phases, self.gap
        response = (1 - gap) / gap * (spread + m * (m + 2) / (12 * gap))
        return (response + (d * d - 1) / (12 * d * d)) / m**2

    def noise_variance(self, tally: Tally) -> float:
        """Return the noise variance of a score, averaged over those who reported.

        It is linear in the mean of (cell - m/2)², which is estimated without bias and then kept in [0, m²/4].
        """
        return self.variance(self._spread(tally))

    def _spread(self, tally: Tally) -> float:
        """Return the mean of (cell - m/2)² over those who reported; NaN without reports."""
        if not tally.total:
            return float("nan")
        m = self.steps
        seen = float(((np.arange(m + 1) - m / 2) ** 2 @ tally.counts.sum(axis=0)) / tally.total)
        spread = (seen - (1 - self.gap) * m * (m + 2) / 12) / self.gap
        return min(max(spread, 0.0), m * m / 4)

    def least_noise_variance(self, tally: Tally) -> float:
        """Return ``noise_variance``, because its estimate is unbiased."""
        return self.noise_variance(tally)

    def permanent_variance(self, tally: Tally) -> float:
        """Return the noise variance of the score of a device's permanent cell, the expectation over its reports."""
        return 0.0 if self.permanent is None else self.permanent.variance(self._spread(tally))

    @property
    def worst_variance(self) -> float:
        """The largest noise variance of a score, reached at the ends of the range."""
        return self.variance(self.steps**2 / 4)

    def cuts(self, tally: Tally, confidence: float) -> Cuts:
        """Return the shares below all points.

        Cut i uses the cells below j = ⌈i/d⌉ in phase c = j d - i alone: F(i) = (C/n_c - q j)/(p-q), where C of the n_c
        reports are in those cells.
        """
        d, q, gap = self.phases, float(self.q), self.gap
        cells, phase = self.cells_of_cuts
        trials = tally.reports[phase]
        successes = np.cumsum(tally.counts, axis=1)[phase, cells - 1]
        with np.errstate(invalid="ignore", divide="ignore"):
            frequency = (successes / trials - q * cells) / gap
            share = np.clip(frequency, 0, 1)
            law = self.pooling(np.asarray(cells, dtype=np.float64), tally.repeats.effect)
            error = np.sqrt(law.variance(share, 1) / trials)
            people = share * (1 - share) * tally.repeats.effect / max(tally.total, 1)
            noise = np.sqrt(np.maximum(error**2 - people, 0))
        low, high = pooled_bounds(successes, trials, law, widths_of(tally.total, d), 1 - confidence)
        repeated = (tally.repeats.effect - 1) / max(tally.total, 1) if self.permanent is None else 0.0
        return Cuts.between(frequency, noise, error, low, high, repeated)

    @property
    def cells_of_cuts(self) -> tuple[Counts, Counts]:
        """How many cells count for cut 1, 2, …, and in which phase."""
        cut = np.arange(1, self.points)
        cells = -(-cut // self.phases)
        return cells, cells * self.phases - cut

    def pooling(self, cells: Floats, repeats: float) -> "Pooling":
        """Return the law of the supports of cuts, ``cells`` of which count."""
        base, gap, stage = float(self.q) * cells, self.gap, self.permanent
        if stage is None:
            return Pooling(base, gap, np.zeros(len(base)), 1.0, repeats, 1 / self.phases)
        return Pooling(base, gap, float(stage.q) * cells, stage.gap, repeats, None)

    def cell_shares(self, tally: Tally) -> Floats:
        """Return the share of all reports at each position s d + d-1 - c: point v has the positions v..v+d-1."""
        return np.asarray(tally.counts[::-1].T.ravel() / max(tally.total, 1))

    @property
    def cost(self) -> int:
        """The cost of one estimate: about ten factorizations of a band matrix."""
        return 300 + self.points + self.points * self.phases // 64

    @property
    def floor(self) -> float:
        """The least probability of any cell, given the phase and the answer."""
        return float(self.q)

    def spread(self, curve: Floats) -> Floats:
        """Return p - q times the share of the curve at the points that each position reports truthfully."""
        total, d = np.cumsum(curve), self.phases
        padded = np.concatenate([np.zeros(d), total, np.full(d - 1, total[-1])])
        return np.asarray(self.gap * (padded[d:] - padded[:-d]))

    def gathered(self, cells: Floats) -> Floats:
        """Return p - q times the sum of ``cells`` over the positions that report each point truthfully."""
        total = np.append(0.0, np.cumsum(cells))
        return np.asarray(self.gap * (total[self.phases :] - total[: -self.phases]))

    def solver(self, cells: Floats, points: Floats) -> Solver:
        """Factor the matrix, whose entries are 0 but between points that share positions: |v - w| < d."""
        total = self.gap**2 * np.append(0.0, np.cumsum(cells))
        d, k = self.phases, self.points
        padded = np.append(total, np.full(d, total[-1]))
        band = np.empty((d, k), order="F")  # the memory layout of LAPACK
        np.subtract(padded[d : d + k], sliding_window_view(padded, k)[:d], out=band)
        band[0] += points
        factor = scipy.linalg.cholesky_banded(band, overwrite_ab=True, lower=True, check_finite=False)
        return lambda right: np.asarray(scipy.linalg.cho_solve_banded((factor, True), right, check_finite=False))
