"""The curve of greatest likelihood over the points of a grid, by an interior-point method.

Expectation maximisation reaches the same curve, but too slowly to stop it honestly: after 3,000 accelerated steps it
may still be a hundred units of log-likelihood short, and a curve that stops early is smoother than the data say.
Newton steps take 6 to 25 (Koenker and Mizera 2014 for mixtures).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...tally.arrays import Counts, Floats
from ...tally.tally import Tally
from .cuts import Cuts

_SHORT = 1e-3
"""Natural units of log-likelihood, of all reports, by which the curve may be short of the greatest."""

_ROUNDED = 1e-12
"""The same per report, used where rounding hides any smaller difference."""

_STEPS = 50
"""Maximum steps; 6 to 25 are usual."""

_INSIDE = 0.995
"""The part of the way to the edge, where a share would be 0, that one step may go."""


class Solver(Protocol):
    """Solves linear equations with one positive definite matrix."""

    def __call__(self, right: Floats) -> Floats:
        """Return the solutions; one a column of ``right``."""


class Channel(Protocol):
    """Chances of cells, given the point: floor + slope[cell, point], of a curve that sums to 1."""

    @property
    def points(self) -> int:
        """How many points a curve has."""

    @property
    def floor(self) -> float:
        """The chance that a cell has of every point."""

    def spread(self, curve: Floats) -> Floats:
        """Return slope @ curve: of each cell."""

    def gathered(self, cells: Floats) -> Floats:
        """Return slope.T @ cells: of each point."""

    def solver(self, cells: Floats, points: Floats) -> Solver:
        """Return how to solve with the matrix slope.T @ diag(cells) @ slope + diag(points)."""


@dataclass(frozen=True)
class LikelihoodFit:
    """A curve: shares of the points, none negative, of sum 1.

    ``short`` is a bound, in natural units for all reports together, on how much more likely another curve makes them.
    """

    curve: Floats
    short: float


@dataclass(frozen=True)
class _State:
    """Shares of the points, and the multipliers of their being no less than 0 and of their sum's being 1."""

    curve: Floats
    slack: Floats
    price: float

    def plus(self, move: "_State") -> tuple[float, "_State"]:
        """Return how much of a move leaves all shares and their multipliers positive, and the state after that."""
        part = min(_room(self.curve, move.curve), _room(self.slack, move.slack))
        return part, _State(
            self.curve + part * move.curve, self.slack + part * move.slack, self.price + part * move.price
        )


def maximum_likelihood(channel: Channel, shares: Floats, reports: int) -> LikelihoodFit:
    """Return the most likely curve given the share of the reports in each cell; the even one of no reports.

    Primal-dual steps with Mehrotra's correction (1992), of one length for shares and multipliers. They end when the
    steepest point proves that no curve is more than 0.001 units more likely (Lindsay 1983): far below the errors of the
    reports, however many. Should rounding forbid that, the best curve so far is returned, and ``short`` says so.
    """
    curve = np.full(channel.points, 1 / channel.points)
    best = LikelihoodFit(curve, float("inf") if reports else 0.0)
    enough = max(_SHORT, _ROUNDED * reports)
    state: _State | None = None
    for _ in range(_STEPS if reports else 0):
        ratio, chances = _ratios(channel, curve, shares)
        pull = channel.gathered(ratio)
        short = float(reports * (pull.max() + channel.floor * ratio.sum() - 1))
        if short < best.short:
            best = LikelihoodFit(curve, max(short, 0.0))
        if best.short <= enough:
            break
        try:
            state = _step(channel, state or _start(curve, pull), pull, ratio / chances)
        except np.linalg.LinAlgError:  # rounding has left no step
            break
        curve = state.curve / state.curve.sum()
    return best


def _start(curve: Floats, pull: Floats) -> _State:
    """Return a state whose multipliers fit its curve."""
    price = 1.1 * float(pull.max()) + 0.1
    return _State(curve, price - pull, price)


def _ratios(channel: Channel, curve: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return what cells have over what the curve expects, and what it expects."""
    chances = channel.floor + channel.spread(curve)
    return np.divide(shares, chances, out=np.zeros(len(shares)), where=shares > 0), np.maximum(chances, 1e-300)


def _step(channel: Channel, state: _State, pull: Floats, curvature: Floats) -> _State:
    """Return the state after one predictor and its correction, which counts as much as of the predictor was possible.

    (Colombo and Gondzio 2008. In full it now and then leads a few reports away from the answer for ever.)
    """
    curve, slack = state.curve, state.slack
    solve = channel.solver(curvature, slack / curve)
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
    """Return the part of a change, at most 1, that leaves everything positive."""
    falls = change < 0
    return min(1.0, _INSIDE * float((positive[falls] / -change[falls]).min())) if falls.any() else 1.0


@dataclass(frozen=True)
class ReportScores:
    """Scores of reports, whose expectation is the answer in parts of the range, whatever the answer.

    ``values``: the score of each report that there can be; ``counts``: how many were of it, in the same shape.
    """

    values: Floats
    counts: Counts

    @property
    def mean(self) -> float:
        """The average score; NaN of no reports."""
        total = int(self.counts.sum())
        return float((self.values * self.counts).sum() / total) if total else float("nan")

    @property
    def squares(self) -> float:
        """The sum of squares of the scores' distances from their average."""
        return float((self.counts * (self.values - self.mean) ** 2).sum())

    @property
    def variance(self) -> float:
        """The sample variance of one score; NaN of fewer than two reports."""
        total = int(self.counts.sum())
        return self.squares / (total - 1) if total > 1 else float("nan")


class NumericLaw(Channel, Protocol):
    """A law of reports over a grid of ``points`` answers."""

    def scores(self, tally: Tally) -> ReportScores:
        """Return the scores of the reports of a tally."""

    def noise_variance(self, tally: Tally) -> float:
        """Return the variance of one score from the noise alone, averaged over those who reported (estimated)."""

    def least_noise_variance(self, tally: Tally) -> float:
        """Return this variance, or a smaller number if it has no unbiased estimate."""

    def permanent_variance(self, tally: Tally) -> float:
        """Return the part of ``noise_variance`` that all reports of one device share; 0 without a permanent draw."""

    @property
    def worst_variance(self) -> float:
        """The variance of one score from the noise alone, for the answer where it is largest."""

    def cuts(self, tally: Tally, confidence: float) -> Cuts:
        """Return the shares below all points, with intervals that each hold with ``confidence``."""

    def cell_shares(self, tally: Tally) -> Floats:
        """Return the share of all reports in each cell of the channel."""

    @property
    def cost(self) -> int:
        """The cost of one estimate, in values of about 15 microseconds each (measured, right to a factor of two)."""
