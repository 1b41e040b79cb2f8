"""One seeded trial: users, their tally, an estimate, and how far it is from the truth."""

from dataclasses import dataclass

import numpy as np

from dither_server.estimate import estimate
from dither_server.tally import Tally
from dither_shared import Mechanism

from .devices import device_entropy, device_tally
from .populations import Floats, Population
from .samplers import sample_tally

__all__ = ["Outcome", "Setting", "run_trial"]


@dataclass(frozen=True)
class Setting:
    """What a trial is a trial of: everything but its seed."""

    mechanism: Mechanism
    population: Population
    confidence: float = 0.95
    device: bool = False
    """Whether every user runs the device's randomizer, instead of the tally being drawn from its law."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """How far the estimates of one trial are from the true shares among its users."""

    squared_errors: Floats
    """(estimate - share)² of each value, shape (k,)."""
    covered: np.ndarray[tuple[int], np.dtype[np.bool_]]
    """Whether the interval of each value contains its share, shape (k,)."""

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


def run_trial(setting: Setting, seed: np.random.SeedSequence) -> Outcome:
    """Run one trial; it depends on ``setting`` and ``seed`` alone, so trials may run in any order and anywhere."""
    population = setting.population
    estimated = estimate(setting.mechanism, population.labels, _tally(setting, seed), setting.confidence)
    shares = population.shares
    return Outcome(
        squared_errors=(estimated.frequency - shares) ** 2,
        covered=(estimated.low <= shares) & (shares <= estimated.high),
    )


def _tally(setting: Setting, seed: np.random.SeedSequence) -> Tally:
    mechanism, population = setting.mechanism, setting.population
    if setting.device:
        return device_tally(mechanism, population, device_entropy(seed))
    return sample_tally(mechanism, population, np.random.default_rng(seed))
