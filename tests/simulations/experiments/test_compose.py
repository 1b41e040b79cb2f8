"""The command ``dither-sim compose``; the bounds themselves are tested in tests/server/analysis."""

from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from dither_server.analysis.composition import Part, optimal
from dither_shared.privacy.wording import MEMOISATION
from simulations.lab import lab, rows_of

METRICS = """
[metrics]
theme = {type = "boolean", epsilon = 1.0}
crash = {type = "boolean", epsilon = 0.5, period = "week"}
plan = {type = "choice", values = ["free", "paid"], other = "other", epsilon = 1.0, permanent_epsilon = 2.0}
page = {type = "string", epsilon = 1.0, permanent_epsilon = 2.0, cap = 9.0}
age = {type = "boolean", epsilon = 3.0, period = "once"}
rare = {type = "boolean", epsilon = 1.0, cap = 7.5}
size = {type = "number", low = 0, high = 9, mechanism = "discrete-gaussian", epsilon = 1, delta = 1e-9, period = "week"}
exported = {type = "boolean", of = "any", period = "month", epsilon = 1.0}
kept = {type = "choice", values = ["0", "1", "4"], of = "weeks-since-first-use", period = "week", epsilon = 2.0}
"""


@pytest.fixture
def metrics(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.toml"
    path.write_text(METRICS)
    return path


run = partial(lab, "compose")


rows = partial(rows_of, "compose")


def test_compose_shows_the_sum_the_theorem_and_the_optimum_for_one_question() -> None:
    (row,) = rows("--epsilon", "1", "--reports", "30")
    assert row["sum"] == 30
    assert row["advanced"] == pytest.approx(80.34, abs=0.01)
    assert row["optimal"] == pytest.approx(29.988, abs=0.001)
    assert (row["part"], row["reports"], row["epsilon"]) == ("1x30", 30, 1.0)
    assert row["delta"] == pytest.approx(1e-6)
    assert Fraction(row["delta"]) >= Fraction("1e-6")
    output = run("--epsilon", "1", "--reports", "30").stdout
    assert "at most ε = 30 about one person, the sum of the losses." in output
    assert "With δ = 1e-6 it is ε = 29.9879, by optimal composition." in output
    assert "use the sum" in output
    assert "use the sum" not in run("--epsilon", "1", "--reports", "365").stdout


def test_several_questions_come_to_less_than_their_sum() -> None:
    parts = rows("--part", "2x4", "--part", "0.5x52", "--part", "0.1×365")
    assert [row["part"] for row in parts] == ["2x4", "0.5x52", "0.1×365", "together"]
    assert [row["sum"] for row in parts] == [8, 26, 36.5, 70.5]
    assert [row["reports"] for row in parts] == [4, 52, 365, 421]
    assert parts[-1]["optimal"] == pytest.approx(33.0774, abs=6e-5)
    assert parts[-1]["epsilon"] is None


def test_false_shorthand_for_the_bound_is_called_false() -> None:
    assert "shorthand" not in run("--epsilon", "1", "--reports", "205").stdout
    assert "gives 150.9, which is wrong" in run("--epsilon", "1", "--reports", "206").stdout


def test_survey_costs_as_much_as_its_dearest_question() -> None:
    parts = rows("--part", "1x30", "--part", "0.5x365", "--part", "3:1e-9", "--parallel")
    last = parts[-1]
    assert last["part"] == "one of them"
    for name in ("sum", "sum_delta", "advanced", "optimal", "delta", "reports"):
        assert last[name] == max(row[name] for row in parts[:-1])
    assert "One of these parts" in run("--part", "1x30", "--part", "0.5x365", "--parallel").stdout


def test_deltas_of_reports_are_added() -> None:
    (row,) = rows("--part", "0.1:1e-9x365", "--delta", "1e-7")
    assert row["sum_delta"] == pytest.approx(3.65e-7)
    assert row["delta"] == pytest.approx(4.65e-7)
    assert row["optimal"] == optimal([Part(Fraction("0.1"), 365)], Fraction("1e-7"))
    assert "ε = 36.5 with δ = 3.65e-7" in run("--part", "0.1:1e-9x365").stdout


def test_without_a_delta_there_is_the_sum_alone() -> None:
    (row,) = rows("--epsilon", "1", "--reports", "365", "--delta", "0")
    assert (row["sum"], row["optimal"], row["advanced"], row["delta"]) == (365, 365, None, 0)
    output = run("--epsilon", "1", "--reports", "365", "--delta", "0").stdout
    assert "optimal" not in output
    assert "shorthand" not in output


def test_a_group_of_people_multiplies_the_loss() -> None:
    (row,) = rows("--epsilon", "0.1", "--reports", "365", "--group", "3")
    assert (row["epsilon"], row["sum"]) == pytest.approx((0.3, 109.5))
    assert row["optimal"] == optimal([Part(Fraction("0.3"), 365)], Fraction("1e-6"))
    assert "about 3 people with one secret" in run("--epsilon", "0.1", "--group", "3").stdout


def test_a_definition_is_charged_as_devices_charge_it(metrics: Path) -> None:
    """A year touches 53 weeks; permanent draws are charged for each value, up to the cap; other caps silence."""
    parts = {row["part"]: row for row in rows("--metrics", metrics)}
    counts = {"theme": 365, "crash": 53, "plan": 3, "page": 4, "age": 1, "rare": 7, "size": 53}
    counts |= {"exported": 14, "kept": 3}
    assert {name: row["reports"] for name, row in parts.items()} == {**counts, "together": sum(counts.values())}
    assert parts["plan"]["sum"] == pytest.approx(6, abs=1e-9)
    assert parts["page"]["sum"] <= 9
    expected = 365 + 26.5 + 6 + parts["page"]["sum"] + 3 + 7 + 53 + 14 + 6
    assert parts["together"]["sum"] == pytest.approx(expected, rel=1e-3)
    assert parts["together"]["optimal"] < 350
    assert 0.9 * 53e-9 < parts["together"]["sum_delta"] <= 53e-9


def test_days_lie_in_as_many_weeks_and_months_as_a_calendar_allows(metrics: Path) -> None:
    for days, weeks, months, listed in (
        (1, 1, 1, 1),
        (2, 2, 2, 2),
        (8, 2, 2, 2),
        (9, 3, 2, 3),
        (29, 5, 2, 3),
        (30, 6, 3, 3),
    ):
        reports = {row["part"]: row["reports"] for row in rows("--metrics", metrics, "--days", f"{days}")}
        assert [reports[name] for name in ("theme", "crash", "exported", "kept")] == [days, weeks, months, listed]


def test_number_of_values_can_be_given_and_further_parts_added(metrics: Path) -> None:
    parts = {row["part"]: row for row in rows("--metrics", metrics, "--days", "2", "--values", "1", "--part", "2x3")}
    assert next(iter(parts)) == "2x3"
    assert [parts[name]["reports"] for name in ("theme", "plan", "page", "rare")] == [2, 1, 1, 2]
    output = run("--metrics", metrics).stdout
    assert "only if its value is new: plan, page." in output
    assert MEMOISATION in output
    assert MEMOISATION not in run("--epsilon", "1").stdout


@pytest.mark.parametrize("extreme", ["--epsilon 1", "--epsilon 10 --reports 100000 --delta 0"])
def test_plot_of_extreme_epsilons_is_drawn(tmp_path: Path, extreme: str) -> None:
    assert run(*extreme.split(), "--plot", tmp_path / "one.svg").exit_code == 0
