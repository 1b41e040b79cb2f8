"""The law of reports about a number, and what is estimated by it: shares below points, and the most likely curve.

The curve over the points of a grid is computed by an interior-point method. Expectation maximisation converges to the
same curve, but too slowly: after 3,000 accelerated steps its log-likelihood may still be a hundred units below the
maximum, and a curve that stops early is smoother than the data imply. Newton's method takes 6 to 25 steps (Koenker and
Mizera 2014 for mixtures).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np

from dither_shared import ParameterError

from ...tally.arrays import Counts, Floats
from ...tally.tally import Tally


class Share(NamedTuple):
    """A share of all people: the unbiased estimate with its errors and interval, and the share by the curve."""

    frequency: float
    noise_error: float
    standard_error: float
    low: float
    high: float
    consistent: float


@dataclass(frozen=True)
class Cuts:
    """The shares F(i) of answers rounded to a point below i, for i = 0..points: each array has points + 1 entries.

    - ``frequency``: raw and unbiased, so it may decrease, or lie outside [0, 1]; NaN without reports about it;
    - ``noise_error``: its standard error from the noise alone; ``standard_error``: from noise and sampling;
    - ``low``, ``high``: an interval for the population, in [0, 1]. Each holds by itself, not all together. It pools
      many cuts, whereas ``frequency`` uses one, so it need not contain ``frequency``.

    F(0) = 0 and F(points) = 1 are known. ``repeated`` times F (1-F) is the covariance of the estimates of neighbouring
    cuts, through people whose repeated reports are in both.
    """

    frequency: Floats
    noise_error: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    repeated: float

    @classmethod
    def between(
        cls,
        frequency: Floats,
        noise_error: Floats,
        standard_error: Floats,
        low: Floats,
        high: Floats,
        repeated: float = 0.0,
    ) -> Self:
        """Return all cuts, given those except the first and the last, which are known."""
        ends = (1.0, 0.0, 0.0, 1.0, 1.0)
        columns = (frequency, noise_error, standard_error, low, high)
        frequency, noise_error, standard_error, low, high = (
            np.concatenate([[0.0], column, [end]]) for column, end in zip(columns, ends, strict=True)
        )
        return cls(frequency, noise_error, standard_error, low, high, repeated)

    @property
    def points(self) -> int:
        """The number of points of the grid."""
        return len(self.frequency) - 1

    def drawn(self) -> tuple[Floats, Floats]:
        """Return the ends made monotone for a plot; intervals only become wider, so each still holds by itself."""
        return np.minimum.accumulate(self.low[::-1])[::-1], np.maximum.accumulate(self.high)

    def below(self, place: float, curve: Floats) -> Share:
        """Return the share of answers below ``place``, a real number of grid steps from the lowest point.

        An answer is rounded at random to one of the two nearest points, so F(i) is the average of the shares below the
        places from i - 1 to i. The estimate takes it for the share below i - 1/2 and interpolates linearly. The
        interval assumes neither: the share below point i is at least F(i) and at most F(i + 1). ``curve`` is the
        consistent curve. Raises ParameterError if ``place`` is not within the grid.
        """
        last = self.points - 1
        if not 0 <= place <= last:  # NaN compares false
            raise ParameterError("place", f"{place!r} is not in the grid, from 0 to {last}")
        cut = math.floor(place + 0.5)
        part = place + 0.5 - cut
        after = cut + (part > 0)
        weights = np.array([1 - part, part])
        total = np.append(0.0, np.cumsum(curve))
        both = np.array([cut, after])
        frequency, variance = float(weights @ self.frequency[both]), weights**2 @ self.standard_error[both] ** 2
        held = float(np.clip(frequency, 0, 1))
        variance += 2 * part * (1 - part) * self.repeated * held * (1 - held)
        return Share(
            frequency,
            float(np.hypot(*(weights * self.noise_error[both]))),
            math.sqrt(variance),
            float(self.low[math.floor(place)]),
            float(self.high[math.ceil(place) + 1]),
            min(float(weights @ total[both]), 1.0),
        )


_SHORT = 1e-3
"""Tolerance on the log-likelihood of all reports, in natural units."""

_ROUNDED = 1e-12
"""Tolerance on the log-likelihood per report, used if rounding hides any smaller difference."""

_STEPS = 50
"""Maximum steps; 6 to 25 are usual."""

_INSIDE = 0.995
"""Fraction of the distance to the boundary, where a share would be 0, that one step may go."""


Solver = Callable[[Floats], Floats]
"""Solves linear equations with one positive definite matrix, for each column of the right-hand side."""


@dataclass(frozen=True)
class LikelihoodFit:
    """A curve: shares of the points, none negative, of sum 1.

    ``short`` bounds how far its log-likelihood, of all reports in natural units, is below the maximum.
    """

    curve: Floats
    short: float


@dataclass(frozen=True)
class _State:
    """Shares of the points, and the multipliers of the constraints that they are non-negative and sum to 1."""

    curve: Floats
    slack: Floats
    price: float

    def plus(self, move: "_State") -> tuple[float, "_State"]:
        """Return the largest part of ``move`` that keeps shares and multipliers positive, and the state after it."""
        part = min(_room(self.curve, move.curve), _room(self.slack, move.slack))
        return part, _State(
            self.curve + part * move.curve, self.slack + part * move.slack, self.price + part * move.price
        )


def maximum_likelihood(law: "NumericLaw", shares: Floats, reports: int) -> LikelihoodFit:
    """Return the most likely curve given the share of the reports in each cell; the uniform one without reports.

    The method takes primal-dual steps with Mehrotra's correction (1992), of equal length for shares and multipliers. It
    stops when the largest directional derivative proves that no curve has a log-likelihood more than 0.001 units higher
    (Lindsay 1983), far below the statistical error for any number of reports. If rounding prevents this, the best curve
    so far is returned, with a larger ``short``.
    """
    curve = np.full(law.points, 1 / law.points)
    best = LikelihoodFit(curve, float("inf") if reports else 0.0)
    enough = max(_SHORT, _ROUNDED * reports)
    state: _State | None = None
    for _ in range(_STEPS):
        ratio, chances = _ratios(law, curve, shares)
        pull = law.gathered(ratio)
        short = float(reports * (pull.max() + law.floor * ratio.sum() - 1))
        if short < best.short:
            best = LikelihoodFit(curve, max(short, 0.0))
        if best.short <= enough:
            break
        try:
            state = _step(law, state or _start(curve, pull), pull, ratio / chances)
        except np.linalg.LinAlgError:  # rounding allows no further step
            break
        curve = state.curve / state.curve.sum()
    return best


def _start(curve: Floats, pull: Floats) -> _State:
    """Return a state with multipliers that match its curve."""
    price = 1.1 * float(pull.max()) + 0.1
    return _State(curve, price - pull, price)


def _ratios(law: "NumericLaw", curve: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return the observed share of each cell divided by its expected share, and the expected share."""
    chances = law.floor + law.spread(curve)
    return np.divide(shares, chances, out=np.zeros(len(shares)), where=shares > 0), np.maximum(chances, 1e-300)


def _step(law: "NumericLaw", state: _State, pull: Floats, curvature: Floats) -> _State:
    """Return the state after a predictor step and its correction, weighted by the possible length of the predictor.

    The weight follows Colombo and Gondzio (2008): with few reports, the full correction may never converge.
    """
    curve, slack = state.curve, state.slack
    solve = law.solver(curvature, slack / curve)
    lean, excess = state.price - pull - slack, float(curve.sum()) - 1
    unit = solve(np.ones(len(curve)))

    def move(product: Floats) -> _State:
        free = solve(-lean - product / curve)
        price = (float(free.sum()) + excess) / float(unit.sum())
        change = free - price * unit
        return _State(change, -(product + slack * change) / curve, price)

    mean = float(curve @ slack) / len(curve)
    first = move(curve * slack)
    part, tried = state.plus(first)
    centre = (float(tried.curve @ tried.slack) / len(curve) / mean) ** 3 * mean
    return state.plus(move(curve * slack + part * first.curve * first.slack - centre))[1]


def _room(positive: Floats, change: Floats) -> float:
    """Return the largest fraction of a change, at most 1, that keeps everything positive."""
    falls = change < 0
    return min(1.0, _INSIDE * float((positive[falls] / -change[falls]).min())) if falls.any() else 1.0


@dataclass(frozen=True)
class ReportScores:
    """Scores of reports: the expectation of a score is the answer, in parts of the range.

    ``values`` holds the score of each possible report, and ``counts`` the number of such reports, in the same shape.
    """

    values: Floats
    counts: Counts

    @property
    def mean(self) -> float:
        """The average score; NaN without reports."""
        total = int(self.counts.sum())
        return float((self.values * self.counts).sum() / total) if total else float("nan")

    @property
    def squares(self) -> float:
        """The sum of squared deviations of the scores from their average."""
        return float((self.counts * (self.values - self.mean) ** 2).sum())

    @property
    def variance(self) -> float:
        """The sample variance of a score; NaN for fewer than two reports."""
        total = int(self.counts.sum())
        return self.squares / (total - 1) if total > 1 else float("nan")


class NumericLaw(Protocol):
    """The law of reports about an answer on a grid: the probability of a cell is floor + slope[cell, point]."""

    @property
    def points(self) -> int:
        """The number of points of the grid."""

    @property
    def floor(self) -> float:
        """The part of a cell's probability that is the same for every point."""

    def spread(self, curve: Floats) -> Floats:
        """Return slope @ curve, one entry per cell, for a curve that sums to 1."""

    def gathered(self, cells: Floats) -> Floats:
        """Return slope.T @ cells, one entry per point."""

    def solver(self, cells: Floats, points: Floats) -> Solver:
        """Return a solver for the matrix slope.T @ diag(cells) @ slope + diag(points)."""

    def scores(self, tally: Tally) -> ReportScores:
        """Return the scores of the reports of a tally."""

    def noise_variance(self, tally: Tally) -> float:
        """Return an estimate of the variance of one score from the noise alone, averaged over those who reported."""

    def least_noise_variance(self, tally: Tally) -> float:
        """Return ``noise_variance``, or a lower bound of it if it has no unbiased estimate."""

    def permanent_variance(self, tally: Tally) -> float:
        """Return the part of ``noise_variance`` that all reports of one device share; 0 without a permanent draw."""

    @property
    def worst_variance(self) -> float:
        """The variance of one score from the noise alone, for the answer with the largest one."""

    def cuts(self, tally: Tally, confidence: float) -> Cuts:
        """Return the shares below all points, with intervals that each hold with ``confidence``."""

    def cell_shares(self, tally: Tally) -> Floats:
        """Return the share of all reports in each cell."""

    @property
    def cost(self) -> int:
        """The cost of one estimate, in values of about 15 microseconds each (measured, right to a factor of two)."""
