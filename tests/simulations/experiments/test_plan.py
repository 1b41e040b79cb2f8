"""The command ``dither-sim plan``: which epsilon and how many users a survey needs."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dither_shared import ParameterError
from dither_shared.mechanisms.auto import candidates, choose
from dither_shared.privacy.wording import MEMOISATION
from dither_simulations.cli import main
from dither_simulations.experiments.plan.shares import SharePlanner
from dither_simulations.sweeps import Row


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["plan", *map(str, arguments)])


def shares(size: int, epsilon: float = 1.0, **more: Any) -> SharePlanner:
    return SharePlanner(size=size, epsilons=(epsilon,), **more)


def chosen(plan: SharePlanner) -> Row:
    (row,) = (row for row in plan.rows() if row["chosen"])
    return row


def test_users_needed_are_those_of_the_variance() -> None:
    """Wang et al. 2017: n·Var of optimised unary encoding is 4e^ε/(e^ε-1)², so 36,826 users for 1 % at ε = 1."""
    one_standard_error = math.erf(1 / math.sqrt(2))
    rows = {row["mechanism"]: row for row in shares(100, error=0.01, confidence=one_standard_error).rows()}
    assert rows["optimized-unary"]["users_needed"] == pytest.approx(36_827, abs=1)
    assert rows["optimized-unary"]["standard_error"] is None


def test_users_needed_give_the_error_that_was_wanted() -> None:
    needed = chosen(shares(100, error=0.02))["users_needed"]
    enough = shares(100, users=needed, error=0.02)
    assert chosen(enough)["margin"] == pytest.approx(0.02, rel=1e-4)
    assert enough.reached(enough.needed(1.0))
    assert not replace(enough, users=needed - 1).reached(enough.needed(1.0))


def test_candidates_are_those_of_the_choice_best_first() -> None:
    rows = shares(1000, budget=16).rows()
    assert [row["mechanism"] for row in rows] == [one.mechanism.name for one in candidates(1000, 1.0)]
    assert chosen(shares(1000, budget=16))["mechanism"] == choose(1000, 1.0, budget=16).name
    assert [row["fits"] for row in rows if row["chosen"]] == [True]
    assert not rows[0]["fits"]


def test_a_permanent_part_bounds_the_loss_and_its_limit_is_said() -> None:
    plan = shares(50, permanent_epsilon=2.0)
    for row in plan.rows():
        assert row["epsilon"] <= row["epsilon_10"] <= row["epsilon_100"] <= row["epsilon_forever"] <= 2.0
    assert MEMOISATION in plan.explain(plan.rows())
    assert MEMOISATION not in shares(50).explain(shares(50).rows())


def test_without_one_every_report_adds_up() -> None:
    row = chosen(shares(50, 0.5))
    assert row["epsilon_forever"] is None
    assert row["epsilon_100"] == pytest.approx(100 * row["epsilon"])


def test_the_answer_is_no_if_the_users_are_too_few() -> None:
    result = run("-k", "100", "--epsilon", "1", "-n", "5000")
    assert result.exit_code == 0
    needed = shares(100).needed(1.0)
    assert "No: 5,000 users give only ± 5.25 %" in result.stdout
    assert f"± 1 % takes {needed:,} users." in result.stdout
    assert "Yes: " in run("-k", "100", "--epsilon", "1", "-n", "1e6").stdout


def test_the_table_fits_a_terminal_and_names_each_candidate() -> None:
    result = run("-k", "1000", "--epsilon", "1", "--permanent-epsilon", "2", "-n", "1e9")
    table = [
        line for line in result.stdout.splitlines() if "risk/optimum" in line or line.startswith("optimized-unary")
    ]
    assert len(table) == 2
    assert all(len(line) <= 120 for line in table)
    assert "in 100" in result.stdout  # the odds, in words


def test_without_an_epsilon_candidates_are_weighed_and_the_least_that_will_do_is_found() -> None:
    result = run("-k", "100", "-n", "200000", "--days", "7", "--json")
    rows = json.loads(result.stdout)
    assert [round(row["epsilon"], 9) for row in rows] == [0.25, 0.5, 1, 2, 4]
    assert [row["epsilon_days"] for row in rows] == pytest.approx([1.75, 3.5, 7, 14, 28])
    assert all(row["chosen"] for row in rows)
    told = run("-k", "100", "-n", "200000", "--days", "7").stdout
    assert "Yes: with 200,000 users ε = " in told
    assert told.count("to a person") == 5


@pytest.mark.parametrize("permanent", [None, 2.0])
def test_the_least_epsilon_is_the_least(permanent: float | None) -> None:
    plan = shares(100, permanent_epsilon=permanent, users=200_000)
    least = plan.least()
    assert least is not None
    assert plan.reached(plan.needed(least))
    assert not plan.reached(plan.needed(0.98 * least))


def test_where_no_epsilon_will_do_the_answer_is_no() -> None:
    assert shares(100).least() is None
    assert shares(100, users=5).least() is None
    assert "No: 5 users cannot do it at any ε of a report up to 8." in run("-k", "100", "-n", "5").stdout
    assert "No: " in run("-k", "100", "-n", "20000", "--permanent-epsilon", "1", "--epsilon", "0.2,0.5").stdout


def test_a_question_must_make_sense() -> None:
    for wrong in ({"error": 1.5}, {"confidence": 0.0}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            shares(16, **wrong)
