"""Surveys in a definition: their metrics, and what these must have in common."""

import pytest

from dither_server.store.definitions import from_json, to_json
from dither_shared import ParameterError, parse_metrics
from dither_shared.metrics.metric import Survey

TABLES = {
    "theme": 'type = "choice"\nvalues = ["light", "dark"]\nepsilon = 1.0\n',
    "failed": 'type = "boolean"\ntruth = 0.75\n',
    "startup": 'type = "number"\nlow = 0\nhigh = 60\nepsilon = 1.0\n',
    "browser": 'type = "string"\nepsilon = 2.0\n',
}


def defined(**more: str) -> str:
    """Return a definition of all kinds, with more lines for some metrics."""
    return "".join(f"[metrics.{name}]\n{table}{more.get(name, '')}\n" for name, table in TABLES.items())


def test_metrics_of_any_kind_can_belong_to_a_survey() -> None:
    looks, alone = 'one_of = "looks"\n', 'one_of = "other.s-1_a"\n'
    metrics = parse_metrics(defined(theme=looks, startup=looks, failed=looks, browser=alone))
    whole = Survey("looks", ("failed", "startup", "theme"))
    assert {name: metric.survey for name, metric in metrics.items()} == {
        "theme": whole,
        "failed": whole,
        "startup": whole,
        "browser": Survey("other.s-1_a", ("browser",)),
    }


def test_version_does_not_depend_on_the_survey() -> None:
    """The survey only decides who is asked, independently of answers: numbers and permanent draws stay the same."""
    plain, sampled = parse_metrics(defined()), parse_metrics(defined(theme='one_of = "looks"\n'))
    assert plain["theme"].version == sampled["theme"].version
    assert from_json(to_json(sampled["theme"]), plain["theme"].version) == plain["theme"]


@pytest.mark.parametrize("period", ["week", "once"])
def test_metrics_of_one_survey_share_a_period(period: str) -> None:
    looks = f'one_of = "looks"\nperiod = "{period}"\n'
    assert parse_metrics(defined(theme=looks, failed=looks))["theme"].period == period
    with pytest.raises(ParameterError) as caught:
        parse_metrics(defined(theme=looks, failed='one_of = "looks"\n'))
    assert str(caught.value) == (
        "metrics.toml: metrics.failed.period: day; theme belongs to the same survey, 'looks', and its period is "
        f"{period}; all metrics of a survey share it"
    )


@pytest.mark.parametrize("name", ['""', '"A"', '"a b"', "3", '["a"]', f'"{"a" * 65}"'])
def test_a_survey_has_a_name_like_a_metric(name: str) -> None:
    with pytest.raises(ParameterError, match=r"^metrics.toml: metrics\.theme\.one_of: "):
        parse_metrics(defined(theme=f"one_of = {name}\n"))
