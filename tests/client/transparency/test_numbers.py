"""Numbers as a user sees them, from the question to the upload; and what their developer is told to mend."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from client.devices import Make
from dither import ParameterError
from dither import __main__ as program
from dither.cli.lint import lint
from dither.transparency.explain import catalogue, reading
from dither_shared import KeyedEntropy, parse_metrics

DEFINITION = """
[metrics.startup]
description = "How long does the app take to start?"
type = "number"
low = 0.05
high = 60.0
log = true
unit = "s"
epsilon = 1.0

[metrics.temperature]
type = "number"
low = -40
high = 60
unit = "°C"
epsilon = 1.0
permanent_epsilon = 2.0

[metrics.theme]
type = "choice"
values = ["light", "dark"]
epsilon = 1.0
"""
METRICS = parse_metrics(DEFINITION)


@pytest.fixture
def arguments(tmp_path: Path, folder: Path) -> list[str]:
    path = tmp_path / "metrics.toml"
    path.write_text(DEFINITION, "utf-8")
    return ["--metrics", str(path), "--app", "tests", "--state", str(folder)]


def test_the_text_before_consenting_says_what_a_number_becomes(make: Make) -> None:
    text = make(metrics=METRICS, mode=None, entropy=KeyedEntropy(b"an example")).consent_text(["startup"])
    for said in (
        "How long does the app take to start?",
        "Answers: a number from 0.05 to 60 s",
        "your number is put into one of 3 ranges whose borders are chosen at random for each report",
        "in 58 of 100 cases the report names that range",
        "at most 2.72 times as sure of anything about your number",
        "It says: the number is ",
        "in 42 of 100 cases a report names a wrong range",
    ):
        assert said in text
    assert "It says" not in make(metrics=METRICS, mode=None).consent_text(["theme"])


def test_a_waiting_report_is_shown_with_its_range(
    arguments: list[str], folder: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    client = make(folder, metrics=METRICS)
    client.record("startup", 1.7)
    client.record("theme", "dark")
    number, theme = client.preview()
    said = client.explain(number)
    assert said.startswith("the number is ")
    assert (client.explain(theme), client.explain(b"{}"), client.explain(number[:-1])) == ("", "", "")
    program.main(["preview", *arguments], environ={})
    assert capsys.readouterr().out.splitlines() == [number.decode(), f"    {said}", theme.decode()]
    other = parse_metrics(DEFINITION.replace("60.0", "61.0"))
    assert reading(other, number) == "", "its borders are those of another version"


def test_status_and_catalogue_and_cost(
    arguments: list[str], make: Make, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = make(folder, metrics=METRICS, strict=False)
    client.record("startup", 1000)
    client.record("temperature", "hot")
    status = client.status()
    assert (status.outside, status.mistakes) == (2, 1)
    assert status.trouble == {"mistaken value for metrics.temperature": 1}
    assert "borders are chosen at random for each report" in status.metrics[0].odds
    assert "borders are chosen at random once for this device" in status.metrics[1].odds
    assert "never more than 6 in all" in status.metrics[1].cost, "there are three ranges"
    program.main(["status", *arguments], environ={})
    assert status.metrics[0].odds in capsys.readouterr().out
    told = catalogue(METRICS.values())
    assert "| Answers | a number from -40 to 60 °C |" in told
    assert "| Mechanism | dithered-response |" in told


@pytest.mark.parametrize("value", [1.7, 2, Decimal("1.7"), np.float32(1.7), np.int64(3), 10**400, float("inf")])
def test_any_number_is_an_answer(make: Make, value: object) -> None:
    client = make(metrics=METRICS)
    client.record("startup", value)
    assert client.status().queued == 1
    assert client.status().mistakes == 0


@pytest.mark.parametrize("value", ["1.7", None, True, float("nan"), Decimal("nan"), [1.7]])
def test_what_is_no_number_is_told_by_its_type_alone(make: Make, value: object) -> None:
    said = rf"metrics\.startup: a value of type {type(value).__name__} that is no answer; give an int, a float or a Dec"
    with pytest.raises(ParameterError, match=said):
        make(metrics=METRICS).record("startup", value)


def test_lint_says_what_would_be_asked_better() -> None:
    metrics = parse_metrics('[metrics.windows]\ntype = "number"\nlow = 0\nhigh = 9\nepsilon = 1\n')
    found = lint(metrics.values(), date(2026, 11, 20))
    assert [finding.split(":")[0] for finding in found][-2:] == ["metrics.windows.unit", "metrics.windows.type"]
    assert 'type = "choice"' in found[-1]
    assert 'type = "boolean"' in found[-1]
