"""The experiment of ``dither-sim error``: cells, laws and what a row says."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dither_shared import ParameterError
from dither_simulations.choices import LAWS, Law
from dither_simulations.experiments.error.shares import ShareAccuracy, expected, least_mse
from dither_simulations.mechanism_by_name import CLOSED, named
from dither_simulations.sweeps import seeds, sweep
from dither_simulations.users.populations import Distribution, Population

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


def backwards(function: Callable[[Any], Any], items: Sequence[Any], /) -> Iterator[Any]:
    return iter([function(item) for item in reversed(items)][::-1])


def test_the_numbers_do_not_depend_on_the_order_of_the_trials() -> None:
    assert sweep(PLAN) == sweep(PLAN, backwards)


def test_every_trial_has_a_seed_of_its_own() -> None:
    states = {tuple(seed.generate_state(4)) for place in range(4) for seed in seeds(PLAN, place)}
    assert len(states) == 2 * 2 * 4


def test_rows_come_in_the_order_of_the_grid() -> None:
    plan = replace(SMALL, sizes=(4, 5), users=(100, 200), steps=("raw", "clip"), repeats=1)
    rows = [(row["mechanism"], row["size"], row["users"], row["epsilon"], row["step"]) for row in sweep(plan)]
    assert rows == [
        (name, size, users, epsilon, step)
        for name in ("randomized-response", "symmetric-unary")
        for size in (4, 5)
        for users in (100, 200)
        for epsilon in (0.5, 2.0)
        for step in ("raw", "clip")
    ]


def test_an_epsilon_out_of_range_is_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        sweep(replace(PLAN, epsilons=(26.0,)))


def test_a_row_is_the_mean_over_its_repeats_with_its_standard_error() -> None:
    row = sweep(PLAN)[1]
    outcomes = [PLAN.simulate(PLAN.cells()[1], seed) for seed in seeds(PLAN, 1)]
    for name in ("mse", "l1", "max_error", "recall"):
        values = [outcome[0][name] for outcome in outcomes]
        assert row[name] == pytest.approx(np.mean(values))
        assert row[f"{name}_se"] == pytest.approx(stats.sem(values))
    for name in ("coverage", "width"):
        values = [outcome[0][name] for outcome in outcomes]
        assert row[name] == pytest.approx(np.mean(values))
        assert row[f"{name}_se"] == pytest.approx(stats.sem(values))


def test_one_repeat_has_no_standard_error() -> None:
    assert {row["mse_se"] for row in sweep(replace(PLAN, repeats=1))} == {None}


def test_steps_are_taken_from_the_same_trials_and_the_projection_never_errs_more() -> None:
    rows = {row["step"]: row for row in sweep(replace(PLAN, epsilons=(0.5,), steps=("raw", "consistent", "shift")))[:3]}
    assert rows["consistent"]["mse"] < rows["raw"]["mse"]
    # In randomized response estimates sum to 1 by themselves, so that a shift changes nothing.
    assert rows["shift"]["mse"] == pytest.approx(rows["raw"]["mse"], rel=1e-9)
    assert rows["consistent"]["kl"] is not None
    assert {rows["consistent"][name] for name in ("mse_theory", "coverage", "width")} == {None}


def test_auto_is_listed_under_the_mechanism_that_it_chose() -> None:
    rows = sweep(replace(PLAN, names=("auto",), epsilons=(0.5, 5.0)))
    assert [(row["asked"], row["mechanism"]) for row in rows] == [
        ("auto", "subset-selection"),
        ("auto", "randomized-response"),
    ]


@pytest.mark.parametrize("law", LAWS)
def test_a_row_says_which_law_was_drawn(law: Law) -> None:
    assert {row["law"] for row in sweep(replace(SMALL, law=law))} == {law}


def test_hashing_ties_values_together() -> None:
    with pytest.raises(ParameterError, match=r"law: .*rappor"):
        sweep(replace(PLAN, names=("rappor",), law="marginal"))


def test_rows_show_the_epsilon_spent_by_day() -> None:
    """Memoisation bounds it; the error of a day does not depend on how many there were, but for the drift."""
    plan = replace(PLAN, names=("optimized-unary",), epsilons=(1.0,), days=40, repeats=1, source=replace(ZIPF, drift=1))
    fresh, lasting = sweep(plan), sweep(replace(plan, permanent_epsilon=2.0))
    assert [row["epsilon_spent"] for row in fresh] == pytest.approx(range(1, 41))
    assert lasting[0]["epsilon_spent"] == pytest.approx(1.0)
    assert 1.9 < lasting[6]["epsilon_spent"] < lasting[-1]["epsilon_spent"] <= 2.0
    first, second = (plan.population(cell).counts for cell in plan.cells()[:2])
    assert second.tolist() == first[::-1].tolist()


@pytest.mark.parametrize("name", CLOSED)
def test_theory_says_what_errors_and_widths_come_out(name: str) -> None:
    """Six standard errors: at 60 repeats Student's t is farther out with probability below 1.3e-7, in 16 tests.

    The largest shares are estimated by few thousand users, and a binomial is not quite normal: a hundredth more.
    """
    plan = replace(PLAN, names=(name,), epsilons=(1.0,), sizes=(32,), users=(20_000,), repeats=60, seed=5)
    (row,) = sweep(plan)
    for measure in ("mse", "l1", "width"):
        value, theory, error = (row[f"{measure}{of}"] for of in ("", "_theory", "_se"))
        assert abs(value - theory) < 6 * error + 0.01 * theory, measure
    assert row["mse_theory"] is not None
    assert row["mse_theory"] >= row["mse_bound"] * (1 - 1e-12)


def test_the_bound_is_that_of_the_field() -> None:
    """4e^ε/(e^ε-1)²/n for a value among many (Ye and Barg 2019); for two values the variance of a fair coin's lie."""
    assert 1e6 * least_mse(16_384, 1.0, 10**6) == pytest.approx(4 * math.e / (math.e - 1) ** 2, rel=2e-3)
    assert 1e6 * least_mse(2, 1.0, 10**6) == pytest.approx(math.e / (math.e - 1) ** 2, rel=1e-12)


def test_open_domains_have_no_simple_theory_of_widths() -> None:
    population = ZIPF.population(4, 1000)
    told = expected(named("count-mean-sketch", 4, 1.0), population, 1.0, 0.95)
    assert (told["l1_theory"], told["width_theory"]) == (None, None)


def test_a_file_that_counts_otherwise_is_another_sweep() -> None:
    one, other = (Population(("a", "b"), np.array(counts)) for counts in ([10, 20], [11, 19]))
    plan = replace(SMALL, sizes=(2,), users=(30,), source=one)
    assert plan.identity() == replace(plan, source=one).identity()
    assert plan.identity() != replace(plan, source=other).identity()
    assert plan.identity() != replace(plan, seed=1).identity()


def test_a_sweep_is_the_same_wherever_its_collector_is_reached() -> None:
    plan = replace(SMALL, names=("rappor",), law="collector", collector="http://a/?token=x")
    assert replace(plan, collector="http://b").identity() == plan.identity()
    assert replace(plan, law="joint", collector="").identity() != plan.identity()
