"""Selections: the set of an answer, its mistakes, and the texts about it.

Answers and definitions as JSON and TOML have them are in tests/vectors: answers, metrics and refused_metrics.json.
"""

from collections import UserList
from collections.abc import Iterator
from enum import Enum

import numpy as np
import pytest

from dither_shared import (
    Metric,
    PrivSet,
    Report,
    SelectionQuestion,
    SetResponse,
    WireError,
    parse_metrics,
)
from dither_shared.encoding import Encoded
from shared import odd

VALUES = ("export", "search", "print", "3", "true")


def encoded(value: object, at_most: int | None = None) -> Encoded:
    question = SelectionQuestion(VALUES, at_most)
    return question.answers(SetResponse.calibrate(5, 1.0)).encode(value)


def metric(rest: str = "", values: str = '["a", "b", "c", "d", "e", "f", "g", "h"]') -> Metric:
    return parse_metrics(f'[metrics.used]\ntype = "selection"\nvalues = {values}\nepsilon = 1.0\n{rest}')["used"]


class Feature(Enum):
    EXPORT = "export"
    SEARCH = "search"


class Text(str):
    __slots__ = ()


class Loud(list[str]):
    """A list that runs code of the app wherever it can."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("code of the app")

    __len__ = __getitem__ = __contains__ = __bool__ = __iter__  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("value", "item"),
    [
        (("print",), 0b00100),
        ({"export", "true"}, 0b10001),
        (frozenset({"search"}), 0b00010),
        (["export", "export", Text("export"), Feature.EXPORT], 0b00001),
        (Loud(["export"]), 0b00001),
        ([3, True, np.str_("print")], 0b11100),
        (np.array(["export", "print"]), 0b00101),
        (np.array([Feature.SEARCH, "print"], dtype=object), 0b00110),
        (np.array([], dtype=str), 0b00000),
        (list(VALUES), 0b11111),
    ],
)
def test_collection_of_listed_values_is_encoded_as_a_set(value: object, item: int) -> None:
    assert encoded(value) == Encoded(item)


@pytest.mark.parametrize(
    ("value", "at_most", "item"),
    [
        (["print", "search", "export"], 1, 0b00100),
        (np.array(["print", "export"]), 1, 0b00100),
        ({"print", "search", "export"}, 2, 0b00011),
        (frozenset({"true", "3"}), 1, 0b01000),
        (["exprot", "search", "export"], 1, 0b00010),
    ],
)
def test_selection_of_too_many_values_keeps_the_first(value: object, at_most: int, item: int) -> None:
    """The user's order counts; for a set, which has none, the definition's order is the same on every day."""
    left_out = item.bit_count() < len(set(value))  # type: ignore[call-overload]
    assert encoded(value, at_most) == Encoded(item, outside=left_out)


@pytest.mark.parametrize(
    "value",
    [
        None,
        2.5,
        b"export",
        {"export": True},
        {"export": True}.keys(),
        (value for value in ("export",)),
        iter(["export"]),
        UserList(["export"]),
        np.array([["export"]]),
        np.ma.array(["export"]),
    ],
)
def test_answer_that_is_no_collection_is_a_mistake_and_the_empty_set(value: object) -> None:
    assert encoded(value) == Encoded(0, outside=True, mistake=True)


def test_lying_or_raising_objects_are_mistakes_also_as_members() -> None:
    endless: list[object] = ["export"]
    endless.append(endless)
    for value in (endless, ["export", object()], *([wrong, "export", wrong] for wrong in odd.NO_ANSWERS)):
        assert encoded(value) == Encoded(1, outside=True, mistake=True)
    for wrong in odd.NO_ANSWERS:
        assert encoded(wrong).item == 0
    assert encoded([odd.Spiteful("export"), odd.SpitefulInt(3), odd.Number.ONE]) == Encoded(0b1001, outside=True)
    assert encoded(odd.Spiteful("export")) == Encoded(1, mistake=True)


def test_stored_selection_is_read_back() -> None:
    question = SelectionQuestion(VALUES, 2)
    stored = question.stored()
    assert stored.keys() == question.keys
    assert SelectionQuestion(tuple(stored["values"]), stored["at_most"]) == question  # type: ignore[arg-type]
    assert (question.size, question.labels, question.estimable) == (5, VALUES, True)


def test_question_and_odds_in_words() -> None:
    sure = "as sure of anything about all your values together"
    assert (metric().question.words(), metric("at_most = 1", '["a", "b"]').question.words()) == (
        "any of: a, b, c, d, e, f, g, h",
        "at most 1 of: a, b",
    )
    assert metric().question.odds(metric().mechanism) == (
        "a report covers 1 of the 8 values, chosen at random for each report; of these, a value of yours is named "
        f"73 times in 100, one that is not yours 27 times; anybody who sees it can become at most 2.72 times {sure}"
    )
    lasting = metric("window = 2\npermanent_epsilon = 2.0")
    assert lasting.question.odds(lasting.mechanism) == (
        "a report covers 2 of the 8 values, chosen at random once for this device; of these, a value of yours is "
        f"named 65 times in 100, one that is not yours 35 times; anybody who sees it can become at most 2.72 "
        f"times {sure}, and 7.39 times after any number of reports of the same values"
    )
    few = metric("at_most = 2")
    assert few.question.odds(few.mechanism) == (
        "a value of yours is named 20 times in 100, one that is not yours 7.4 times; "
        f"anybody who sees it can become at most 2.72 times {sure}"
    )


def test_a_report_in_words() -> None:
    window = metric("window = 3")
    often = "of these, a value of yours is named 59 times in 100, one that is not yours 41 times"
    for cohort, pattern, spoken, named in (
        (0, 0b011, "a, b and c", "a and b"),
        (7, 0b100, "a, b and h", "b"),
        (2, 0b000, "c, d and e", "no value"),
    ):
        says = window.question.reading(window.mechanism, Report(cohort, bytes([pattern])))
        assert says == f"it reports only on {spoken}, and names {named}; {often}"
    wide = metric("window = 10", f"{list('abcdefghijkl')}")
    says = wide.question.reading(wide.mechanism, Report(0, bytes(2)))
    assert says.startswith("it reports only on a, b, c, d, e, f, g, h, i and j, and names no value; ")
    few = metric("at_most = 2")
    for cell, names in ((0, "a"), (7, "h"), (8, "no value"), (9, "no value")):
        assert few.question.reading(few.mechanism, Report(0, bytes([cell]))).startswith(f"it names {names}; a value of")
    with pytest.raises(WireError):
        few.question.reading(few.mechanism, Report(0, bytes([10])))
    question, many = (
        SelectionQuestion(tuple(f"v{place}" for place in range(1024)), 3),
        PrivSet.calibrate(1024, 1.0, at_most=3),
    )
    says = question.reading(many, Report(0, many.row_format.payload(range(many.subset))))
    assert says.startswith(f"it names {', '.join(question.values[:10])} and {many.subset - 10} more; ")


@pytest.mark.parametrize(
    ("size", "rest", "advice"),
    [
        (8, "", "at_most: missing; if nobody needs to choose more than 2, at_most = 2 needs only 66 % of the users"),
        (64, "", "at_most: missing; if nobody needs to choose more than 3, at_most = 3 needs only "),
        (8, "at_most = 8", None),
        (8, "at_most = 3", None),
        (3, "", None),
        (12, "", None),  # it would need 68 % of the users, which is not worth the question
    ],
)
def test_advice_on_at_most_names_the_users_it_saves(size: int, rest: str, advice: str | None) -> None:
    selection = metric(rest, str([f"v{place}" for place in range(size)]))
    findings = list(selection.question.advice(selection.mechanism))
    assert len(findings) == (advice is not None)
    assert advice is None or (
        findings[0].startswith(advice) and f"if all may be chosen, set at_most = {size}" in findings[0]
    )
