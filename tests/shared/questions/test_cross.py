"""Crossings: reading a definition and an answer, and what a version depends on."""

import json
from typing import Any

import pytest

from dither_server.store.definitions import from_json, to_json
from dither_shared import Metric, ParameterError, parse_metrics
from shared import odd

AXES = """
[metrics.theme]
type = "choice"
values = ["light", "dark"]
epsilon = 1.0

[metrics.failed]
type = "boolean"
truth = 0.75

[metrics.browser]
type = "string"
epsilon = 2.0
"""


def crossed(cross: str, more: str = "") -> Metric:
    """Return the crossing metric of a file with other metrics."""
    return parse_metrics(f'{AXES}\n[metrics.both]\ntype = "cross"\ncross = {cross}\nepsilon = 1.0\n{more}')["both"]


BOTH = crossed('["theme", "failed"]')
APART = '{theme = ["light", "dark"], failed = {type = "boolean"}}'
CELLS = ("light / false", "light / true", "dark / false", "dark / true", "other / false", "other / true")


def test_crossing_asks_for_all_pairs_with_the_first_axis_slowest() -> None:
    assert BOTH.labels == CELLS
    assert BOTH.question.size == BOTH.mechanism.size == 6
    assert BOTH.question.words() == "theme (light, dark, other) and failed (false, true), both in one report"
    assert BOTH.item(BOTH.question.example) == 0
    assert [BOTH.question.shown(label) for label in CELLS[1:3]] == ["light / Yes", "dark / No"]
    assert BOTH.question.odds(BOTH.mechanism, CELLS[:2]).startswith("if your answer is light / false, we see it ")
    for item, label in enumerate(CELLS):
        first, second = label.split(" / ")
        assert BOTH.item({"theme": first, "failed": second}) == BOTH.item((first, second == "true")) == item


def test_no_code_of_the_app_is_run_by_an_answer() -> None:
    class Own(dict[object, object]):
        def __len__(self) -> int:
            raise AssertionError

        def items(self) -> Any:
            raise AssertionError

        def __iter__(self) -> Any:
            raise AssertionError

    class Pair(tuple[object, object]):
        __slots__ = ()

        def __len__(self) -> int:
            raise AssertionError

        def __iter__(self) -> Any:
            raise AssertionError

    assert BOTH.item(Own(theme="dark", failed=True)) == 3
    assert BOTH.item(Pair(("dark", True))) == 3
    assert BOTH.answers.encode({"theme": "dark", "failed": True, 3: 4})[:3] == (3, False, True)
    assert BOTH.answers.encode({str(number): number for number in range(17)})[:3] == (4, True, True)
    for value in odd.NO_ANSWERS:
        assert BOTH.answers.encode(value).mistake
        assert BOTH.answers.encode({"theme": value, "failed": value}).outside


def test_axes_of_a_crossing_may_be_defined_inline() -> None:
    for cross in (APART, '[{name = "theme", values = ["light", "dark"]}, "failed"]'):
        other = crossed(cross)
        assert (other.question, other.version) == (BOTH.question, BOTH.version)
    catch_all = crossed('{theme = {values = ["light"], other = "none"}, failed = {type = "boolean"}}')
    assert catch_all.labels[-1] == "none / true"


def test_stored_crossing_is_read_back_without_the_other_metrics() -> None:
    for metric in (BOTH, crossed('{theme = {values = ["b / a"], other = "rest"}, failed = {type = "boolean"}}')):
        text = to_json(metric)
        metric_read = from_json(text, metric.version)
        assert (metric_read, metric_read.version, to_json(metric_read)) == (metric, metric.version, text)
        assert json.loads(text)["cross"][1] == {"name": "failed", "type": "boolean"}


@pytest.mark.parametrize(
    ("cross", "complaint"),
    [
        ('["theme", "failed", "theme"]', "cross: 3 question(s); a cross takes two"),
        ('["theme", 3]', "cross: 3 is not a metric of this file"),
        ('["theme", "browser"]', "cross: browser is not a boolean or choice; only these can be crossed"),
        ("3", "cross: missing or not a list"),
        ("{theme = 3, failed = []}", "cross.theme.values: 3 is not a list"),
        ('{theme = {valeus = ["a"]}, failed = ["b"]}', "cross.theme.valeus: unknown"),
        (f"{{a = {[str(n) for n in range(1100)]}, b = {[str(n) for n in range(1100)]}}}", "cross: 1212201 pairs"),
    ],
)
def test_mistakes_in_crossings_are_named(cross: str, complaint: str) -> None:
    """Others are in tests/vectors/refused_metrics.json."""
    with pytest.raises(ParameterError) as caught:
        crossed(cross)
    assert str(caught.value).startswith(f"metrics.toml: metrics.both.{complaint}")


def test_crossing_takes_any_mechanism_of_listed_answers() -> None:
    assert crossed('["theme", "failed"]', 'mechanism = "hadamard-response"\n').mechanism.name == "hadamard-response"
    lasting = crossed('["theme", "failed"]', "permanent_epsilon = 2.0\n")
    assert lasting.mechanism.memoised
    with pytest.raises(ParameterError, match=r"metrics\.both\.mechanism: rappor takes any string"):
        crossed('["theme", "failed"]', 'mechanism = "rappor"\n')
