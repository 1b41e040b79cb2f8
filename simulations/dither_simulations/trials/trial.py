"""Run one seeded trial of shares, and compute what theory expects of it: errors, widths, the least error there is."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy import special

from dither_server.estimation.consistency import onto_simplex
from dither_server.estimation.estimate import debiased, estimate
from dither_server.estimation.intervals.score import noise_interval
from dither_server.tally.tally import Tally
from dither_shared import Mechanism, SubsetSelection

from ..choices import Law, Step
from ..collection.remote_trial import collected
from ..samplers import Marginal, collision_bias, expected_tally, has_marginal, joint_draws, sample_support, sample_tally
from ..users.populations import Floats, Population
from .devices import device_entropy, device_tally
from .measures import Measures, apply, intervals, scores

MOST_DRAWS = 2e6
"""The most draws of a joint law, a fraction of a second; beyond them it is not usually worth its cost."""


@dataclass(frozen=True)
class Setting:
    """The setting of a trial: everything but its seed.

    ``collector`` is the URL to send to under the law "collector", and ``asked`` the ε that its metric was asked for;
    the noise is then the operating system's.
    """

    mechanism: Mechanism
    population: Population
    confidence: float = 0.95
    law: Law = "joint"
    steps: tuple[Step, ...] = ("raw",)
    top: int = 10
    collector: str = ""
    asked: float = 1.0


def affordable_law(mechanism: Mechanism, population: Population) -> Law:
    """Return "joint" unless that takes more than ``MOST_DRAWS`` and there is a marginal law."""
    if joint_draws(mechanism, population) > MOST_DRAWS and has_marginal(mechanism):
        return "marginal"
    return "joint"


def run_trial(setting: Setting, seed: np.random.SeedSequence) -> list[Measures]:
    """Run one trial and return the measures after each step of its setting; intervals are of "raw" frequencies.

    It depends on ``setting`` and ``seed`` alone, so trials may run in any order and anywhere.
    """
    estimated, shares = _estimated(setting, seed), setting.population.shares
    held = intervals(estimated.low, estimated.high, shares)
    return [
        scores(apply(step, estimated.frequency, estimated.consistent), shares, setting.top)
        | (held if step == "raw" else dict.fromkeys(held))
        for step in setting.steps
    ]


class _Estimated(NamedTuple):
    """The part of an estimate that a trial needs: frequencies, their intervals from noise alone, and a step."""

    frequency: Floats
    low: Floats
    high: Floats
    consistent: Callable[[Floats], Floats]


def _estimated(setting: Setting, seed: np.random.SeedSequence) -> _Estimated:
    mechanism, population = setting.mechanism, setting.population
    if setting.law == "collector":
        sent = collected(mechanism, population, setting.asked, setting.collector, setting.confidence)
        return _Estimated(sent.frequency, sent.low, sent.high, lambda _: sent.consistent)
    tally = _tally(setting, seed)
    if mechanism.items.open:
        whole = estimate(mechanism, population.labels, tally, setting.confidence)
        return _Estimated(whole.frequency, whole.noise_low, whole.noise_high, lambda _: whole.consistent)
    # The intervals about a population, which a trial does not ask for, would take most of its time.
    decoded = _decoded(setting)
    frequency, _, trials = debiased(decoded, population.labels, tally)
    return _Estimated(
        frequency,
        *noise_interval(decoded, frequency, trials, 1 - setting.confidence),
        consistent=onto_simplex,
    )


def _decoded(setting: Setting) -> Mechanism:
    """Return the mechanism whose tally a trial's is."""
    return Marginal(whole=setting.mechanism) if setting.law == "marginal" else setting.mechanism


def _tally(setting: Setting, seed: np.random.SeedSequence) -> Tally:
    mechanism, population = setting.mechanism, setting.population
    if setting.law == "device":
        return device_tally(mechanism, population, device_entropy(seed))
    rng = np.random.default_rng(seed)
    if setting.law == "marginal":
        return sample_support(mechanism, population, rng)
    return sample_tally(mechanism, population, rng)


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
