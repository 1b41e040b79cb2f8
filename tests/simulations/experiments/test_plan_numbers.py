"""The command ``dither-sim plan --type number``: how many users a mean or a quantile takes."""

import json
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy import stats

from dither_shared import ParameterError
from dither_simulations.cli import main
from dither_simulations.experiments.plan.numbers import NumberPlanner
from dither_simulations.trials.mechanism_by_name import named_numeric
from dither_simulations.trials.number_trial import NumberSetting, run_number_trial
from dither_simulations.users.numbers import Numbers


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", "--type", "number", *arguments])


def number(epsilon: float = 1.0, **more: Any) -> NumberPlanner:
    return NumberPlanner(epsilons=(epsilon,), **more)


@pytest.mark.parametrize(
    ("epsilon", "mean", "median", "high"),
    [(0.5, 156_899, 640e3, 2.4e6), (1, 43_080, 145e3, 411e3), (2, 11_438, 34e3, 60e3), (4, 4_470, 7.2e3, 6.5e3)],
)
def test_users_needed_are_those_of_the_variances(epsilon: float, mean: int, median: float, high: float) -> None:
    """Mean ± 1% of the range; the median ± 2% in rank and p95 ± 1%, within a sixteenth of the range."""
    mechanism = named_numeric("dithered-response", epsilon)
    assert number().users_for(mechanism) == mean
    assert number(rank=0.5, error=0.02).users_for(mechanism) == pytest.approx(median, rel=0.02)
    assert number(rank=0.95).users_for(mechanism) == pytest.approx(high, rel=0.02)


def test_so_many_users_give_the_mean_as_wanted() -> None:
    """Of 100 means of even answers 95% are within 1%: fewer than 80 with probability below 1e-6."""
    assert stats.binom.cdf(79, 100, 0.95) < 1e-6
    mechanism = named_numeric("dithered-response", 2.0)
    setting = NumberSetting(mechanism, Numbers("uniform").shares(mechanism.size), number().users_for(mechanism))
    errors = [run_number_trial(setting, seed)[0]["error"] for seed in np.random.SeedSequence(8).spawn(100)]
    assert 80 <= sum(error <= 0.01 for error in errors) < 100


def test_so_many_users_give_the_quantile_as_wanted() -> None:
    """Within the rank or the part of the range that was asked for, as often as 95%; of 60 fewer than 43: 1e-9."""
    assert stats.binom.cdf(43, 60, 0.95) < 1e-8
    question, mechanism = number(rank=0.95, error=0.02), named_numeric("dithered-response", 2.0)
    shares = Numbers("uniform").shares(mechanism.size)
    setting = NumberSetting(mechanism, shares, question.users_for(mechanism), quantiles=(0.95,))
    scores = [run_number_trial(setting, seed)[2] for seed in np.random.SeedSequence(8).spawn(60)]
    assert sum((one["rank"] or 0) <= 0.02 or (one["error"] or 0) <= 1 / 16 for one in scores) >= 44


def test_each_epsilon_is_told_by_the_usual_steps_and_by_those_for_the_mean() -> None:
    rows = json.loads(run("--epsilon", "1,2", "-n", "50000", "--json").stdout)
    assert [(row["epsilon"], row["mechanism"], row["steps"]) for row in rows] == [
        (1, "dithered-response", 2),
        (1, "dithered-response-mean", 1),
        (2, "dithered-response", 3),
        (2, "dithered-response-mean", 2),
    ]
    for row in rows:
        assert row["reached"]
        assert 0.99 * row["users_least"] < row["users_needed"]
        assert row["margin"] == pytest.approx(0.01 * (row["users_needed"] / 50_000) ** 0.5)


def test_the_least_epsilon_is_found_or_there_is_none() -> None:
    told = run("-n", "43080").stdout
    assert "Yes: with 43,080 users ε = 1 is the least that will do." in told
    assert "No: 50 users cannot do it" in run("-n", "50").stdout


def test_a_threshold_and_a_short_list_are_better_asked_otherwise() -> None:
    """A coin of 1 in e + 1 lies: σ(1-σ)/(p-q)² with σ = q + 0.95 (p-q), 37,211 users rather than ten times as many."""
    (row,) = number(rank=0.95, size=10).rows()
    assert row["users_threshold"] == pytest.approx(37_211, rel=1e-3)
    told = run("--aim", "p95", "--epsilon", "1", "-k", "10").stdout
    assert "type boolean" in told
    assert "type choice" in told
    assert "type choice" not in run("--aim", "p95", "--epsilon", "1", "-k", "17").stdout
    assert "type boolean" not in run("--epsilon", "1").stdout


def test_a_permanent_part_is_planned_too() -> None:
    (row, _) = json.loads(run("--epsilon", "1", "--permanent-epsilon", "2", "--json").stdout)
    assert 1.9 < row["epsilon_days"] <= row["epsilon_forever"] <= 2
    assert row["users_least"] is None
    assert row["points"] == 33


def test_a_question_must_make_sense() -> None:
    for wrong in ({"error": 1.5}, {"within": 0.0}, {"confidence": 0.0}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            number(**wrong)
