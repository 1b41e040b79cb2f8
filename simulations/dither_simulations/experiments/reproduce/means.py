"""Published variances of means of numbers, beside those of the dithered response.

- ``duchi-2018``: Duchi, Jordan and Wainwright, "Minimax optimal procedures for locally private estimation", JASA 2018:
  one of two values, which is unbiased.
- ``wang-2019``: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin and Yu, "Collecting and analyzing multidimensional data with
  local differential privacy", ICDE 2019: the Piecewise and the Hybrid Mechanism.

All are of answers in [-1, 1]: in closed form, n times the variance of a mean from the noise alone, for the answer where
it is largest, or averaged over answers that are even. Ours is that of the steps with the least worst case. It is not
meant to equal what is published but to be less; a public phase is what the others do not have.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dither_server.estimation.numeric.registry import law_of
from dither_shared.mechanisms.numeric import NumericMechanism

from ...choices import Paper
from ...samplers import sample_tally
from ...trials.mechanism_by_name import named_numeric
from ...trials.number_theory import spread_in
from ...users.numbers import Numbers
from ...users.populations import Floats, Population, numbered

__all__ = ["PublishedMean", "duchi_2018", "wang_2019"]

_EPSILONS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
_MECHANISM = "dithered-response-mean"
_SQUARED_RANGE = 4
"""[-1, 1] is twice as long as the range that our variances are of."""


@dataclass(frozen=True)
class PublishedMean:
    """A published variance, with how its answers lie: all at an end, where ours is largest, or ``even``."""

    paper: Paper
    epsilon: float
    what: str
    low: float
    even: bool
    users: int = 100_000
    mechanism: str = _MECHANISM

    @property
    def high(self) -> float:
        """The same number."""
        return self.low

    @property
    def middle(self) -> float:
        """The number."""
        return self.low

    @property
    def size(self) -> int:
        """The points of our grid."""
        return _mechanism(self.epsilon).size

    def theory(self) -> float:
        """Return our variance."""
        mechanism = _mechanism(self.epsilon)
        variance = mechanism.average_mean_variance if self.even else mechanism.worst_mean_variance
        return _SQUARED_RANGE * float(variance)

    def trial(self, rng: np.random.Generator) -> float:
        """Return the sample variance of the scores of one tally, less that of the answers."""
        mechanism = _mechanism(self.epsilon)
        people = Population.spread(numbered(mechanism.size), self._shares(mechanism.size), self.users)
        found = law_of(mechanism).scores(sample_tally(mechanism, people, rng)).variance
        return _SQUARED_RANGE * (found - spread_in(people.shares))

    def _shares(self, points: int) -> Floats:
        return Numbers("uniform").shares(points) if self.even else np.eye(1, points, points - 1)[0]


def duchi_2018() -> tuple[PublishedMean, ...]:
    """Return ((e^ε+1)/(e^ε-1))² - x², for x = 0 and on average."""
    return (
        *_numbers("duchi-2018", "Duchi, worst: ((e^ε+1)/(e^ε-1))²", _duchi, even=False),
        *_numbers("duchi-2018", "Duchi, average: worst - 1/3", lambda odds: _duchi(odds) - 1 / 3, even=True),
    )


def wang_2019() -> tuple[PublishedMean, ...]:
    """Return equations of sections III-B and III-C, with a = e^(ε/2): x²/(a-1) + (a+3)/(3(a-1)²) for Piecewise."""
    return (
        *_numbers("wang-2019", "Piecewise, worst: 4a/(3(a-1)²)", lambda odds: _piecewise(odds, 1), even=False),
        *_numbers("wang-2019", "Piecewise, average: x² = 1/3", lambda odds: _piecewise(odds, 1 / 3), even=True),
        *_numbers("wang-2019", "Hybrid, worst", _hybrid, even=False),
    )


def _numbers(paper: Paper, what: str, value: Callable[[float], float], *, even: bool) -> list[PublishedMean]:
    return [PublishedMean(paper, epsilon, what, value(math.exp(epsilon)), even) for epsilon in _EPSILONS]


def _duchi(odds: float) -> float:
    return ((odds + 1) / (odds - 1)) ** 2


def _piecewise(odds: float, square: float) -> float:
    a = math.sqrt(odds)
    return square / (a - 1) + (a + 3) / (3 * (a - 1) ** 2)


def _hybrid(odds: float) -> float:
    """Piecewise with probability 1 - 1/a and else Duchi's, above ε = 0.61, where its variance is the same for all x."""
    a = math.sqrt(odds)
    mixed = (a + 3) / (3 * a * (a - 1)) + _duchi(odds) / a
    return mixed if math.log(odds) > _ALL_DUCHI else _duchi(odds)


_ALL_DUCHI = 0.61
"""The ε up to which the Hybrid Mechanism is Duchi's."""


@lru_cache(maxsize=32)
def _mechanism(epsilon: float) -> NumericMechanism:
    return named_numeric(_MECHANISM, epsilon)
