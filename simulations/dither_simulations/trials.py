"""One seeded trial: users, their tally, an estimate, and how far it is from the truth."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dither_server.estimate import Estimate, estimate
from dither_shared import Mechanism, ParameterError

from .devices import device_entropy, device_tally
from .measures import Interval, Scores, intervals, scores
from .populations import Population
from .remote import collected
from .samplers import Marginal, has_marginal, joint_draws, sample_support, sample_tally
from .steps import Step, apply

__all__ = ["LAWS", "MOST_DRAWS", "Law", "Outcome", "Setting", "affordable_law", "run_trial"]

Law = Literal["joint", "marginal", "device", "collector"]
"""How the reports of all users are drawn: their tally from its joint law; the support of each value from its own law,
without regard to the others; one by one, by the device's randomizer; or by real clients that send them to a real
collector, which estimates."""

LAWS = ("joint", "marginal", "device")
"""Those that need nothing but a seed."""

MOST_DRAWS = 2e6
"""Above so many draws, a fraction of a second, a joint law costs more than what it adds is usually worth."""


@dataclass(frozen=True)
class Setting:
    """What a trial is a trial of: everything but its seed.

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


@dataclass(frozen=True)
class Outcome:
    """What one trial came to: scores after each step of its setting, and of the intervals, which are those of "raw"."""

    scores: tuple[Scores, ...]
    interval: Interval


def affordable_law(mechanism: Mechanism, population: Population) -> Law:
    """Return "joint" unless that takes more than ``MOST_DRAWS`` and there is a marginal law."""
    if joint_draws(mechanism, population) > MOST_DRAWS and has_marginal(mechanism):
        return "marginal"
    return "joint"


def run_trial(setting: Setting, seed: np.random.SeedSequence) -> Outcome:
    """Run one trial; it depends on ``setting`` and ``seed`` alone, so trials may run in any order and anywhere."""
    estimated, shares = _estimated(setting, seed), setting.population.shares
    return Outcome(
        tuple(scores(apply(step, estimated), shares, setting.top) for step in setting.steps),
        intervals(estimated, shares),
    )


def _estimated(setting: Setting, seed: np.random.SeedSequence) -> Estimate:
    mechanism, population = setting.mechanism, setting.population
    if setting.law == "collector":
        return collected(mechanism, population, setting.asked, setting.collector, setting.confidence)
    if setting.law == "device":
        tally = device_tally(mechanism, population, device_entropy(seed))
    elif setting.law == "marginal":
        if not has_marginal(mechanism):
            raise ParameterError("law", f"the values of {mechanism.name} have no marginal law; its hashing ties them")
        tally = sample_support(mechanism, population, np.random.default_rng(seed))
        mechanism = Marginal(whole=mechanism)
    else:
        tally = sample_tally(mechanism, population, np.random.default_rng(seed))
    return estimate(mechanism, population.labels, tally, setting.confidence)
