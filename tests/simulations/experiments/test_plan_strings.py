"""``dither-sim plan --type string``: who can be found, and when there is no hope; and ``--type selection``."""

import json

import pytest
from click.testing import CliRunner, Result

from dither_server.estimation.strings.reach import reach
from dither_shared import PrivSet
from dither_simulations.cli import main
from dither_simulations.trials.mechanism_by_name import named


def plan(kind: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", "--type", kind, *arguments])


def test_a_million_people_find_what_two_in_a_hundred_and_more_hold() -> None:
    (row,) = json.loads(plan("string", "--discover", "a-z0-9._-/12", "-n", "1e6", "--epsilon", "1", "--json").stdout)
    assert row["reach"] == pytest.approx(0.0234, rel=0.01)
    assert row["reached"] is False, "1 % are wanted"
    assert row["users_needed"] == pytest.approx(5.5e6, rel=0.02)
    assert row["users_listed"] < row["users_needed"] / 3


def test_the_users_needed_are_those_whose_reach_is_the_share() -> None:
    (row,) = json.loads(plan("string", "-k", "1000", "--epsilon", "2", "--share", "0.003", "--json").stdout)
    mechanism = named("projective-count-mean-sketch", 0, 2.0)
    assert reach(mechanism, row["users_needed"], 1000) == pytest.approx(0.003, rel=0.06), "two digits are told"
    assert row["users_listed"] is None


def test_hope_is_refused_in_words() -> None:
    told = plan("string", "--discover", "!-~/24", "-n", "1e6", "--epsilon", "1").stdout
    assert "Do not hope at ε = 1" in told
    assert "shorter strings, fewer characters or a list" in told
    assert "no string at all" in plan("string", "--discover", "a-z/12", "-n", "100", "--epsilon", "1").stdout
    assert "Do not hope" not in plan("string", "-k", "100", "-n", "1e8", "--epsilon", "1").stdout


def test_a_selection_is_planned_for_an_item_that_half_of_all_have() -> None:
    rows = json.loads(plan("selection", "-k", "8", "--at-most", "2", "--epsilon", "1", "--json").stdout)
    assert [(row["mechanism"], row["chosen"]) for row in rows] == [("privset", True), ("set-response", False)]
    variance = PrivSet.calibrate(8, 1.0, at_most=2).variance(0.5) + 0.25
    assert rows[0]["users_needed"] == pytest.approx(variance * (1.959964 / 0.01) ** 2, rel=1e-4)
    told = plan("selection", "-k", "8", "--epsilon", "1").stdout
    assert "any of 8 items" in told
    assert "Asked one by one, at ε/8 each: 2,464,939 users" in told
    assert "Yes: with" in plan("selection", "-k", "8", "-n", "1e6").stdout
