import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.estimate import estimate
from dither_shared import CountMeanSketch, RandomizedResponse, Rappor, SymmetricUnary
from dither_simulations.choices import Law
from dither_simulations.samplers import Marginal, sample_support, sample_tally
from dither_simulations.trials.measures import intervals, scores
from dither_simulations.trials.mechanism_by_name import CLOSED, named
from dither_simulations.trials.trial import Setting, predicted_mse, run_trial
from dither_simulations.users.populations import Population, numbered, uniform, zipf

POPULATION = Population.spread(numbered(16), zipf(16, 1.1), 50_000)


@pytest.mark.parametrize("family", [RandomizedResponse, SymmetricUnary])
@pytest.mark.parametrize("law", ["joint", "marginal", "device"])
def test_the_measured_error_is_that_of_theory(family: type[RandomizedResponse | SymmetricUnary], law: Law) -> None:
    """Six standard errors: at 150 repeats Student's t is farther out with probability below 2e-8, in six tests."""
    population = Population.spread(numbered(8), zipf(8, 1.1), 600)
    setting = Setting(family.calibrate(8, 1.5), population, law=law)
    errors = [run_trial(setting, seed)[0]["mse"] for seed in np.random.SeedSequence(3).spawn(150)]
    theory = predicted_mse(setting.mechanism, population)
    assert abs(np.mean(errors) - theory) < 6 * stats.sem(errors)
    assert 6 * stats.sem(errors) < theory / 3  # narrow enough to tell, say, the variance of the other family


@pytest.mark.parametrize("law", ["joint", "marginal"])
@pytest.mark.parametrize("name", CLOSED)
def test_under_both_laws_every_mechanism_errs_as_theory_says(name: str, law: Law) -> None:
    """Six standard errors: at 80 repeats Student's t is farther out with probability below 6e-8."""
    population = Population.spread(numbered(40), zipf(40, 1.1), 10**8)
    setting = Setting(named(name, 40, 1.0), population, law=law)
    outcomes = [run_trial(setting, seed) for seed in np.random.SeedSequence(12).spawn(80)]
    errors = [outcome[0]["mse"] for outcome in outcomes]
    assert abs(np.mean(errors) - predicted_mse(setting.mechanism, population)) < 6 * stats.sem(errors)


def test_the_error_of_a_sketch_is_noise_and_the_bias_of_its_hash_functions() -> None:
    """Six standard errors (t at 60 repeats: 1.3e-7), and a twentieth for noise that theory averages over hashing."""
    population = Population.spread(numbered(20), zipf(20, 1.1), 10**6)
    mechanism = CountMeanSketch.configure(None, {"epsilon": 2.0, "bits": 32, "cohorts": 16})
    errors = [run_trial(Setting(mechanism, population), seed)[0]["mse"] for seed in np.random.SeedSequence(4).spawn(60)]
    theory = predicted_mse(mechanism, population)
    assert abs(np.mean(errors) - theory) < 6 * stats.sem(errors) + theory / 20
    assert theory > 10 * mechanism.variance() / population.users  # users do not remove the bias


@pytest.mark.parametrize("name", CLOSED)
def test_theory_is_the_mean_of_the_variances(name: str) -> None:
    mechanism = named(name, 16, 1.0)
    each = [mechanism.variance(share) for share in POPULATION.shares]
    assert predicted_mse(mechanism, POPULATION) == pytest.approx(np.mean(each) / POPULATION.users, rel=1e-12)


def test_the_error_of_rappor_is_that_of_least_squares_to_first_order() -> None:
    """Seven standard errors (t at 40 repeats: 2.2e-8), and a tenth for what theory to first order leaves out."""
    population = Population.spread(numbered(16), zipf(16, 1.1), 10**6)
    setting = Setting(Rappor.calibrate(None, 2.0, cohorts=8, bits=32), population)
    errors = [run_trial(setting, seed)[0]["mse"] for seed in np.random.SeedSequence(5).spawn(40)]
    theory = predicted_mse(setting.mechanism, population)
    assert abs(np.mean(errors) - theory) < 7 * stats.sem(errors) + theory / 10


@pytest.mark.parametrize("family", [RandomizedResponse, SymmetricUnary])
def test_intervals_cover_as_often_as_they_say(family: type[RandomizedResponse | SymmetricUnary]) -> None:
    """Of 640 intervals at 95 %, fewer than 560 hold the truth with probability below 1e-8.

    That is the binomial's; it leaves room for the slight correlation of the values within a trial.
    """
    setting = Setting(family.calibrate(16, 1.0), POPULATION)
    covered = sum(round(16 * run_trial(setting, seed)[0]["coverage"]) for seed in np.random.SeedSequence(11).spawn(40))
    assert stats.binom.cdf(559, 640, 0.95) < 1e-8
    assert covered >= 560


def test_half_the_confidence_covers_half() -> None:
    """Bin(640, 1/2), five standard deviations (63) to either side: wrong below 6e-7."""
    setting = Setting(SymmetricUnary.calibrate(16, 1.0), Population.spread(numbered(16), uniform(16), 10**6), 0.5)
    covered = sum(round(16 * run_trial(setting, seed)[0]["coverage"]) for seed in np.random.SeedSequence(2).spawn(40))
    assert abs(covered - 320) < 63


@pytest.mark.parametrize("law", ["joint", "marginal"])
@pytest.mark.parametrize("name", CLOSED)
def test_a_trial_asks_for_what_a_collector_would_tell(name: str, law: Law) -> None:
    """It leaves out what it does not need; what is left is the same, to the last bit."""
    population = Population.spread(numbered(40), zipf(40, 1.1), 3000)
    setting = Setting(named(name, 40, 1.0), population, law=law, steps=("raw", "consistent"))
    rng, mechanism = np.random.default_rng(np.random.SeedSequence(6)), setting.mechanism
    if law == "marginal":
        whole = estimate(Marginal(whole=mechanism), population.labels, sample_support(mechanism, population, rng))
    else:
        whole = estimate(mechanism, population.labels, sample_tally(mechanism, population, rng))
    outcome = run_trial(setting, np.random.SeedSequence(6))
    expected = [scores(column, population.shares, setting.top) for column in (whole.frequency, whole.consistent)]
    held = intervals(whole.noise_low, whole.noise_high, population.shares)
    assert outcome == [expected[0] | held, expected[1] | dict.fromkeys(held)]
