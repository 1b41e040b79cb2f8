"""Advice on strata that lint gives."""

import dataclasses
from datetime import date

import pytest

from client.devices import THEME
from dither.cli.lint import lint
from dither_shared import Metric, Strata

TOLD = dataclasses.replace(
    THEME, description="Which?", why="So", owner="me", expires=date(2027, 6, 30), tier="technical", cap=20.0
)


def metric(name: str, **attributes: list[str]) -> Metric:
    return dataclasses.replace(TOLD, name=name, strata=Strata.of(attributes.items()))


def findings(*metrics: Metric) -> list[str]:
    return lint(metrics, date(2026, 11, 18))


def test_good_strata_need_no_advice() -> None:
    one = metric("one", platform=["linux", "windows", "macos"])
    assert findings(one, metric("two", channel=["beta"], platform=["windows", "linux", "macos"]), TOLD) == []


@pytest.mark.parametrize("name", ["user", "email", "gender", "age", "country", "user_country", "device_id"])
def test_an_attribute_that_sounds_secret_is_named(name: str) -> None:
    (finding,) = findings(metric("theme", **{name: ["a", "b"]}))
    assert finding.startswith(f"metrics.theme.strata.{name}: sent in the clear, not changed at random; ")


@pytest.mark.parametrize("name", ["platform", "storage", "package", "language_pack"[:7], "emailer", "build"])
def test_an_attribute_that_only_contains_such_letters_is_not_named(name: str) -> None:
    assert findings(metric("theme", **{name: ["a", "b"]})) == []


def test_many_cells_split_the_anonymity_set() -> None:
    assert findings(metric("theme", platform=[*"abcdefg"])) == []
    (finding,) = findings(metric("theme", platform=[*"abcdefgh"]))
    assert finding.startswith("metrics.theme.strata: 9 cells, and each needs as many reports as the metric would")


def test_one_name_and_one_list_for_all_metrics() -> None:
    right, typo = metric("right", platform=["linux", "mac"]), metric("typo", plattform=["linux", "mac"])
    assert findings(right, right, typo)[-1].startswith(
        "metrics.typo.strata.plattform: another metric has one of nearly this name; did you mean 'platform'?"
    )
    other = metric("other", platform=["Linux", "mac"])
    assert findings(right, other) == [
        'metrics.right.strata.platform: metrics.other lists other values; what either does not list goes to "other"',
        'metrics.other.strata.platform: metrics.right lists other values; what either does not list goes to "other"',
    ]
