"""Selections as a user sees them, from the question to the upload; and what their developer is told to mend."""

from datetime import date
from pathlib import Path

import pytest

from client.devices import Calendar, Make
from dither import ParameterError
from dither import __main__ as program
from dither.cli.lint import lint
from dither.testing import Telemetry
from dither.transparency.explain import catalogue
from dither_shared import KeyedEntropy, parse_metrics

DEFINITION = """
[metrics.used]
description = "Which of these have you used this week?"
type = "selection"
values = ["export", "search", "print", "share"]
epsilon = 2.0

[metrics.liked]
type = "selection"
values = ["export", "search", "print", "share", "sync", "themes", "plugins", "fonts"]
at_most = 2
epsilon = 1.0
permanent_epsilon = 2.0
"""
METRICS = parse_metrics(DEFINITION)


@pytest.fixture
def arguments(tmp_path: Path, folder: Path) -> list[str]:
    path = tmp_path / "metrics.toml"
    path.write_text(DEFINITION, "utf-8")
    return ["--metrics", str(path), "--app", "tests", "--state", str(folder)]


def test_the_text_before_consenting_says_what_a_selection_becomes(make: Make) -> None:
    text = make(metrics=METRICS, mode=None, entropy=KeyedEntropy(b"an example")).consent_text()
    for said in (
        "Which of these have you used this week?",
        "Answers: any of: export, search, print, share",
        "a report speaks of 2 of the 4 values, chosen at random for each report",
        "a value of yours is named 81 times in 100, one that is not yours 19 times",
        "at most 7.39 times as sure of anything about all your values together",
        "It says: it speaks of ",
        "Answers: at most 2 of: export, search, print, share, sync, themes, plugins, fonts",
        "a value of yours is named 20 times in 100, one that is not yours 7.4 times",
        "7.39 times after any number of reports of the same values",
        "It says: it names ",
        "never more than ",
    ):
        assert said in text


def test_a_waiting_report_is_shown_with_what_it_names(
    arguments: list[str], folder: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    client = make(folder, metrics=METRICS)
    client.record("used", {"export", "print"})
    client.record("liked", [])
    used, liked = client.preview()
    said = [client.explain(used), client.explain(liked)]
    assert said[0].startswith("it speaks of ")
    assert said[1].startswith("it names ")
    program.main(["preview", *arguments], environ={})
    assert capsys.readouterr().out.splitlines() == [used.decode(), f"    {said[0]}", liked.decode(), f"    {said[1]}"]


def test_status_and_catalogue(
    arguments: list[str], make: Make, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = make(folder, metrics=METRICS, strict=False)
    client.record("used", ["export", "scan"])
    client.record("liked", "export")
    status = client.status()
    assert (status.outside, status.mistakes, status.queued) == (1, 1, 2)
    assert status.trouble == {"mistaken value for metrics.liked": 1}
    assert status.metrics[0].odds.startswith("a report speaks of 2 of the 4 values")
    program.main(["status", *arguments], environ={})
    assert status.metrics[1].odds in capsys.readouterr().out
    told = catalogue(METRICS.values())
    assert "| Answers | any of: export, search, print, share |" in told
    assert "| Mechanism | privset |" in told


@pytest.mark.parametrize("value", [None, "export", {"export": True}, iter(["export"]), ["export", None]])
def test_a_mistake_is_told_by_its_type_alone(make: Make, value: object) -> None:
    said = rf"metrics\.used: a value of type {type(value).__name__} that is no answer; give a list, a tuple or a set"
    with pytest.raises(ParameterError, match=said):
        make(metrics=METRICS).record("used", value)


def test_a_choice_is_charged_once_in_whatever_order_it_is_given(make: Make, calendar: Calendar, folder: Path) -> None:
    """So it has one permanent draw; and another choice has another."""
    client = make(folder, metrics=METRICS)
    charges = []
    for answer in (["export", "fonts"], {"fonts", "export"}, ("fonts", "export", "fonts"), ["fonts", "sync"], ["sync"]):
        client.record("liked", answer)
        charges.append(client.status().metrics[1].spent / METRICS["liked"].charge)
        calendar.pass_days(1)
    assert charges == pytest.approx([1, 1, 1, 2, 3])


def test_the_helper_of_tests_knows_what_was_meant() -> None:
    telemetry = Telemetry(METRICS)
    given = ["export"]
    telemetry.record("used", given)
    given.append("search")
    telemetry.record("liked", frozenset({"sync"}))
    assert telemetry.recorded("used") == [["export"]], "what it was when it was recorded"
    assert telemetry.recorded("liked") == [frozenset({"sync"})]
    assert telemetry.flush(60)
    assert telemetry.collector.counts() == {"used": 1, "liked": 1}
    with pytest.raises(ParameterError, match="type str that is no answer"):
        telemetry.record("used", "export")


def test_lint_advises_a_limit_until_one_is_set() -> None:
    values = '["a", "b", "c", "d", "e", "f", "g", "h"]'
    for more, advised in (("", True), ("at_most = 2", False), ("at_most = 8", False)):
        metrics = parse_metrics(f'[metrics.used]\ntype = "selection"\nvalues = {values}\nepsilon = 1.0\n{more}')
        found = [finding for finding in lint(metrics.values(), date(2026, 11, 20)) if "at_most" in finding]
        assert [finding.split(":")[0] for finding in found] == ["metrics.used.at_most"] * advised


@pytest.mark.parametrize(
    ("shape", "status"), [(["--size", "8"], 2), (["--size", "8", "--at-most", "2"], 0), (["--at-most", "2"], 2)]
)
def test_privset_is_audited_with_its_limit(shape: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = program.main(["audit", "--mechanism", "privset", "--epsilon", "1", "--draws", "2000", *shape], environ={})
    told = capsys.readouterr()
    assert found == status
    assert ("ok" in told.out) == (status == 0)
    assert status == 0 or "missing" in told.err or "size" in told.err
