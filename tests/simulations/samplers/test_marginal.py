"""The support of a single value."""

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.estimate import estimate
from dither_shared import MECHANISMS, ParameterError
from dither_simulations.experiments.error.shares import MOST_DRAWS, affordable_law
from dither_simulations.mechanism_by_name import CLOSED, named
from dither_simulations.samplers import Marginal, has_marginal, joint_draws, sample_support
from dither_simulations.users.populations import Population, numbered, zipf

POPULATION = Population(numbered(5), np.array([7, 3, 2, 0, 0]))
ERROR_PROBABILITY = 1e-8


@pytest.mark.parametrize("name", CLOSED)
def test_each_support_follows_its_two_binomials(name: str) -> None:
    """A chi-square test for each of five values, each wrong with ``ERROR_PROBABILITY``."""
    mechanism = MECHANISMS[name].calibrate(5, 1.0)
    rng = np.random.default_rng(5)
    draws = np.array([sample_support(mechanism, POPULATION, rng).counts[:, 0] for _ in range(4_000)])
    p, q = float(mechanism.p * mechanism.coverage), float(mechanism.q * mechanism.coverage)
    outcomes = np.arange(13)
    for value, own in enumerate(POPULATION.counts):
        law = np.convolve(
            stats.binom.pmf(np.arange(own + 1), own, p), stats.binom.pmf(np.arange(13 - own), 12 - own, q)
        )
        seen = np.array([(draws[:, value] == outcome).sum() for outcome in outcomes])
        often = 4_000 * law >= 20
        expected = np.append(4_000 * law[often], 4_000 * law[~often].sum())
        observed = np.append(seen[often], seen[~often].sum())
        statistic = float((np.square(observed - expected) / np.maximum(expected, 1e-9)).sum())
        assert stats.chi2.sf(statistic, int(often.sum()) - 1) > ERROR_PROBABILITY


def test_marginal_tally_is_estimated_as_the_mechanisms_tally() -> None:
    """Seven standard errors over 64 values: wrong below 2e-10."""
    mechanism = MECHANISMS["bit-flip"].calibrate(64, 2.0)
    population = Population.spread(numbered(64), zipf(64, 1.1), 10**9)
    alone = Marginal(whole=mechanism)
    tally = sample_support(mechanism, population, np.random.default_rng(6))
    result = estimate(alone, population.labels, tally)
    assert (np.abs(result.frequency - population.shares) < 7 * result.standard_error).all()
    assert alone.epsilon == mechanism.epsilon
    assert alone.variance(0.1) == mechanism.variance(0.1)


def test_hashed_strings_and_numbers_have_no_marginal_law() -> None:
    for name in ("rappor", "exponential"):
        assert not has_marginal(named(name, 0, 2.0)), name


def test_the_joint_law_is_drawn_where_it_is_affordable() -> None:
    small = Population.spread(numbered(128), zipf(128, 1.1), 10**8)
    large = Population.spread(numbered(16384), zipf(16384, 1.1), 10**8)
    assert {affordable_law(named(name, 128, 1.0), small) for name in ("bit-flip", "subset-selection")} == {"joint"}
    assert affordable_law(named("hadamard-response", 16384, 1.0), large) == "joint"
    assert affordable_law(named("subset-selection", 16384, 1.0), large) == "marginal"
    assert joint_draws(named("bit-flip", 16384, 1.0), large) > MOST_DRAWS


def test_unknown_mechanism_name_is_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        named("auto", 16, 26.0)
    assert named("auto", 16, 1.0).name == "subset-selection"
    assert named("auto", 16, 1.0, 2.0).name == "optimized-unary"
    assert named("rappor", 16, 1.0, 3.0).permanent_epsilon == pytest.approx(3.0)
