from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dither_shared import ParameterError, RandomizedResponse, Rappor, SymmetricUnary
from dither_simulations.experiments import Plan, Task, predicted_mse, sweep
from dither_simulations.populations import Population, numbered, uniform, zipf
from dither_simulations.trials import Outcome, Setting, run_trial

POPULATION = Population.spread(numbered(16), zipf(16, 1.1), 50_000)
PLAN = Plan((RandomizedResponse, SymmetricUnary), (0.5, 2.0), POPULATION, "zipf", repeats=4, seed=7)


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


def test_rows_come_family_by_family_with_the_epsilon_asked_for() -> None:
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
@pytest.mark.parametrize("device", [False, True], ids=["law", "device"])
def test_the_measured_error_is_that_of_theory(family: type[RandomizedResponse | SymmetricUnary], device: bool) -> None:
    """Six standard errors: at 250 repeats Student's t is farther out with probability below 1e-8, in four tests."""
    population = Population.spread(numbered(8), zipf(8, 1.1), 600)
    setting = Setting(family.calibrate(8, 1.5), population, device=device)
    errors = [run_trial(setting, seed).mse for seed in np.random.SeedSequence(3).spawn(250)]
    theory = predicted_mse(setting.mechanism, population)
    assert abs(np.mean(errors) - theory) < 6 * stats.sem(errors)
    assert 6 * stats.sem(errors) < theory / 3  # narrow enough to tell, say, the variance of the other family


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
