"""Intervals contain the truth as often as stated: every mechanism, rare, common and absent values, in few surveys.

``python -m tests.benchmarks.coverage`` measures the same in many surveys. A right implementation fails a test here with
a probability below 1e-6 over the choice of its seed, by the binomial law of independent surveys.
"""

from functools import cache

import numpy as np
import pytest
from scipy import stats

from benchmarks.coverage import EPSILON, KINDS, mechanism_named, surveyed
from dither_shared import MECHANISMS
from dither_simulations.mechanism_by_name import NAMES

SURVEYS, REPORTS = 60, 2_000
LEAST, MOST = 0.94, 0.965


SMALL = {
    "rappor": {"cohorts": 16, "bits": 32},
    "count-mean-sketch": {"cohorts": 64, "bits": 64},
    "hadamard-count-mean-sketch": {"cohorts": 64, "bits": 64},
}
"""Shapes of the open domains that are quick to draw, and whose collisions do not yet count for much."""


@cache
def held(name: str) -> np.ndarray:
    """Return in how many surveys each interval contained the truth for one value per kind; shape (intervals, kinds)."""
    mechanism, rng = mechanism_named(name), np.random.default_rng([20261120, *name.encode()])
    if name in SMALL:
        mechanism = MECHANISMS[name].configure(None, {"epsilon": EPSILON, **SMALL[name]})
    places = [places.start for places in KINDS.values()]
    surveys = [surveyed(mechanism, REPORTS, number, rng) for number in range(SURVEYS)]
    return np.asarray(np.sum([[row[places] for row in both] for both in surveys], axis=0))


@pytest.mark.parametrize("name", NAMES[1:])
def test_intervals_of_each_mechanism_cover_about_as_stated(name: str) -> None:
    """Each of six counts is at least the lower end of a binomial law of 94%, with 1e-7 each."""
    assert (held(name) >= stats.binom.ppf(1e-7, SURVEYS, LEAST)).all()


def test_all_mechanisms_together_are_near() -> None:
    """Over 660 surveys the noise interval contains the sample, and the other the population, for each kind of value."""
    together = sum((held(name) for name in NAMES[1:]), np.zeros((2, len(KINDS))))
    surveys = SURVEYS * (len(NAMES) - 1)
    assert (together >= stats.binom.ppf(1e-7, surveys, LEAST)).all()
    assert (together <= stats.binom.isf(1e-7, surveys, MOST)).all()
