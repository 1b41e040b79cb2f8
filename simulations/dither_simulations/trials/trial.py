"""Run one seeded trial: users, their tally, an estimate, and its distance from the truth."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dither_server.estimation.consistency import onto_simplex
from dither_server.estimation.estimate import debiased, estimate
from dither_server.estimation.intervals.shares import noise_interval
from dither_server.tally.tally import Tally
from dither_shared import Mechanism

from ..choices import Law, Step
from ..collection.remote_trial import collected
from ..samplers import Marginal, has_marginal, joint_draws, sample_support, sample_tally
from ..users.populations import Floats, Population
from .devices import device_entropy, device_tally
from .measures import Measures, apply, intervals, scores

MOST_DRAWS = 2e6
"""Above so many draws, a fraction of a second, a joint law costs more than what it adds is usually worth."""


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


def run_bare_trial(setting: Setting, seed: np.random.SeedSequence) -> Measures:
    """Run one trial on a listed domain without intervals and steps, for comparison with libraries that have neither."""
    frequency = debiased(_decoded(setting), setting.population.labels, _tally(setting, seed))[0]
    return scores(frequency, setting.population.shares, setting.top)


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
