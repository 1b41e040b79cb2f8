"""The experiment of ``dither-sim error``: cells, laws and rows."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.estimate import estimate
from dither_shared import CountMeanSketch, Mechanism, Rappor
from dither_simulations.choices import Law, Step
from dither_simulations.experiments.error.accuracy import Accuracy
from dither_simulations.experiments.error.numbers import NumberAccuracy
from dither_simulations.experiments.error.selections import SelectionAccuracy
from dither_simulations.experiments.error.shares import (
    ShareAccuracy,
    apply,
    divergence,
    estimated,
    intervals,
    least_mse,
    measured_after,
    predicted_mse,
    recall,
    scores,
)
from dither_simulations.mechanism_by_name import CLOSED, NUMERIC, SELECTIONS, named
from dither_simulations.samplers import Marginal, sample_support, sample_tally
from dither_simulations.sweeps import Row, seeds, sweep
from dither_simulations.users.numbers import NumberColumn
from dither_simulations.users.populations import Distribution, Population, numbered, zipf
from dither_simulations.users.sets import SetColumn

ZIPF = Distribution("zipf")
PLAN = ShareAccuracy(
    names=("randomized-response", "symmetric-unary"),
    epsilons=(0.5, 2.0),
    sizes=(16,),
    users=(50_000,),
    source=ZIPF,
    repeats=4,
    seed=7,
    top=3,
)
SMALL = replace(PLAN, sizes=(4,), users=(200,))


def test_every_trial_has_a_seed_of_its_own() -> None:
    states = {tuple(seed.generate_state(4)) for place in range(4) for seed in seeds(PLAN, place)}
    assert len(states) == 2 * 2 * 4


def test_rows_come_in_the_order_of_the_grid() -> None:
    plan = replace(SMALL, sizes=(4, 5), users=(100, 200), steps=("raw", "clip"), repeats=1)
    rows = [(row["mechanism"], row["size"], row["users"], row["epsilon"], row["step"]) for row in sweep(plan)]
    assert rows == [*product(plan.names, plan.sizes, plan.users, plan.epsilons, plan.steps)]


def test_a_row_is_the_mean_over_its_repeats_with_its_standard_error() -> None:
    row = sweep(PLAN)[1]
    outcomes = [PLAN.simulate(PLAN.cells()[1], seed) for seed in seeds(PLAN, 1)]
    for name in ("mse", "l1", "max_error", "recall", "coverage", "width"):
        values = [outcome[0][name] for outcome in outcomes]
        assert row[name] == pytest.approx(np.mean(values))
        assert row[f"{name}_se"] == pytest.approx(stats.sem(values))


def test_one_repeat_has_no_standard_error() -> None:
    assert {row["mse_se"] for row in sweep(replace(SMALL, repeats=1))} == {None}


def test_steps_are_taken_from_the_same_trials_and_the_projection_never_errs_more() -> None:
    rows = {row["step"]: row for row in sweep(replace(PLAN, epsilons=(0.5,), steps=("raw", "consistent", "shift")))[:3]}
    assert rows["consistent"]["mse"] < rows["raw"]["mse"]
    # In randomized response estimates sum to 1 by themselves, so that a shift changes nothing.
    assert rows["shift"]["mse"] == pytest.approx(rows["raw"]["mse"], rel=1e-9)
    assert rows["consistent"]["kl"] is not None
    assert {rows["consistent"][name] for name in ("mse_theory", "coverage", "width")} == {None}


def test_rows_show_the_epsilon_spent_by_day() -> None:
    """Memoisation bounds it. Apart from the drift, the error of a day does not depend on the number of days."""
    plan = replace(PLAN, names=("optimized-unary",), epsilons=(1.0,), days=40, repeats=1, source=replace(ZIPF, drift=1))
    fresh, lasting = sweep(plan), sweep(replace(plan, permanent_epsilon=2.0))
    assert [row["epsilon_spent"] for row in fresh] == pytest.approx(range(1, 41))
    assert lasting[0]["epsilon_spent"] == pytest.approx(1.0)
    assert 1.9 < lasting[6]["epsilon_spent"] < lasting[-1]["epsilon_spent"] <= 2.0
    first, second = (plan.population(cell).counts for cell in plan.cells()[:2])
    assert second.tolist() == first[::-1].tolist()


@pytest.mark.parametrize("name", CLOSED)
def test_errors_and_widths_are_those_of_theory(name: str) -> None:
    """Six standard errors: at 60 repeats Student's t is farther out with probability below 1.3e-7, in 16 tests.

    Another hundredth is allowed, because few thousand users make a binomial that is not quite normal.
    """
    plan = replace(PLAN, names=(name,), epsilons=(1.0,), sizes=(32,), users=(20_000,), repeats=60, seed=5)
    (row,) = sweep(plan)
    for measure in ("mse", "l1", "width"):
        value, theory, error = (row[f"{measure}{of}"] for of in ("", "_theory", "_se"))
        assert abs(value - theory) < 6 * error + 0.01 * theory, measure
    assert row["mse_theory"] is not None
    assert row["mse_theory"] >= row["mse_bound"] * (1 - 1e-12)


def test_lower_bound_is_that_of_the_literature() -> None:
    """4e^ε/(e^ε-1)²/n for a value among many (Ye and Barg 2019); for two values the variance of a fair coin's lie."""
    assert 1e6 * least_mse(16_384, 1.0, 10**6) == pytest.approx(4 * math.e / (math.e - 1) ** 2, rel=2e-3)
    assert 1e6 * least_mse(2, 1.0, 10**6) == pytest.approx(math.e / (math.e - 1) ** 2, rel=1e-12)


def test_open_domains_have_no_simple_theory_of_widths() -> None:
    (row,) = sweep(replace(SMALL, names=("rappor",), epsilons=(1.0,), repeats=1))
    assert (row["l1_theory"], row["width_theory"]) == (None, None)
    assert row["mse_theory"] > 0


@pytest.mark.parametrize(
    ("plan", "source"),
    [
        (SMALL, lambda counts: Population(("a", "b"), np.array(counts))),
        (
            NumberAccuracy(names=NUMERIC, epsilons=(1.0,), users=(30,), source=None),
            lambda counts: NumberColumn.of(("1", "2"), np.array(counts), 0, 3, False),
        ),
        (
            SelectionAccuracy(names=SELECTIONS, epsilons=(1.0,), users=(30,), source=None),
            lambda counts: SetColumn.of(("a;b", "b"), np.array(counts), ";"),
        ),
    ],
    ids=["shares", "numbers", "selections"],
)
def test_file_with_other_counts_belongs_to_another_sweep(plan: Accuracy, source: Callable[[list[int]], object]) -> None:
    one, again, other = (replace(plan, source=source(counts)) for counts in ([10, 20], [10, 20], [11, 19]))
    assert one.identity() == again.identity() != other.identity()
    assert one.identity() != replace(one, seed=1).identity()


def test_a_sweep_is_the_same_wherever_its_collector_is_reached() -> None:
    plan = replace(SMALL, names=("rappor",), law="collector", collector="http://a/?token=x")
    assert replace(plan, collector="http://b").identity() == plan.identity()
    assert replace(plan, law="joint", collector="").identity() != plan.identity()


def run_trial(
    mechanism: Mechanism,
    population: Population,
    seed: np.random.SeedSequence,
    law: Law = "joint",
    confidence: float = 0.95,
    steps: tuple[Step, ...] = ("raw",),
) -> list[Row]:
    return measured_after(estimated(mechanism, population, seed, law, confidence), population.shares, steps, 10)


def test_the_error_of_a_sketch_is_noise_and_the_bias_of_its_hash_functions() -> None:
    """Six standard errors (t at 60 repeats: 1.3e-7), and a twentieth for noise that theory averages over hashing."""
    population = Population.spread(numbered(20), zipf(20, 1.1), 10**6)
    mechanism = CountMeanSketch.configure(None, {"epsilon": 2.0, "bits": 32, "cohorts": 16})
    errors = [run_trial(mechanism, population, seed)[0]["mse"] for seed in np.random.SeedSequence(4).spawn(60)]
    theory = predicted_mse(mechanism, population)
    assert abs(np.mean(errors) - theory) < 6 * stats.sem(errors) + theory / 20
    assert theory > 10 * mechanism.variance() / population.users  # users do not remove the bias


def test_the_error_of_rappor_is_that_of_least_squares_to_first_order() -> None:
    """Seven standard errors (t at 40 repeats: 2.2e-8), and a tenth for what theory to first order leaves out."""
    population = Population.spread(numbered(16), zipf(16, 1.1), 10**6)
    mechanism = Rappor.calibrate(None, 2.0, cohorts=4, bits=32)
    errors = [run_trial(mechanism, population, seed)[0]["mse"] for seed in np.random.SeedSequence(5).spawn(40)]
    theory = predicted_mse(mechanism, population)
    assert abs(np.mean(errors) - theory) < 7 * stats.sem(errors) + theory / 10


@pytest.mark.parametrize("law", ["joint", "marginal"])
@pytest.mark.parametrize("name", CLOSED)
def test_trial_computes_the_same_errors_and_intervals_as_a_collector(name: str, law: Law) -> None:
    """Errors and intervals (counted in tests/simulations/test_coverage.py) are the same to the last bit."""
    population = Population.spread(numbered(40), zipf(40, 1.1), 3000)
    rng, mechanism = np.random.default_rng(np.random.SeedSequence(6)), named(name, 40, 1.0)
    if law == "marginal":
        whole = estimate(Marginal(whole=mechanism), population.labels, sample_support(mechanism, population, rng), 0.5)
    else:
        whole = estimate(mechanism, population.labels, sample_tally(mechanism, population, rng), 0.5)
    outcome = run_trial(mechanism, population, np.random.SeedSequence(6), law, 0.5, ("raw", "consistent"))
    expected = [scores(column, population.shares, 10) for column in (whole.frequency, whole.consistent)]
    held = intervals(whole.noise_low, whole.noise_high, population.shares)
    assert outcome == [expected[0] | held, expected[1] | dict.fromkeys(held)]


TRUTH = np.array([0.5, 0.3, 0.2, 0.0])


def test_every_measure_of_known_errors_is_right() -> None:
    assert scores(np.array([0.4, 0.3, 0.1, 0.2]), TRUTH, top=2) == pytest.approx(
        {"mse": 0.015, "l1": 0.4, "max_error": 0.2, "kl": None, "recall": 1.0}
    )
    assert intervals(np.zeros(4), np.full(4, 0.4), TRUTH) == pytest.approx({"coverage": 0.75, "width": 0.4})


def test_divergence_is_that_of_kullback_and_leibler_and_none_outside_the_support_of_the_truth() -> None:
    expected = 0.25 * math.log(0.5) + 0.75 * math.log(2.5)
    assert divergence(np.array([0.25, 0.75, 0.0, 0.0]), TRUTH) == pytest.approx(expected)
    assert divergence(TRUTH, TRUTH) == 0
    for frequency in ([0.5, 0.6, -0.1, 0.0], [0.5, 0.3, 0.3, 0.0], [0.5, 0.3, 0.1, 0.1]):
        assert divergence(np.array(frequency), TRUTH) is None


def test_recall_counts_the_frequent_among_those_taken_for_frequent_and_shares_ties() -> None:
    for most, share in ((2, 0.5), (3, 2 / 3), (99, 1.0)):
        assert recall(np.array([0.0, 0.9, 0.8, 0.1]), TRUTH, most) == pytest.approx(share)
    # One place is sure and right; the other is taken by one of three that tie, of which one is right.
    assert recall(np.array([0.0, 0.9, 0.0, 0.0]), TRUTH, 2) == pytest.approx((1 + 1 / 3) / 2)
    # Values as frequent as the last that counts count as well.
    assert recall(np.array([0.1, 0.2, 0.9, 0.0]), np.array([0.4, 0.3, 0.3, 0.0]), 2) == 1.0


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
    if step in {"clip", "rescale"}:
        assert not apply(step, np.array([-0.1, -0.2])).any()
