"""The item of an answer for each kind of question: every object has one, and few are mistakes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither_shared import (
    BooleanQuestion,
    ChoiceQuestion,
    KeyedEntropy,
    RandomizedResponse,
    Report,
    StringQuestion,
    parse_metrics,
)
from dither_shared.plain import type_name
from shared import odd

BOOLEAN, CHOICE, STRING = (
    question.answers(RandomizedResponse.calibrate(2, 1.0))  # reading an answer never calls it
    for question in (BooleanQuestion(), ChoiceQuestion(("1", "1.5", "true", "dark")), StringQuestion())
)


@pytest.mark.parametrize(("values", "item"), [(odd.TRUE, 1), (odd.FALSE, 0)], ids=["true", "false"])
def test_every_spelling_of_true_and_false_is_read(values: list[object], item: int) -> None:
    for value in values:
        assert BOOLEAN.encode(value)[:3] == (item, False, False), type_name(value)


def test_answer_neither_true_nor_false_is_a_mistake_with_an_item() -> None:
    for value in (*odd.NEITHER, *odd.NO_ANSWERS):
        assert BOOLEAN.encode(value)[:3] == (0, True, True), type_name(value)


def test_invalid_answer_is_a_mistake_for_every_question() -> None:
    for value in odd.NO_ANSWERS:
        assert CHOICE.encode(value)[:3] == (4, True, True), type_name(value)
        assert STRING.encode(value)[:3] == (b"", True, True), type_name(value)


TEXTS: list[tuple[object, str]] = [
    (1.5, "1.5"),
    (np.int16(1), "1"),
    (np.float64(1.5), "1.5"),
    (np.float32(1.5), "1.5"),
    (np.True_, "true"),
    (np.str_("dark"), "dark"),
    (odd.Theme.DARK, "dark"),
    (odd.Theme.YES, "true"),
    (odd.Themed.DARK, "dark"),
    (odd.Number.ONE, "1"),
    (odd.Spiteful("dark"), "dark"),
    (odd.SpitefulInt(1), "1"),
    (odd.SpitefulFloat(1.5), "1.5"),
]


@pytest.mark.parametrize(("value", "text"), TEXTS, ids=map(str, range(len(TEXTS))))
def test_listed_value_is_recognized_by_its_text_and_a_string_is_its_text(value: object, text: str) -> None:
    assert CHOICE.encode(value)[:3] == (("1", "1.5", "true", "dark").index(text), False, False)
    assert STRING.encode(value)[:3] == (text.encode(), False, False)


OUTSIDE: list[tuple[object, bytes]] = [
    (1.0, b"1.0"),
    (float("nan"), b"nan"),
    (float("-inf"), b"-inf"),
    ("\ud800dark", b"?dark"),
    (10**500, b"1" + b"0" * 500),
    (-(10**5000), f"{-(10**5000):#x}"[:1024].encode()),
    ("é" * 10_000_000, "é".encode() * 512),
    (odd.Spiteful("x" * 5000), b"x" * 1024),
]


@pytest.mark.parametrize(("value", "item"), OUTSIDE, ids=map(str, range(len(OUTSIDE))))
def test_unlisted_text_is_outside_and_no_mistake(value: object, item: bytes) -> None:
    assert CHOICE.encode(value)[:3] == (4, True, False)
    assert STRING.encode(value)[:3] == (item, False, False)


@settings(max_examples=50)
@given(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.decimals(), st.fractions(),
        st.text(st.characters()), st.binary(), st.dates(), st.lists(st.integers()), st.sampled_from(list(odd.Number)),
        st.text().map(odd.Spiteful), st.integers().map(odd.SpitefulInt), st.floats().map(odd.SpitefulFloat),
    )
)  # fmt: skip
def test_any_object_has_an_item_of_the_domain(value: object) -> None:
    for kind, items in ((BOOLEAN, range(2)), (CHOICE, range(5))):
        answer = kind.encode(value)
        assert answer.item in items
        assert answer.outside or not answer.mistake
    item = STRING.encode(value).item
    assert isinstance(item, bytes)
    assert len(item) <= 1024
    spelled = {b"true", b"false", b"1", b"0", b"1.0", b"0.0", b"-0.0"}
    assert BOOLEAN.encode(value).mistake or item.strip().lower() in spelled


def test_the_name_of_a_type_is_a_name() -> None:
    assert type_name(None) == "NoneType"
    assert type_name(odd.Liar()) == "Liar"
    assert type_name(type("a\nforged line", (), {})()) == type_name(type("x" * 65, (), {})()) == "object"


@pytest.mark.parametrize(
    ("lines", "reading"),
    [
        ("epsilon = 1.0", "a report fits your text 48 times in 100, any other text 25 times"),
        ('mechanism = "rappor"\nf = 0.5\np = 0.25\nq = 0.75', ""),  # its bits fit many texts, each a little
    ],
)
def test_report_of_a_text_says_how_often_it_fits_if_it_is_one_symbol(lines: str, reading: str) -> None:
    metric = parse_metrics(f'[metrics.browser]\ntype = "string"\n{lines}')["browser"]
    entropy = KeyedEntropy(b"key")
    cohort = metric.mechanism.draw_cohort(entropy)
    report = Report(cohort, metric.mechanism.randomize(metric.answers.encode("Firefox").item, entropy, cohort))
    assert metric.question.reading(metric.mechanism, report) == reading
