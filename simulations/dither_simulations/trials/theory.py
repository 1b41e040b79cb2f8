"""Compute what theory expects of a trial: its error, the width of intervals, and the least error of any mechanism."""

import math
from statistics import NormalDist

import numpy as np
from scipy import special

from dither_server.estimation.estimate import estimate
from dither_shared import Mechanism, SubsetSelection

from ..samplers import collision_bias, expected_tally
from ..users.populations import Floats, Population
from .measures import Measures


def expected(mechanism: Mechanism, population: Population, epsilon: float, confidence: float) -> Measures:
    """Return what theory expects of raw estimates by a mechanism that was asked for at ``epsilon``.

    ``mse_bound`` is ``least_mse``. An error is close to normal, so Σ|error| is sqrt(2/π) times the sum of the standard
    deviations. An interval is the estimate ± z standard deviations, cut to [0, 1]. Open domains have no simple formula
    of either.
    """
    shares, users = population.shares, population.users
    mse, bound = predicted_mse(mechanism, population), least_mse(len(shares), epsilon, users)
    if mechanism.items.open:
        return {"mse_theory": mse, "mse_bound": bound, "l1_theory": None, "width_theory": None}
    noise = np.sqrt(_variances(mechanism, shares) / users)
    half = NormalDist().inv_cdf((1 + confidence) / 2) * noise
    width = _cut(shares + half, noise) - _cut(shares - half, noise)
    return {
        "mse_theory": mse,
        "mse_bound": bound,
        "l1_theory": math.sqrt(2 / math.pi) * float(noise.sum()),
        "width_theory": float(width.mean()),
    }


def least_mse(size: int, epsilon: float, users: int) -> float:
    """Return the least mean squared error that unbiased frequencies can have from one ε-LDP report a user.

    It is that of subset selection with the best subset size (Ye and Barg 2019; Pan 2026). Biased estimates, such as
    consistent frequencies, may do better.
    """
    return SubsetSelection.calibrate(size, epsilon).risk / size / users


def predicted_mse(mechanism: Mechanism, population: Population) -> float:
    """Return the squared error that theory expects, averaged over values.

    In a closed domain the mean over v of Var(f_v)/n, exact for these users (Wang et al. 2017, equation 2). For the
    sketches the same and the squared bias of the hash functions there are. For RAPPOR, which is decoded by regression,
    the mean squared standard error that the regression states on the tally expected of these users: that of weighted
    least squares, to first order.
    """
    if not mechanism.pure:
        ideal = estimate(mechanism, population.labels, expected_tally(mechanism, population))
        return float(np.mean(ideal.standard_error**2))
    noise = _mean_variance(mechanism, population.shares) / population.users
    return noise + float(np.mean(collision_bias(mechanism, population) ** 2))


def _mean_variance(mechanism: Mechanism, shares: Floats) -> float:
    return float(_variances(mechanism, shares).mean())


def _variances(mechanism: Mechanism, shares: Floats) -> Floats:
    """Return ``mechanism.variance`` of each share, which is V(0) + f (V(1) - V(0)) + c f (1-f) with some c."""
    none, half, whole = (mechanism.variance(share) for share in (0.0, 0.5, 1.0))
    curve = (4 * half - 2 * none - 2 * whole) * shares * (1 - shares)
    return np.asarray(none + shares * (whole - none) + curve)


def _cut(center: Floats, deviation: Floats) -> Floats:
    """Return the mean of a normal variable that is cut to [0, 1]: E max(0, X) - E max(0, X - 1)."""
    return _positive_part(center, deviation) - _positive_part(center - 1, deviation)


def _positive_part(center: Floats, deviation: Floats) -> Floats:
    score = center / deviation
    return np.asarray(center * special.ndtr(score) + deviation * np.exp(-(score**2) / 2) / math.sqrt(2 * math.pi))
