"""``dither-sim error --type number``: errors of means, distributions and quantiles, and what theory expects of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from scipy import optimize, sparse

from dither_server.estimation.numeric.dithered import Dithered
from dither_server.estimation.numeric.estimate import NumericEstimate, Quantile, estimate_number
from dither_server.estimation.numeric.tabulated import law_of
from dither_shared import DitheredResponse, ParameterError
from dither_shared.mechanisms.numeric import NumericMechanism

from ...choices import Law
from ...mechanism_by_name import NUMERIC, named_numeric
from ...plots import Curve
from ...samplers.devices import drawn_tally
from ...sweeps import Row
from ...tables import EPSILON, INTERVALS, SQUARED_ERROR, parameter, value
from ...users.populations import Floats, numbered
from .accuracy import Accuracy, Cell


def run_number_trial(
    mechanism: NumericMechanism,
    shares: Floats,
    users: int,
    seed: np.random.SeedSequence,
    *,
    law: Law = "joint",
    confidence: float = 0.95,
    quantiles: Sequence[float] = (0.5, 0.95),
) -> list[Row]:
    """Return the errors of the mean, the distribution and each quantile, relative to the population.

    ``shares`` are those of the points of the mechanism's grid, in the population from which ``users`` are drawn.

    ============  ===============  =======================  =====================
    ..            mean             distribution             quantile
    ============  ===============  =======================  =====================
    ``mse``       squared error    that of a raw share      squared error
    ``error``     distance         Wasserstein-1 distance   distance
    ``rank``      None             worst share below        distance in share
    ============  ===============  =======================  =====================

    All but ranks are in parts of the range. A raw share is the unbiased share below a point, and ``mse`` is averaged
    over points (None if there are none); everything else is from the curve. The Wasserstein-1 distance is the mean of
    |error of the share below| over the range. The rank error of a quantile for share t is the distance of t from the
    interval between the shares below its point and up to it, 0 if it is inside. ``coverage`` is whether the interval
    contained the truth, or the share of points for which it did; ``width`` is that of the intervals, for the
    distribution those of shares.

    The result depends only on the arguments.
    """
    tally = drawn_tally(mechanism, numbered(len(shares)), shares, users, law, seed)
    estimate = estimate_number(law_of(mechanism), tally, confidence)
    ranked = _ranked(estimate.quantiles(quantiles), shares)
    return [_mean(estimate, shares), _distribution(estimate, shares), *ranked]


def mean_in(shares: Floats) -> float:
    """Return the mean of a population, in parts of the range."""
    return float(np.arange(len(shares)) @ shares / (len(shares) - 1))


def below(shares: Floats) -> Floats:
    """Return the share below each point, and below the place after the last: one entry more than there are points."""
    return np.append(0.0, np.cumsum(shares))


def _measures(mse: float | None, error: float, rank: float | None, coverage: float, width: float) -> Row:
    return {"mse": mse, "error": error, "rank": rank, "coverage": coverage, "width": width}


def _mean(estimate: NumericEstimate, shares: Floats) -> Row:
    truth, mean = mean_in(shares), estimate.mean
    error = mean.estimate - truth
    held = float(mean.low <= truth <= mean.high)
    return _measures(error**2, abs(error), None, held, mean.high - mean.low)


def _distribution(estimate: NumericEstimate, shares: Floats) -> Row:
    inner = slice(1, -1)  # nobody is below the first point, and everybody below the last place
    truth, cuts = below(shares)[inner], estimate.cuts
    raw = float(np.mean((cuts.frequency[inner] - truth) ** 2))
    away = np.abs(np.cumsum(estimate.fit.curve)[:-1] - truth)
    low, high = cuts.low[inner], cuts.high[inner]
    held = (low <= truth + _ROUNDED) & (truth <= high + _ROUNDED)
    return _measures(
        mse=raw if np.isfinite(raw) else None,
        error=float(away.mean()),
        rank=float(away.max()),
        coverage=float(held.mean()),
        width=float((high - low).mean()),
    )


_ROUNDED = 1e-12
"""Rounding error allowed in a sum of shares."""


def _ranked(quantiles: Sequence[Quantile], shares: Floats) -> list[Row]:
    total, last = below(shares), len(shares) - 1
    scores: list[Row] = []
    for quantile in quantiles:
        truth = min(int(np.searchsorted(total[1:], quantile.share - _ROUNDED)), last)
        away = abs(quantile.point - truth) / last
        rank = max(
            float(total[quantile.point] - quantile.share), float(quantile.share - total[quantile.point + 1]), 0.0
        )
        held = float(quantile.low <= truth <= quantile.high)
        scores.append(_measures(away**2, away, rank, held, (quantile.high - quantile.low) / last))
    return scores


_INPUTS, _OUTPUTS = 17, 65
"""Answers and scores of the linear programme: within 1% of the limit of many, in about a second."""


def expected_numbers(mechanism: NumericMechanism, shares: Floats, users: int, confidence: float) -> tuple[float, float]:
    """Return the squared error of the mean that theory expects of ``users`` drawn from a population, and its width.

    The squared error is (V + Var x)/n, V being the mean over people of the variance of the score.
    """
    mse = (float(shares @ _mean_variances(mechanism)) + spread_in(shares)) / users
    width = 2 * NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(mse)
    return mse, min(width, 1.0)


def least_mean_mse(epsilon: float, shares: Floats, users: int) -> float:
    """Return the least squared error that an unbiased mean of ``users`` drawn from a population can have."""
    return (least_variance(epsilon, shares) + spread_in(shares)) / users


def spread_in(shares: Floats) -> float:
    """Return the variance of the answers of a population, in squares of the range."""
    place = np.linspace(0, 1, len(shares))
    return float(shares @ (place - mean_in(shares)) ** 2)


def cut_mse(mechanism: NumericMechanism, shares: Floats, users: int) -> float | None:
    """Return the squared error of a raw share below a point, averaged over points; None if there is none.

    For the dithered response d σ(1-σ)/(λ² n) at cut i with σ = q j + λ F, where j = ⌈i/d⌉: only one phase covers it.
    """
    law = law_of(mechanism)
    if not isinstance(law, Dithered):
        return None
    cells = -(-np.arange(1, law.points) // law.phases)
    chance = float(law.q) * cells + law.gap * below(shares)[1:-1]
    return float(law.phases * np.mean(chance * (1 - chance)) / law.gap**2 / users)


@lru_cache(maxsize=32)
def _mean_variances(mechanism: NumericMechanism) -> Floats:
    return np.array([float(mechanism.mean_variance(point)) for point in range(mechanism.size)])


def least_variance(epsilon: float, shares: Floats) -> float:
    """Return the least noise variance of any unbiased ε-LDP score of a number, averaged over a population.

    Linear programming over all channels from 17 answers to 65 scores. ``shares`` of a finer grid are divided between
    the two nearest of the 17. Raises ParameterError if it has no solution, because ε is too extreme.
    """
    place = np.linspace(0, _INPUTS - 1, len(shares))
    first = np.minimum(place.astype(int), _INPUTS - 2)
    weights = np.zeros(_INPUTS)
    np.add.at(weights, first, shares * (first + 1 - place))
    np.add.at(weights, first + 1, shares * (place - first))
    return _least(epsilon, tuple(weights.tolist()))


@lru_cache(maxsize=256)
def _least(epsilon: float, weights: tuple[float, ...]) -> float:
    """Solve for P[score | answer] and the minimum m of each score's: m <= P <= e^ε m, P·1 = 1, P·score = x.

    Minimizes the mean of E score² - x² under ``weights``.
    """
    odds, (a, b) = math.exp(epsilon), (_INPUTS, _OUTPUTS)
    x, y = np.linspace(-0.5, 0.5, a), np.linspace(-1, 1, b) * _reach(epsilon)
    channel: Any = sparse.identity(a * b)
    answers: Any = sparse.identity(a)
    floor: Any = sparse.vstack([sparse.identity(b)] * a)
    sums: Any = sparse.vstack([sparse.kron(answers, row[np.newaxis]) for row in (np.ones(b), y)])
    inequalities: Any = sparse.vstack([sparse.hstack([channel, -odds * floor]), sparse.hstack([-channel, floor])])
    equalities: Any = sparse.hstack([sums, sparse.csr_matrix((2 * a, b))])
    solution = optimize.linprog(
        np.concatenate([np.kron(weights, y**2), np.zeros(b)]),
        A_ub=inequalities.tocsr(),
        b_ub=np.zeros(2 * a * b),
        A_eq=equalities.tocsr(),
        b_eq=np.concatenate([np.ones(a), x]),
        method="highs",
    )
    if solution.fun is None:
        raise ParameterError("epsilon", f"no minimum variance was found for {epsilon:g}: {solution.message}")
    return float(solution.fun) - float(np.asarray(weights) @ x**2)


def _reach(epsilon: float) -> float:
    """Return the maximum distance of scores from the middle: that of the dithered response for the mean."""
    mechanism = DitheredResponse.calibrate(None, epsilon, aim="mean")
    return mechanism.reach[1] - 0.5


_FINE = 129
"""Points of the grid on which the least possible error is computed, the same for every mechanism."""


@dataclass(frozen=True, kw_only=True)
class NumberAccuracy(Accuracy):
    """Every mechanism of numbers; a row is about the mean, the distribution, or a quantile such as p95.

    Users are drawn in each trial, and the truth is that of the population. ``points`` is the size of the grid.
    """

    quantiles: tuple[float, ...] = (0.5, 0.95)

    offered: ClassVar = NUMERIC
    usual_size: ClassVar = 0
    only_joint: ClassVar = "the points of a number are dependent"
    words: ClassVar = 2
    columns: ClassVar = (
        value("asked", "mechanism"),
        value("what", "of"),
        parameter("users", "n"),
        EPSILON,
        *SQUARED_ERROR,
        value("mse_bound", "bound", ".2e"),
        value("error", "error", ".2e"),
        value("rank", "rank", ".4f"),
        *INTERVALS,
    )
    curves: ClassVar = (
        Curve("mse", "MSE of the mean", takes=lambda row: row["what"] == "mean"),
        Curve("error", "Wasserstein-1 distance", takes=lambda row: row["what"] == "distribution"),
    )

    def mechanism(self, cell: Cell) -> NumericMechanism:
        """Return the mechanism of a cell."""
        return named_numeric(cell.asked, cell.epsilon, self.permanent_epsilon)

    def simulate(self, cell: Cell, seed: np.random.SeedSequence) -> Sequence[Row]:
        """Return the measures of one trial for the mean, the distribution and each quantile."""
        mechanism = self.mechanism(cell)
        return run_number_trial(
            mechanism,
            self.source.shares(mechanism.size),
            cell.users,
            seed,
            law=self.law_of(cell),
            confidence=self.confidence,
            quantiles=self.quantiles,
        )

    def extent(self, cell: Cell) -> Row:
        """Return the column of the cell: the number of points of the grid."""
        return {"points": self.mechanism(cell).size}

    def theory(self, cell: Cell) -> Sequence[Row]:
        """Return rows for mean, distribution and quantiles. Theory covers all of the mean, and nothing of quantiles."""
        mechanism = self.mechanism(cell)
        shares = self.source.shares(mechanism.size)
        mse, width = expected_numbers(mechanism, shares, cell.users, self.confidence)
        bound = least_mean_mse(cell.epsilon, self.source.shares(_FINE), cell.users)
        mean = {"mse_theory": mse, "mse_bound": bound, "width_theory": width}
        nothing: Row = dict.fromkeys(mean)
        return [
            {"what": "mean", **mean},
            {"what": "distribution", **nothing, "mse_theory": cut_mse(mechanism, shares, cell.users)},
            *({"what": f"p{100 * share:g}", **nothing} for share in self.quantiles),
        ]

    def notes(self, rows: Sequence[Row]) -> Sequence[str]:
        """Return the units of the columns."""
        return (
            "",
            "In parts of the range, except ranks, which are shares. For a distribution, MSE and width are those of the",
            "share below a point, error is the Wasserstein-1 distance, and rank is the worst error of such a share.",
        )

    def fixed(self, rows: Sequence[Row]) -> list[str]:
        """Return an empty list, because a question for a number has no size to show in a title."""
        return []
