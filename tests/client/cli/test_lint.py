"""Advice that lint gives on what several metrics say together."""

from datetime import date

import pytest

from dither.cli.lint import lint
from dither_shared import parse_metrics


def definitions(*surveys: str) -> str:
    return "\n".join(
        f'[metrics.m{number}]\ntype = "boolean"\nepsilon = 1.0\none_of = "{survey}"'
        for number, survey in enumerate(surveys)
    )


@pytest.mark.parametrize(
    ("surveys", "alone"), [(["looks"], ["m0"]), (["looks", "looks"], []), (["looks", "looks", "loks"], ["m2"])]
)
def test_a_survey_of_one_is_named(surveys: list[str], alone: list[str]) -> None:
    found = lint(parse_metrics(definitions(*surveys)).values(), date(2026, 11, 22))
    told = [one for one in found if ".one_of: no other metric is of the survey " in one]
    assert [one.split(".")[1] for one in told] == alone
