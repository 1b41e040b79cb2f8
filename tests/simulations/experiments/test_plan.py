"""The command ``dither-sim plan``: which epsilon and how many users a survey needs."""

import json
import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks.plans import KINDS
from benchmarks.plans import run as run_plans
from dither_server.analysis.shuffling.amplified import amplified, keeps, local_epsilon, require_mixed
from dither_server.estimation.estimate import estimate
from dither_server.estimation.planning import reach
from dither_shared import PrivSet, parse_metrics
from dither_shared.mechanisms.auto import candidates, choose
from dither_shared.privacy.wording import MEMOISATION
from dither_simulations.experiments.plan.planner import RelayPlan
from dither_simulations.experiments.plan.shares import SelectionPlanner, SharePlanner
from dither_simulations.mechanism_by_name import named
from dither_simulations.samplers import sample_tally
from dither_simulations.sweeps import Row
from dither_simulations.users.populations import Population, numbered
from simulations.lab import lab

run = partial(lab, "plan")


def shares(size: int, epsilon: float = 1.0, **more: Any) -> SharePlanner:
    return SharePlanner(size=size, epsilons=(epsilon,), **more)


def chosen(plan: SharePlanner) -> Row:
    (row,) = (row for row in plan.rows() if row["chosen"])
    return row


def needed(plan: SharePlanner) -> int:
    return plan.needed(plan.mechanisms(plan.epsilons[0])[0]) or 0


def test_users_needed_are_those_of_the_worst_variance() -> None:
    """For two values a share of one half is the worst: z²/(4 error² (p-q)²) users, and a few more for whole counts."""
    for epsilon, error in ((1.0, 0.01), (4.0, 0.03), (0.3, 0.05)):
        gap = math.tanh(epsilon / 2)
        normal = 1.959964**2 / (4 * error**2 * gap**2)
        assert normal < needed(shares(2, epsilon, error=error)) < normal + 2 / (error * gap) + 2


def test_a_hundred_users_do_not_know_every_share_to_three_points() -> None:
    """At ε = 4 and a share of 0.3 the interval reaches 11 points, although that of an absent value is narrower."""
    for share in (None, 0.3):
        (row,) = (row for row in shares(4, 4.0, users=100, error=0.03, share=share).rows() if row["chosen"])
        assert not row["reached"]
        assert row["margin"] > 0.1
    assert shares(4, 4.0, users=100, error=0.03).least() is None


def test_users_needed_give_the_error_that_was_wanted() -> None:
    plan = shares(20, error=0.02)
    enough = replace(plan, users=needed(plan))
    row = chosen(enough)
    assert row["margin"] == pytest.approx(0.02, rel=1e-3)
    assert row["reached"]
    assert not chosen(replace(enough, users=needed(plan) - 1))["reached"]


def test_candidates_are_those_of_the_choice_best_first() -> None:
    rows = shares(200, budget=3).rows()
    best = choose(200, 1.0, budget=3).name
    others = [candidate.name for candidate in candidates(200, 1.0) if candidate.name != best]
    assert [row["mechanism"] for row in rows] == [best, *others]
    assert [(row["fits"], row["chosen"]) for row in rows[:2]] == [(True, True), (False, False)]


def test_losses_add_up_unless_a_permanent_part_whose_limit_is_said_bounds_them() -> None:
    lasting, fresh = shares(10, permanent_epsilon=2.0), shares(10, 0.5, days=100)
    for row in lasting.rows():
        assert row["epsilon"] <= row["epsilon_days"] <= row["epsilon_forever"] <= 2.0
    row = chosen(fresh)
    assert (row["epsilon_forever"], row["epsilon_days"]) == (None, pytest.approx(100 * row["epsilon"]))
    assert [MEMOISATION in plan.explain(plan.rows()) for plan in (lasting, fresh)] == [True, False]


def test_the_share_that_is_planned_for_is_named() -> None:
    worst, at = (run("-k", "2", "--epsilon", "1,2", *more).stdout for more in ((), ("--share", "0.3")))
    assert "for any share, of 2 values" in worst
    assert "worst share" in worst
    assert "50 %" in worst
    assert "for a share of 30 %" in at
    assert "worst" not in at
    assert run("--type", "number", "--share", "0.3").exit_code == 2


def test_without_an_epsilon_candidates_are_weighed_and_the_least_that_will_do_is_found() -> None:
    few = ("-k", "20", "-n", "200000", "--days", "7")
    rows = json.loads(run(*few, "--json").stdout)
    assert [row["asked"] for row in rows] == [0.25, 0.5, 1, 2, 4]
    assert [row["epsilon_days"] for row in rows] == pytest.approx([1.75, 3.5, 7, 14, 28])
    assert all(row["chosen"] for row in rows)
    text = run(*few).stdout
    assert "Yes: with 200,000 users ε = " in text
    assert text.count("to a person") == 5


def test_the_least_epsilon_is_the_least() -> None:
    plan = shares(20, permanent_epsilon=2.0, users=200_000)
    least = plan.least()
    assert least is not None
    assert [chosen(replace(plan, epsilons=(each,)))["reached"] for each in (least, 0.98 * least)] == [True, False]


def test_where_no_epsilon_will_do_the_answer_is_no() -> None:
    assert shares(20).least() is None
    assert "No: 5 users are not enough at any ε of a report up to 8." in run("-k", "20", "-n", "5").stdout
    assert "No: " in run("-k", "20", "-n", "5000", "--permanent-epsilon", "1", "--epsilon", "0.2,0.5").stdout


def test_plan_allows_for_intervals_that_are_wider_by_chance() -> None:
    """Of items, means and pairs: the error of estimates and the width of intervals are kept together."""
    plan = SelectionPlanner(size=5, epsilons=(1.48,), error=0.0733, confidence=0.8)
    mechanism, missed, surveys = plan.mechanisms(1.48)[0], 0, 300
    people, rng = plan.needed(mechanism) or 0, np.random.default_rng(20261128)
    for _ in range(surveys):
        held = Population.drawn(("0", ""), np.array([0.5, 0.5]), people, rng)
        result = estimate(mechanism, numbered(5), sample_tally(mechanism, held, rng), 0.8)
        wide = result.high[0] - result.low[0] > 2 * plan.error
        missed += bool(wide or abs(result.frequency[0] - 0.5) > plan.error)
    assert stats.binom.sf(missed - 1, surveys, 0.2) > 1e-6  # 122 were missed when each had its own 1 in 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_surveys_are_as_precise_as_planned(kind: str) -> None:
    """Of two random plans, each in at least the promised part of surveys; less than 1e-6 of true plans fail.

    Slow because 16 plans are simulated as a whole; one of strings takes half a second a survey.
    """
    surveys = 25 if kind in {"strings", "discovery"} else 60
    result = run_plans(kind, 2, surveys)
    for kept, promised in zip(result.kept, result.promised, strict=True):
        assert stats.binom.cdf(kept, surveys, promised) > 5e-7


of_type = partial(lab, "plan --type")


def test_a_million_people_discover_strings_of_two_percent() -> None:
    (row,) = json.loads(of_type("string", "--discover", "a-z0-9._-/12", "-n", "1e6", "--epsilon", "1", "--json").stdout)
    assert row["margin"] == pytest.approx(0.0263, rel=0.01)
    assert row["reached"] is False, "1 % are wanted"
    assert row["users_needed"] == pytest.approx(7.2e6, rel=0.02)
    assert row["users_listed"] < row["users_needed"] / 3


def test_planned_users_reach_the_wanted_share() -> None:
    (row,) = json.loads(of_type("string", "-k", "1000", "--epsilon", "2", "--share", "0.003", "--json").stdout)
    mechanism = named("projective-count-mean-sketch", 0, 2.0)
    assert reach(mechanism, row["users_needed"], 1000) == pytest.approx(0.003, rel=0.06), "two digits are printed"
    assert row["users_listed"] is None


def test_plan_says_in_words_if_strings_cannot_be_found() -> None:
    output = of_type("string", "--discover", "!-~/24", "-n", "1e6", "--epsilon", "1").stdout
    assert "Do not hope at ε = 1" in output
    assert "shorter strings, fewer characters or a list" in output
    assert "no string at all" in of_type("string", "--discover", "a-z/12", "-n", "100", "--epsilon", "1").stdout
    assert "Do not hope" not in of_type("string", "-k", "100", "-n", "1e8", "--epsilon", "1").stdout


def test_a_selection_is_planned_for_its_worst_share() -> None:
    rows = json.loads(of_type("selection", "-k", "8", "--at-most", "2", "--epsilon", "1", "--json").stdout)
    assert [(row["mechanism"], row["chosen"]) for row in rows] == [("privset", True), ("set-response", False)]
    mechanism = PrivSet.calibrate(8, 1.0, at_most=2)
    worst = mechanism.variance(rows[0]["share"]) + rows[0]["share"] * (1 - rows[0]["share"])
    assert rows[0]["users_needed"] == pytest.approx(worst * (1.959964 / 0.01) ** 2, rel=0.01)
    text = of_type("selection", "-k", "8", "--epsilon", "1").stdout
    assert "any of 8 items" in text
    assert "Asked one by one, at ε = 1/8 each: 2,46" in text
    assert "Yes: with" in of_type("selection", "-k", "8", "-n", "1e6").stdout


def test_pairs_of_items_take_more_people_than_items() -> None:
    items, pairs = (
        json.loads(of_type("selection", "-k", "8", "--epsilon", "2,3", *more, "--json").stdout)
        for more in ([], ["--pairs"])
    )
    assert all(one["users_needed"] < two["users_needed"] for one, two in zip(items, pairs, strict=True))
    text = of_type("selection", "-k", "8", "--pairs", "--epsilon", "1,2").stdout
    assert "who have two items" in text
    assert "At ε = 1 no report speaks of two items: " in text
    assert "needs --type selection" in of_type("share", "-k", "8", "--pairs").output


mixed = partial(lab, "plan --relay")


def test_the_batch_reaches_the_aim_keeps_its_epsilon_and_one_report_less_does_not() -> None:
    plan = SharePlanner(size=4, epsilons=(1.0,), error=0.05, days=13)
    (row,) = RelayPlan(plan, 1e-6).rows()
    least, local = row["least"], row["local"]
    mechanism = choose(4, local)
    assert keeps(mechanism, 1.0, least, 1e-6)
    assert plan.margin(mechanism, np.array([least]))[0] <= 0.05
    below = local_epsilon(partial(choose, 4), 1.0, least - 1, 1e-6)[1]
    assert plan.margin(below, np.array([least - 1]))[0] > 0.05
    assert least < row["users_local"] / 5  # at the same ε of a batch
    together = amplified(mechanism, least, 1e-6).after(13)
    assert (row["epsilon_days"], row["delta_days"]) == together
    assert together[0] < amplified(mechanism, least, 1e-6, own=13).best / 2  # as when they could share a batch


def test_a_definition_with_the_lines_that_are_printed_is_one_that_a_collector_takes() -> None:
    shown = mixed("-k", "2", "--epsilon", "0.5", "--error", "0.2", "-n", "100")
    assert shown.exit_code == 0, shown.output
    lines = [line.strip() for line in shown.stdout.splitlines() if line.startswith(("  epsilon = ", "  mixed = "))]
    metrics = parse_metrics("\n".join(['[metrics.x]\ntype = "choice"\nvalues = ["a"]', *lines]))
    require_mixed(metrics.values())
    assert metrics["x"].mixed is not None
    assert "100 users in each period never fill a batch" in shown.stdout
    assert 'or once (period = "once": full after ' in shown.stdout
    full = mixed("-k", "2", "--error", "0.2", "-n", "100000").stdout
    assert "100,000 users in each period fill a batch each period." in full
