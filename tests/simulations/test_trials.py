from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dither_shared import CountMeanSketch, ParameterError, RandomizedResponse, Rappor, SymmetricUnary
from dither_simulations.experiments import Plan, Task, predicted_mse, sweep
from dither_simulations.naming import CLOSED, named
from dither_simulations.populations import Population, numbered, uniform, zipf
from dither_simulations.trials import Law, Outcome, Setting, run_trial

POPULATION = Population.spread(numbered(16), zipf(16, 1.1), 50_000)
PLAN = Plan(("randomized-response", "symmetric-unary"), (0.5, 2.0), POPULATION, "zipf", repeats=4, seed=7)


def backwards(tasks: Sequence[Task]) -> list[Outcome]:
    return [run_trial(*task) for task in reversed(tasks)][::-1]


def test_the_numbers_do_not_depend_on_the_order_of_the_trials() -> None:
    assert sweep(PLAN) == sweep(PLAN, backwards)


def test_the_numbers_depend_on_the_seed_and_on_nothing_else() -> None:
    assert sweep(PLAN) == sweep(PLAN)
    assert [row.mse for row in sweep(PLAN)] != [row.mse for row in sweep(replace(PLAN, seed=8))]


def test_every_trial_has_a_seed_of_its_own() -> None:
    states = {tuple(seed.generate_state(4)) for _, seed in PLAN.tasks()}
    assert len(states) == 2 * 2 * 4


def test_rows_come_name_by_name_with_the_epsilon_asked_for() -> None:
    assert [(row.mechanism, row.epsilon) for row in sweep(PLAN)] == [
        ("randomized-response", 0.5),
        ("randomized-response", 2.0),
        ("symmetric-unary", 0.5),
        ("symmetric-unary", 2.0),
    ]


def test_an_epsilon_out_of_range_is_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        sweep(replace(PLAN, epsilons=(26.0,)))


def test_a_row_is_the_mean_over_its_repeats_with_its_standard_error() -> None:
    row = sweep(PLAN)[1]
    outcomes = [run_trial(*task) for task in PLAN.tasks()[4:8]]
    for mean, error, name in (
        (row.mse, row.mse_se, "mse"),
        (row.max_error, row.max_error_se, "max_error"),
        (row.coverage, row.coverage_se, "coverage"),
    ):
        values = [getattr(outcome, name) for outcome in outcomes]
        assert mean == pytest.approx(np.mean(values))
        assert error == pytest.approx(stats.sem(values))


def test_one_repeat_has_no_standard_error() -> None:
    assert {row.mse_se for row in sweep(replace(PLAN, repeats=1))} == {None}


@pytest.mark.parametrize("family", [RandomizedResponse, SymmetricUnary])
@pytest.mark.parametrize("law", ["joint", "marginal", "device"])
def test_the_measured_error_is_that_of_theory(family: type[RandomizedResponse | SymmetricUnary], law: Law) -> None:
    """Six standard errors: at 250 repeats Student's t is farther out with probability below 1e-8, in six tests."""
    population = Population.spread(numbered(8), zipf(8, 1.1), 600)
    setting = Setting(family.calibrate(8, 1.5), population, law=law)
    errors = [run_trial(setting, seed).mse for seed in np.random.SeedSequence(3).spawn(250)]
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
    errors = [outcome.mse for outcome in outcomes]
    assert abs(np.mean(errors) - predicted_mse(setting.mechanism, population)) < 6 * stats.sem(errors)


def test_the_error_of_a_sketch_is_noise_and_the_bias_of_its_hash_functions() -> None:
    """Six standard errors (t at 60 repeats: 1.3e-7), and a twentieth for noise that theory averages over hashing."""
    population = Population.spread(numbered(20), zipf(20, 1.1), 10**6)
    mechanism = CountMeanSketch.configure(None, {"epsilon": 2.0, "bits": 32, "cohorts": 16})
    errors = [run_trial(Setting(mechanism, population), seed).mse for seed in np.random.SeedSequence(4).spawn(60)]
    theory = predicted_mse(mechanism, population)
    assert abs(np.mean(errors) - theory) < 6 * stats.sem(errors) + theory / 20
    assert theory > 10 * mechanism.variance() / population.users  # users do not remove the bias


@pytest.mark.parametrize("name", CLOSED)
def test_theory_is_the_mean_of_the_variances(name: str) -> None:
    mechanism = named(name, 16, 1.0)
    each = [mechanism.variance(share) for share in POPULATION.shares]
    assert predicted_mse(mechanism, POPULATION) == pytest.approx(np.mean(each) / POPULATION.users, rel=1e-12)


def test_auto_is_told_by_the_name_of_what_it_chose() -> None:
    rows = sweep(replace(PLAN, names=("auto",), epsilons=(0.5, 5.0)))
    assert [(row.asked, row.mechanism) for row in rows] == [
        ("auto", "subset-selection"),
        ("auto", "randomized-response"),
    ]
    assert rows[1].mse == pytest.approx(rows[1].mse_theory, rel=0.9)


@pytest.mark.parametrize("law", ["joint", "marginal", "device"])
def test_a_row_says_which_law_was_drawn(law: Law) -> None:
    small = replace(PLAN, population=Population.spread(numbered(4), uniform(4), 200), law=law)
    assert {row.law for row in sweep(small)} == {law}


def test_hashing_ties_values_together() -> None:
    with pytest.raises(ParameterError, match=r"law: .*rappor"):
        sweep(replace(PLAN, names=("rappor",), law="marginal"))


def test_the_error_of_rappor_is_that_of_least_squares_to_first_order() -> None:
    """Six standard errors (t at 60 repeats: 1.3e-7), and a tenth for what theory to first order leaves out."""
    population = Population.spread(numbered(16), zipf(16, 1.1), 10**6)
    setting = Setting(Rappor.calibrate(None, 2.0, cohorts=8, bits=32), population)
    errors = [run_trial(setting, seed).mse for seed in np.random.SeedSequence(5).spawn(60)]
    theory = predicted_mse(setting.mechanism, population)
    assert abs(np.mean(errors) - theory) < 6 * stats.sem(errors) + theory / 10


@pytest.mark.parametrize("family", [RandomizedResponse, SymmetricUnary])
def test_intervals_cover_as_often_as_they_say(family: type[RandomizedResponse | SymmetricUnary]) -> None:
    """Of 640 intervals at 95 %, fewer than 560 hold the truth with probability below 1e-8.

    That is the binomial's; it leaves room for the slight correlation of the values within a trial.
    """
    setting = Setting(family.calibrate(16, 1.0), POPULATION)
    covered = sum(int(run_trial(setting, seed).covered.sum()) for seed in np.random.SeedSequence(11).spawn(40))
    assert stats.binom.cdf(559, 640, 0.95) < 1e-8
    assert covered >= 560


def test_an_outcome_sums_up_its_values() -> None:
    outcome = Outcome(np.array([0.01, 0.04, 0.0, 0.03]), np.array([True, False, True, True]))
    assert outcome.mse == pytest.approx(0.02)
    assert outcome.max_error == pytest.approx(0.2)
    assert outcome.coverage == 0.75


def test_half_the_confidence_covers_half() -> None:
    """Bin(640, 1/2), five standard deviations (63) to either side: wrong below 6e-7."""
    setting = Setting(SymmetricUnary.calibrate(16, 1.0), Population.spread(numbered(16), uniform(16), 10**6), 0.5)
    covered = sum(int(run_trial(setting, seed).covered.sum()) for seed in np.random.SeedSequence(2).spawn(40))
    assert abs(covered - 320) < 63
