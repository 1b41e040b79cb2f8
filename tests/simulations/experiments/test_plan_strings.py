"""``dither-sim plan --type string``: who can be found, and when there is no hope; and ``--type selection``."""

import json

import pytest
from click.testing import CliRunner, Result

from dither_server.estimation.planning import reach
from dither_shared import PrivSet
from dither_simulations.cli import main
from dither_simulations.trials.mechanism_by_name import named


def plan(kind: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", "--type", kind, *arguments])


def test_a_million_people_find_what_two_in_a_hundred_and_more_hold() -> None:
    (row,) = json.loads(plan("string", "--discover", "a-z0-9._-/12", "-n", "1e6", "--epsilon", "1", "--json").stdout)
    assert row["margin"] == pytest.approx(0.0263, rel=0.01)
    assert row["reached"] is False, "1 % are wanted"
    assert row["users_needed"] == pytest.approx(7.2e6, rel=0.02)
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


def test_a_selection_is_planned_for_its_worst_share() -> None:
    rows = json.loads(plan("selection", "-k", "8", "--at-most", "2", "--epsilon", "1", "--json").stdout)
    assert [(row["mechanism"], row["chosen"]) for row in rows] == [("privset", True), ("set-response", False)]
    mechanism = PrivSet.calibrate(8, 1.0, at_most=2)
    worst = mechanism.variance(rows[0]["share"]) + rows[0]["share"] * (1 - rows[0]["share"])
    assert rows[0]["users_needed"] == pytest.approx(worst * (1.959964 / 0.01) ** 2, rel=0.01)
    text = plan("selection", "-k", "8", "--epsilon", "1").stdout
    assert "any of 8 items" in text
    assert "Asked one by one, at ε = 1/8 each: 2,46" in text
    assert "Yes: with" in plan("selection", "-k", "8", "-n", "1e6").stdout


def test_pairs_of_items_take_more_people_than_items() -> None:
    items, pairs = (
        json.loads(plan("selection", "-k", "8", "--epsilon", "2,3", *more, "--json").stdout)
        for more in ([], ["--pairs"])
    )
    assert all(one["users_needed"] < two["users_needed"] for one, two in zip(items, pairs, strict=True))
    text = plan("selection", "-k", "8", "--pairs", "--epsilon", "1,2").stdout
    assert "who have two items" in text
    assert "At ε = 1 no report speaks of two items: " in text
    assert "needs --type selection" in plan("share", "-k", "8", "--pairs").output
