"""Advice that lint gives on what several metrics say together."""

from datetime import date
from pathlib import Path

import pytest

from client.seals import KEY
from dither import __main__ as program
from dither.cli.lint import hints, lint
from dither_shared import parse_metrics


def definitions(*surveys: str) -> str:
    return "\n".join(
        f'[metrics.m{number}]\ntype = "boolean"\nepsilon = 1.0\none_of = "{survey}"'
        for number, survey in enumerate(surveys)
    )


@pytest.mark.parametrize(
    ("surveys", "alone"), [(["looks"], ["m0"]), (["looks", "looks"], []), (["looks", "looks", "loks"], ["m2"])]
)
def test_lint_names_a_survey_of_one_metric(surveys: list[str], alone: list[str]) -> None:
    found = lint(parse_metrics(definitions(*surveys)).values(), date(2026, 11, 22))
    told = [one for one in found if ".one_of: no other metric is of the survey " in one]
    assert [one.split(".")[1] for one in told] == alone


LASTING = f'''
[seal]
key = "{KEY}"
[metrics.theme]
description = "Which theme?"
type = "choice"
values = ["light", "dark"]
epsilon = 1.0
permanent_epsilon = 2.0
why = "To choose"
owner = "ui@example.org"
tier = "technical"
expires = 2027-06-30
'''


def test_lint_hints_at_permanent_draws_behind_a_relay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (hint,) = hints(parse_metrics(LASTING).values())
    assert hint.startswith("metrics.theme: a hint: ")
    assert "shuffling lowers no epsilon" in hint
    assert hints(parse_metrics(LASTING.replace("permanent_epsilon = 2.0", "cap = 9.0")).values()) == []
    assert hints(parse_metrics(LASTING.replace("[seal]", "").replace(f'key = "{KEY}"', "")).values()) == []
    path = tmp_path / "metrics.toml"
    path.write_text(LASTING)
    assert program.main(["lint", "--metrics", str(path)], environ={}) == 0, "it is nothing to mend"
    assert hint in capsys.readouterr().out
