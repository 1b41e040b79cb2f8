"""The command ``dither-sim plan --type number``: how many users a mean or a quantile takes."""

import json
import re
from functools import partial
from typing import Any

import numpy as np
import pytest

from dither_server.estimation.numeric.estimate import estimate_number
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.reading.summaries.number_scale import Scale
from dither_simulations.experiments.plan.numbers import NumberPlanner
from dither_simulations.mechanism_by_name import named_numeric
from dither_simulations.samplers import sample_tally
from dither_simulations.users.numbers import NumberDistribution
from dither_simulations.users.populations import Population, numbered
from simulations.lab import lab

run = partial(lab, "plan --type number")


def number(epsilon: float = 1.0, **more: Any) -> NumberPlanner:
    return NumberPlanner(epsilons=(epsilon,), **more)


@pytest.mark.parametrize("epsilon", [0.5, 4])
def test_users_needed_of_a_mean_are_those_of_the_worst_variance(epsilon: float) -> None:
    """The mean's interval may be wider by chance in one of ten surveys that miss: its error has nine tenths of 5%."""
    mechanism = named_numeric("dithered-response", epsilon)
    law, points = law_of(mechanism), np.linspace(0, 1, mechanism.size)
    worst = 0.0
    variances = np.array([float(mechanism.mean_variance(point)) for point in range(mechanism.size)])
    for seed in range(50):
        shares = np.random.default_rng(seed).dirichlet(np.full(mechanism.size, 0.02))
        worst = max(worst, float(shares @ (variances + points**2) - (shares @ points) ** 2))
    needed = number().needed(mechanism) or 0
    least, most = (variance * 2.004654**2 / 0.01**2 for variance in (worst, law.worst_variance + 1 / 4))
    assert least <= needed <= 1.01 * most


def test_the_printed_interval_of_a_quantile_is_as_narrow_as_planned() -> None:
    """This holds in 95 of 100 surveys: P[Bin(40, 0.95) < 29] = 4e-7. A third of the users are too few."""
    rank, error = 0.95, 0.03
    plan = number(3.0, rank=rank, error=error)
    (mechanism,) = plan.mechanisms(3.0)
    users, law, last = plan.needed(mechanism) or 0, law_of(mechanism), mechanism.size - 1
    scale = Scale(0.0, 1.0, False, "", last)
    kept, shares = [0, 0], NumberDistribution("uniform").shares(mechanism.size)
    for seed in range(40):
        for few, people in enumerate((users, users // 3)):
            drawn = np.random.default_rng(seed).multinomial(people, shares)
            tally = sample_tally(mechanism, Population(numbered(mechanism.size), drawn), np.random.default_rng(seed))
            printed = scale.quantile(estimate_number(law, tally).quantiles((rank,))[0], people)
            kept[few] += rank - error <= printed["low"] and printed["high"] <= rank + error
    assert kept[0] >= 29
    assert kept[1] < 20


def test_a_quantile_is_no_better_known_than_to_a_step_of_the_grid() -> None:
    output = run("--aim", "p50", "--epsilon", "1", "--error", "0.005").stdout
    assert "At ε = 1 no interval reaches less than ± 0.781 %" in output  # of 129 points


def test_plan_shows_each_epsilon_with_both_kinds_of_steps() -> None:
    rows = json.loads(run("--epsilon", "2", "-n", "50000", "--json").stdout)
    assert [(row["asked"], row["mechanism"], row["steps"]) for row in rows] == [
        (2, "dithered-response", 3),
        (2, "dithered-response-mean", 2),
    ]
    for row in rows:
        assert row["reached"] == (row["users_needed"] <= 50_000)
        assert 0.99 * row["users_least"] < row["users_needed"]
        assert row["margin"] == pytest.approx(0.01 * (row["users_needed"] / 50_000) ** 0.5, rel=1e-2)


def test_the_least_epsilon_is_found_or_there_is_none() -> None:
    assert re.search("Yes: with 43,080 users ε = 1.22 is the smallest that is enough", run("-n", "43080").stdout)
    assert "No: 50 users are not enough" in run("-n", "50").stdout


def test_a_threshold_and_a_short_list_are_better_asked_otherwise() -> None:
    """A coin of 1 in e + 1 lies: about σ(1-σ)/(p-q)² with σ = q + 0.95 (p-q), 37,211 users."""
    (row,) = number(rank=0.95, size=10).rows()
    assert row["users_threshold"] == pytest.approx(37_211, rel=0.03)
    output = run("--aim", "p95", "--epsilon", "1", "-k", "10").stdout
    assert "type boolean" in output
    assert "type choice" in output
    assert "type choice" not in run("--aim", "p95", "--epsilon", "1", "-k", "17").stdout
    assert "type boolean" not in run("--epsilon", "1").stdout


def test_plan_of_a_number_includes_a_permanent_part() -> None:
    (row, _) = json.loads(run("--epsilon", "1", "--permanent-epsilon", "2", "--json").stdout)
    assert 1.9 < row["epsilon_days"] <= row["epsilon_forever"] <= 2
    assert row["users_least"] is None
    assert row["points"] == 33
