"""Compute what theory expects of a trial of numbers, and the least variance of any unbiased mechanism."""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import optimize, sparse

from dither_server.estimation.numeric.dithered import Dithered
from dither_server.estimation.numeric.registry import law_of
from dither_shared import DitheredResponse, ParameterError
from dither_shared.mechanisms.numeric import NumericMechanism

from ..users.populations import Floats
from .number_trial import below, mean_in

_INPUTS, _OUTPUTS = 17, 65
"""Answers and scores of the linear programme: within 1% of the limit of many, in about a second."""


@dataclass(frozen=True)
class ExpectedNumbers:
    """The squared error of the mean and of a raw share below a point (None without one), and the mean's width."""

    mean_mse: float
    cut_mse: float | None
    width: float


def expected_numbers(mechanism: NumericMechanism, shares: Floats, users: int, confidence: float) -> ExpectedNumbers:
    """Return what theory expects of ``users`` drawn from a population.

    The squared error of the mean is (V + Var x)/n, V being the mean over people of the variance of the score.
    """
    spread = spread_in(shares)
    mse = (float(shares @ _mean_variances(mechanism)) + spread) / users
    width = 2 * NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(mse)
    return ExpectedNumbers(mse, cut_mse(mechanism, shares, users), min(width, 1.0))


def least_mean_mse(epsilon: float, shares: Floats, users: int) -> float:
    """Return the least squared error that an unbiased mean of ``users`` drawn from a population can have."""
    return (least_variance(epsilon, shares) + spread_in(shares)) / users


def spread_in(shares: Floats) -> float:
    """Return the variance of the answers of a population, in squares of the range."""
    place = np.linspace(0, 1, len(shares))
    return float(shares @ (place - mean_in(shares)) ** 2)


def cut_mse(mechanism: NumericMechanism, shares: Floats, users: int) -> float | None:
    """Return the squared error of a raw share below a point, averaged over points; None where there is none.

    For the dithered response d σ(1-σ)/(λ² n) at cut i with σ = q j + λ F, where j = ⌈i/d⌉: one phase tells of it.
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

    Linear programming over all channels from 17 answers to 65 scores. ``shares`` of a finer grid are shared out between
    the two nearest of the 17. Raises ParameterError if it has no solution, for an ε beyond use.
    """
    place = np.linspace(0, _INPUTS - 1, len(shares))
    first = np.minimum(place.astype(int), _INPUTS - 2)
    weights = np.zeros(_INPUTS)
    np.add.at(weights, first, shares * (first + 1 - place))
    np.add.at(weights, first + 1, shares * (place - first))
    return _least(epsilon, tuple(weights.tolist()))


def worst_least_variance(epsilon: float) -> float:
    """Return the least noise variance of any unbiased ε-LDP score of a number, for the answer where it is largest."""
    return _least(epsilon, None)


@lru_cache(maxsize=256)
def _least(epsilon: float, weights: tuple[float, ...] | None) -> float:
    """Solve for P[score | answer], and for the least chance m of each score: m <= P <= e^ε m, P·1 = 1, P·score = x.

    Minimizes the mean of E score² - x² under ``weights``; without weights, its maximum t over all answers.
    """
    odds, (a, b) = math.exp(epsilon), (_INPUTS, _OUTPUTS)
    x, y = np.linspace(-0.5, 0.5, a), np.linspace(-1, 1, b) * _reach(epsilon)
    channel: Any = sparse.identity(a * b)
    answers: Any = sparse.identity(a)
    floor: Any = sparse.vstack([sparse.identity(b)] * a)
    squares: Any = sparse.kron(answers, y[np.newaxis] ** 2)
    none: Any = sparse.csr_matrix((a * b, 1))
    limits: list[Any] = [sparse.hstack([channel, -odds * floor, none]), sparse.hstack([-channel, floor, none])]
    most = [np.zeros(2 * a * b)]
    cost = np.zeros(a * b + b + 1)
    if weights is None:
        cost[-1] = 1
        limits.append(sparse.hstack([squares, sparse.csr_matrix((a, b)), sparse.csr_matrix(-np.ones((a, 1)))]))
        most.append(x**2)
    else:
        cost[: a * b] = np.kron(weights, y**2)
    sums: Any = sparse.vstack([sparse.kron(answers, row[np.newaxis]) for row in (np.ones(b), y)])
    inequalities: Any = sparse.vstack(limits)
    equalities: Any = sparse.hstack([sums, sparse.csr_matrix((2 * a, b + 1))])
    found = optimize.linprog(
        cost,
        A_ub=inequalities.tocsr(),
        b_ub=np.concatenate(most),
        A_eq=equalities.tocsr(),
        b_eq=np.concatenate([np.ones(a), x]),
        method="highs",
    )
    if found.fun is None:
        raise ParameterError("epsilon", f"{epsilon:g} has no least variance that could be found: {found.message}")
    return float(found.fun) - (0.0 if weights is None else float(np.asarray(weights) @ x**2))


def _reach(epsilon: float) -> float:
    """Return how far from the middle scores may be: as far as those of the dithered response for the mean."""
    mechanism = DitheredResponse.calibrate(None, epsilon, aim="mean")
    return mechanism.reach[1] - 0.5
