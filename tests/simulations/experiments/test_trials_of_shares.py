import math

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.estimate import estimate
from dither_shared import CountMeanSketch, Mechanism, RandomizedResponse, Rappor, SymmetricUnary
from dither_simulations.choices import STEPS, Law, Step
from dither_simulations.experiments.error.shares import (
    apply,
    divergence,
    estimated,
    intervals,
    measured_after,
    predicted_mse,
    recall,
    scores,
)
from dither_simulations.mechanism_by_name import CLOSED, named
from dither_simulations.samplers import Marginal, sample_support, sample_tally
from dither_simulations.sweeps import Measures
from dither_simulations.users.populations import Population, numbered, zipf

POPULATION = Population.spread(numbered(16), zipf(16, 1.1), 50_000)


def run_trial(
    mechanism: Mechanism,
    population: Population,
    seed: np.random.SeedSequence,
    law: Law = "joint",
    confidence: float = 0.95,
    steps: tuple[Step, ...] = ("raw",),
) -> list[Measures]:
    return measured_after(estimated(mechanism, population, seed, law, confidence), population.shares, steps, 10)


@pytest.mark.parametrize("family", [RandomizedResponse, SymmetricUnary])
@pytest.mark.parametrize("law", ["joint", "marginal", "device"])
def test_the_measured_error_is_that_of_theory(family: type[RandomizedResponse | SymmetricUnary], law: Law) -> None:
    """Six standard errors: at 150 repeats Student's t is farther out with probability below 2e-8, in six tests."""
    population = Population.spread(numbered(8), zipf(8, 1.1), 600)
    mechanism = family.calibrate(8, 1.5)
    seeds = np.random.SeedSequence(3).spawn(150)
    errors = [run_trial(mechanism, population, seed, law=law)[0]["mse"] for seed in seeds]
    theory = predicted_mse(mechanism, population)
    assert abs(np.mean(errors) - theory) < 6 * stats.sem(errors)
    assert 6 * stats.sem(errors) < theory / 3  # narrow enough to tell, say, the variance of the other family


@pytest.mark.parametrize("law", ["joint", "marginal"])
@pytest.mark.parametrize("name", CLOSED)
def test_under_both_laws_every_mechanism_errs_as_theory_says(name: str, law: Law) -> None:
    """Six standard errors: at 80 repeats Student's t is farther out with probability below 6e-8."""
    population = Population.spread(numbered(40), zipf(40, 1.1), 10**8)
    mechanism = named(name, 40, 1.0)
    outcomes = [run_trial(mechanism, population, seed, law=law) for seed in np.random.SeedSequence(12).spawn(80)]
    errors = [outcome[0]["mse"] for outcome in outcomes]
    assert abs(np.mean(errors) - predicted_mse(mechanism, population)) < 6 * stats.sem(errors)


def test_the_error_of_a_sketch_is_noise_and_the_bias_of_its_hash_functions() -> None:
    """Six standard errors (t at 60 repeats: 1.3e-7), and a twentieth for noise that theory averages over hashing."""
    population = Population.spread(numbered(20), zipf(20, 1.1), 10**6)
    mechanism = CountMeanSketch.configure(None, {"epsilon": 2.0, "bits": 32, "cohorts": 16})
    errors = [run_trial(mechanism, population, seed)[0]["mse"] for seed in np.random.SeedSequence(4).spawn(60)]
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
    mechanism = Rappor.calibrate(None, 2.0, cohorts=8, bits=32)
    errors = [run_trial(mechanism, population, seed)[0]["mse"] for seed in np.random.SeedSequence(5).spawn(40)]
    theory = predicted_mse(mechanism, population)
    assert abs(np.mean(errors) - theory) < 7 * stats.sem(errors) + theory / 10


@pytest.mark.parametrize("family", [RandomizedResponse, SymmetricUnary])
def test_intervals_cover_as_often_as_they_say(family: type[RandomizedResponse | SymmetricUnary]) -> None:
    """Of 640 intervals at 95 %, fewer than 560 hold the truth with probability below 1e-8.

    That is the binomial's; it leaves room for the slight correlation of the values within a trial.
    """
    mechanism = family.calibrate(16, 1.0)
    seeds = np.random.SeedSequence(11).spawn(40)
    covered = sum(round(16 * run_trial(mechanism, POPULATION, seed)[0]["coverage"]) for seed in seeds)
    assert stats.binom.cdf(559, 640, 0.95) < 1e-8
    assert covered >= 560


def test_half_the_confidence_covers_half() -> None:
    """Bin(640, 1/2), five standard deviations (63) to either side: wrong below 6e-7."""
    mechanism, people = SymmetricUnary.calibrate(16, 1.0), Population.spread(numbered(16), np.ones(16), 10**6)
    trials = [run_trial(mechanism, people, seed, confidence=0.5) for seed in np.random.SeedSequence(2).spawn(40)]
    covered = sum(round(16 * trial[0]["coverage"]) for trial in trials)
    assert abs(covered - 320) < 63


@pytest.mark.parametrize("law", ["joint", "marginal"])
@pytest.mark.parametrize("name", CLOSED)
def test_a_trial_asks_for_what_a_collector_would_tell(name: str, law: Law) -> None:
    """It leaves out what it does not need; what is left is the same, to the last bit."""
    population = Population.spread(numbered(40), zipf(40, 1.1), 3000)
    rng, mechanism = np.random.default_rng(np.random.SeedSequence(6)), named(name, 40, 1.0)
    if law == "marginal":
        whole = estimate(Marginal(whole=mechanism), population.labels, sample_support(mechanism, population, rng))
    else:
        whole = estimate(mechanism, population.labels, sample_tally(mechanism, population, rng))
    outcome = run_trial(mechanism, population, np.random.SeedSequence(6), law=law, steps=("raw", "consistent"))
    expected = [scores(column, population.shares, 10) for column in (whole.frequency, whole.consistent)]
    held = intervals(whole.noise_low, whole.noise_high, population.shares)
    assert outcome == [expected[0] | held, expected[1] | dict.fromkeys(held)]


TRUTH = np.array([0.5, 0.3, 0.2, 0.0])


def test_every_measure_of_known_errors_is_right() -> None:
    told = scores(np.array([0.4, 0.3, 0.1, 0.2]), TRUTH, top=2)
    assert told["mse"] == pytest.approx((0.01 + 0 + 0.01 + 0.04) / 4)
    assert told["l1"] == pytest.approx(0.4)
    assert told["max_error"] == pytest.approx(0.2)
    assert told["kl"] is None  # something was found where there is nothing
    assert told["recall"] == 1.0


def test_divergence_is_that_of_kullback_and_leibler() -> None:
    assert divergence(np.array([0.25, 0.75, 0.0, 0.0]), TRUTH) == pytest.approx(
        0.25 * math.log(0.5) + 0.75 * math.log(2.5)
    )
    assert divergence(TRUTH, TRUTH) == 0


@pytest.mark.parametrize("frequency", [[0.5, 0.6, -0.1, 0.0], [0.5, 0.3, 0.3, 0.0], [0.5, 0.3, 0.1, 0.1]])
def test_divergence_is_of_distributions_within_the_truths_support(frequency: list[float]) -> None:
    assert divergence(np.array(frequency), TRUTH) is None


def test_recall_counts_the_frequent_among_those_taken_for_frequent() -> None:
    assert recall(np.array([0.0, 0.9, 0.8, 0.1]), TRUTH, 2) == 0.5
    assert recall(np.array([0.0, 0.9, 0.8, 0.1]), TRUTH, 3) == pytest.approx(2 / 3)
    assert recall(np.array([0.0, 0.9, 0.8, 0.1]), TRUTH, 99) == 1.0


def test_ties_are_neither_luck_nor_order() -> None:
    # One place is sure and right; the other is taken by one of three that tie, of which one is right.
    assert recall(np.array([0.0, 0.9, 0.0, 0.0]), TRUTH, 2) == pytest.approx((1 + 1 / 3) / 2)
    # Values as frequent as the last that counts count as well.
    assert recall(np.array([0.1, 0.2, 0.9, 0.0]), np.array([0.4, 0.3, 0.3, 0.0]), 2) == 1.0


def test_intervals_are_counted_and_measured() -> None:
    told = intervals(np.zeros(4), np.full(4, 0.4), TRUTH)
    assert told["coverage"] == 0.75
    assert told["width"] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("step", "result"),
    [
        ("raw", [0.7, 0.5, -0.2, 0.1]),
        ("consistent", [0.6, 0.4, 0.0, 0.0]),
        ("shift", [0.675, 0.475, -0.225, 0.075]),
        ("clip", [0.7, 0.5, 0.0, 0.1]),
        ("rescale", [7 / 13, 5 / 13, 0.0, 1 / 13]),
    ],
)
def test_postprocessing_steps_clip_and_project(step: Step, result: list[float]) -> None:
    assert apply(step, np.array([0.7, 0.5, -0.2, 0.1])) == pytest.approx(result)


def test_rescaling_leaves_shares_that_are_all_clipped_at_zero() -> None:
    assert {
        step: float(apply(step, np.array([-0.1, -0.2])).sum()) for step in STEPS if step in {"clip", "rescale"}
    } == {
        "clip": 0.0,
        "rescale": 0.0,
    }
