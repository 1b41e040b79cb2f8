"""One seeded trial: users, their tally, an estimate, and how far it is from the truth."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dither_server.estimate import estimate
from dither_server.tally import Tally
from dither_shared import Mechanism

from .devices import device_entropy, device_tally
from .populations import Floats, Population
from .samplers import Marginal, has_marginal, joint_draws, sample_support, sample_tally

__all__ = ["MOST_DRAWS", "Law", "Outcome", "Setting", "affordable_law", "run_trial"]

Law = Literal["joint", "marginal", "device"]
"""How the reports of all users are drawn: their tally from its joint law; the support of each value from its own law,
without regard to the others; or one by one, by the device's randomizer."""

MOST_DRAWS = 2e6
"""Above so many draws, a fraction of a second, a joint law costs more than what it adds is usually worth."""


@dataclass(frozen=True)
class Setting:
    """What a trial is a trial of: everything but its seed."""

    mechanism: Mechanism
    population: Population
    confidence: float = 0.95
    law: Law = "joint"


@dataclass(frozen=True, eq=False)
class Outcome:
    """How far the estimates of one trial are from the true shares among its users."""

    squared_errors: Floats
    """(estimate - share)² of each value, shape (k,)."""
    covered: np.ndarray[tuple[int], np.dtype[np.bool_]]
    """Whether the interval of each value, from noise alone, contains its share among the users; shape (k,)."""

    @property
    def mse(self) -> float:
        """The squared error, averaged over the values."""
        return float(self.squared_errors.mean())

    @property
    def max_error(self) -> float:
        """The largest absolute error over the values."""
        return float(np.sqrt(self.squared_errors.max()))

    @property
    def coverage(self) -> float:
        """The share of values whose interval contains the truth."""
        return float(self.covered.mean())


def affordable_law(mechanism: Mechanism, population: Population) -> Law:
    """Return "joint" unless that takes more than ``MOST_DRAWS`` and there is a marginal law."""
    if joint_draws(mechanism, population) > MOST_DRAWS and has_marginal(mechanism):
        return "marginal"
    return "joint"


def run_trial(setting: Setting, seed: np.random.SeedSequence) -> Outcome:
    """Run one trial; it depends on ``setting`` and ``seed`` alone, so trials may run in any order and anywhere."""
    population = setting.population
    mechanism, tally = _tally(setting, seed)
    estimated = estimate(mechanism, population.labels, tally, setting.confidence)
    shares = population.shares
    return Outcome(
        squared_errors=(estimated.frequency - shares) ** 2,
        covered=(estimated.noise_low <= shares) & (shares <= estimated.noise_high),
    )


def _tally(setting: Setting, seed: np.random.SeedSequence) -> tuple[Mechanism, Tally]:
    """Return a tally, and the mechanism by which it is to be estimated."""
    mechanism, population = setting.mechanism, setting.population
    if setting.law == "device":
        return mechanism, device_tally(mechanism, population, device_entropy(seed))
    rng = np.random.default_rng(seed)
    if setting.law == "marginal":
        return Marginal(whole=mechanism), sample_support(mechanism, population, rng)
    return mechanism, sample_tally(mechanism, population, rng)
