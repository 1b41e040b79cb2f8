"""At most 5% of the values that nobody holds are "ok", none with a negative share, at any number of values and reports.

In a right implementation each absent value of a listed domain is "ok" with a probability of at most 5%, independently
of the others, because its support is drawn independently. So a test fails with 1e-9, and any of them below 1e-6.
"""

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.estimate import estimate
from dither_shared import MECHANISMS
from dither_simulations.mechanism_by_name import CLOSED
from dither_simulations.samplers import Marginal, sample_support, sample_tally
from dither_simulations.users.populations import Population, numbered


def absent_of(size: int, users: int) -> tuple[Population, np.ndarray]:
    """Up to five values, one after the other half as common, and the rest nobody's."""
    weights = np.append(0.5 ** np.arange(min(5, size - 1)), np.zeros(size - min(5, size - 1)))
    population = Population.spread(numbered(size), weights, users)
    return population, population.counts == 0


@pytest.mark.parametrize(("size", "users"), [(2, 10**3), (300, 10**9), (3_000, 10**6), (16_384, 10**9)])
@pytest.mark.parametrize("name", CLOSED)
def test_absent_values_are_hardly_ever_ok(name: str, size: int, users: int) -> None:
    shape = {"bits": min(size // 2, 64)} if name == "bit-flip" else {}
    rng = np.random.default_rng([size, users, *name.encode()])
    mechanism = MECHANISMS[name].configure(size, {"epsilon": 1.0, **shape})
    population, absent = absent_of(size, users)
    oks = values = 0
    for _ in range(max(1, 100 // size)):
        result = estimate(Marginal(whole=mechanism), population.labels, sample_support(mechanism, population, rng))
        ok = (np.array(result.verdicts) == "ok") & absent
        assert (result.frequency[ok] > 0).all()
        oks, values = oks + int(ok.sum()), values + int(absent.sum())
    assert oks <= stats.binom.isf(1e-9, values, 0.05)


@pytest.mark.parametrize("users", [10**3, 10**7])
@pytest.mark.parametrize("name", ["count-mean-sketch", "hadamard-count-mean-sketch"])
def test_absent_strings_are_hardly_ever_ok(name: str, users: int) -> None:
    """Collisions in one list of strings are dependent: the rate is within 1 in 100, and chance moves it by 0.2."""
    mechanism = MECHANISMS[name].configure(None, {"epsilon": 1.0, "bits": 128, "cohorts": 64})
    population, absent = absent_of(3_000, users)
    rng, shares = np.random.default_rng([users, *name.encode()]), []
    for _ in range(10):
        result = estimate(mechanism, population.labels, sample_tally(mechanism, population, rng))
        ok = (np.array(result.verdicts) == "ok") & absent
        assert (result.frequency[ok] > 0).all()
        shares.append(ok.sum() / absent.sum())
    assert np.mean(shares) < 0.06
