"""What lint advises the developer of an app to mend."""

import dataclasses
from datetime import date
from pathlib import Path

import pytest

from client.devices import BROWSER, THEME
from client.seals import KEY
from dither import __main__ as program
from dither.cli.compile import refusals
from dither.cli.lint import hints, lint
from dither_shared import Metric, RandomizedResponse, Strata, parse_metrics

COMPLETE = dataclasses.replace(
    THEME, description="Which?", why="So", owner="me", expires=date(2027, 6, 30), tier="technical", cap=20.0
)


def definitions(*surveys: str) -> str:
    return "\n".join(
        f'[metrics.m{number}]\ntype = "boolean"\nepsilon = 1.0\none_of = "{survey}"'
        for number, survey in enumerate(surveys)
    )


@pytest.mark.parametrize(
    ("surveys", "alone"), [(["looks"], ["m0"]), (["looks", "looks"], []), (["looks", "looks", "loks"], ["m2"])]
)
def test_lint_names_a_survey_of_one_metric(surveys: list[str], alone: list[str]) -> None:
    lines = lint(parse_metrics(definitions(*surveys)).values(), date(2026, 11, 22))
    advice = [line for line in lines if ".one_of: no other metric belongs to the survey " in line]
    assert [line.split(".")[1] for line in advice] == alone


LASTING = """
[metrics.theme]
type = "boolean"
epsilon = 1.0
permanent_epsilon = 2.0
"""
SEAL = f'[seal]\nkey = "{KEY}"\n'


def test_lint_hints_at_permanent_draws_behind_a_relay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (hint,) = hints(parse_metrics(SEAL + LASTING).values())
    assert hint.startswith("metrics.theme: a hint: ")
    assert "shuffling does not lower epsilon" in hint
    assert hints(parse_metrics(SEAL + LASTING.replace("permanent_epsilon = 2.0", "")).values()) == []
    assert hints(parse_metrics(LASTING).values()) == []
    path = tmp_path / "metrics.toml"
    about = 'description = "d"\nwhy = "w"\nowner = "o"\ntier = "technical"\nexpires = 2027-06-30\n'
    path.write_text(SEAL + LASTING + about)
    assert program.main(["lint", "--metrics", str(path)], environ={}) == 0, "a hint is no error"
    assert hint in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"description": ""}, "metrics.theme.description: missing"),
        ({"why": ""}, "metrics.theme.why: missing"),
        ({"owner": ""}, "metrics.theme.owner: missing"),
        ({"tier": None}, "metrics.theme.tier: missing"),
        ({"expires": None}, "metrics.theme.expires: missing"),
        ({"expires": date(2026, 11, 17)}, "metrics.theme.expires: 2026-11-17 has passed"),
        ({"expires": date(2029, 1, 1)}, "metrics.theme.expires: 2029-01-01 is more than two years away"),
        ({"cap": None}, "metrics.theme.cap: missing; each report costs the same again, 100 after 100"),
        ({"mechanism": RandomizedResponse.calibrate(4, 5.0)}, "metrics.theme.epsilon: 5 is more than 4"),
        (
            {"mechanism": RandomizedResponse.calibrate(4, 1.5), "tier": "sensitive"},
            "metrics.theme.epsilon: 1.5 is more than 1, too much for a question of the tier sensitive",
        ),
    ],
)
def test_lint_names_the_key_to_correct(change: dict[str, object], finding: str) -> None:
    metric: Metric = dataclasses.replace(COMPLETE, **change)  # type: ignore[arg-type]
    advice = lint([metric], date(2026, 11, 18))
    assert len(advice) == 1
    assert advice[0].startswith(finding)


def test_lint_finds_nothing_in_a_good_definition() -> None:
    lasting = dataclasses.replace(COMPLETE, mechanism=BROWSER.mechanism, question=BROWSER.question, cap=None)
    once = dataclasses.replace(COMPLETE, period="once", cap=None)
    assert lint([COMPLETE, lasting, once], date(2027, 6, 30)) == []


def metric(name: str, **attributes: list[str]) -> Metric:
    return dataclasses.replace(COMPLETE, name=name, strata=Strata.of(attributes.items()))


def findings(*metrics: Metric) -> list[str]:
    return lint(metrics, date(2026, 11, 18))


@pytest.mark.parametrize(
    ("name", "values", "finding"),
    [
        ("user", "ab", "user: sent in the clear, not changed at random; "),
        ("device_id", "ab", "device_id: sent in the clear, not changed at random; "),
        ("language_pack"[:7], "ab", ""),
        ("emailer", "ab", ""),
        ("platform", "abcdefg", ""),
        ("platform", "abcdefgh", "9 cells, and each needs as many reports as the metric would"),
    ],
)
def test_lint_names_attributes_that_sound_secret_and_strata_of_many_cells(name: str, values: str, finding: str) -> None:
    found = findings(metric("theme", **{name: [*values]}))
    assert len(found) == bool(finding)
    assert found == [] or finding in found[0]


def test_lint_passes_on_the_advice_on_a_kind_of_question() -> None:
    (used,) = parse_metrics(
        '[metrics.m]\ntype = "selection"\nvalues = ["a", "b", "c", "d", "e", "f", "g", "h"]\nepsilon = 1\n'
    ).values()
    assert [line for line in findings(used) if line.startswith("metrics.m.at_most: ")]


def test_lint_advises_one_attribute_name_and_list_for_all_metrics() -> None:
    right, typo = metric("right", platform=["linux", "mac"]), metric("typo", plattform=["linux", "mac"])
    assert findings(right, right, typo)[-1].startswith(
        "metrics.typo.strata.plattform: another metric has a similar name; did you mean 'platform'?"
    )
    other = metric("other", platform=["Linux", "mac"])
    assert findings(right, other) == [
        "metrics.right.strata.platform: metrics.other lists other values; a value that one of them does not list "
        'goes to "other"',
        "metrics.other.strata.platform: metrics.right lists other values; a value that one of them does not list "
        'goes to "other"',
    ]


def test_batch_promise_without_a_relay_gets_advice_and_is_not_compiled() -> None:
    text = '[metrics.x]\ntype = "boolean"\nepsilon = 2.0\nmixed = {epsilon = 0.9, least = 1000}\n'
    (metric,) = parse_metrics(text).values()
    advice = lint([metric], date(2026, 11, 20))
    assert any(line.startswith("metrics.x.mixed: has no effect without [seal]") for line in advice)
    assert [refusal.place for refusal in refusals(metric)] == ["metrics.x.mixed"]
