"""Crossings as a user sees them, and what their developer is told to weigh."""

from datetime import date

import pytest

from client.devices import Make
from dither.cli.lint import lint
from dither.transparency.explain import catalogue
from dither_shared import Batch, ParameterError, parse_metrics

METRICS = parse_metrics("""
[metrics.theme]
type = "choice"
values = ["light", "dark"]
epsilon = 1.0

[metrics.both]
description = "Which theme, where it failed?"
type = "cross"
cross = {theme = ["light", "dark"], failed = {type = "boolean"}}
epsilon = 1.0

[metrics.small]
type = "cross"
cross = {first = {type = "boolean"}, second = {type = "boolean"}}
epsilon = 4.0
""")


def test_people_are_told_that_both_answers_are_in_one_report(make: Make) -> None:
    client = make(metrics=METRICS)
    said = "theme (light, dark, other) and failed (false, true), both in one report"
    assert f"Answers: {said}" in client.consent_text(["both"])
    assert said in catalogue(METRICS.values())
    client.record("both", {"theme": "dark", "failed": True})
    client.record("both", ("light", False))
    (body,) = client.preview()
    assert Batch.decode(body).metric == "both"
    assert (client.status().ignored, client.status().mistakes, client.status().outside) == (1, 0, 0)


def test_what_is_left_out_is_told_as_outside_and_as_a_mistake(make: Make) -> None:
    client = make(metrics=METRICS, strict=False)
    client.record("both", {"theme": "dark"})
    client.record("small", "no pair")
    status = client.status()
    assert (status.queued, status.outside, status.mistakes) == (2, 2, 2)


def test_a_mistake_in_one_answer_says_what_either_may_be(make: Make) -> None:
    with pytest.raises(ParameterError, match=r"by name, .*, or a pair of them, each a string, a number or a boolean"):
        make(metrics=METRICS, strict=True).record("both", {"theme": None, "failed": True})


def test_lint_weighs_a_crossing_once_and_says_nothing_of_others() -> None:
    found = [one for one in lint(METRICS.values(), date(2026, 11, 18)) if "one_of" in one or "strata" in one]
    assert len(found) == 1
    assert found[0].startswith("metrics.both.cross: 6 pairs of answers are many at this epsilon")
