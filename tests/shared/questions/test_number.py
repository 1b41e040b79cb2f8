"""Questions of numbers: reading a number, its point, and the texts for users and developers."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from contract.cases import NUMERIC, usual
from dither_shared import (
    DitheredResponse,
    Mechanism,
    NumberQuestion,
    ParameterError,
    Report,
    WireError,
    parse_metrics,
)
from dither_shared.plain import type_name
from shared import odd
from shared.primitives.test_entropy import Script

TENTHS = DitheredResponse.calibrate(None, 1.0, steps=2, resolution=50)
"""A mechanism with a point for each tenth of a range of 10."""

ANSWERS = NumberQuestion(0, 10).answers(TENTHS)


def test_number_of_any_type_has_a_place_and_any_other_object_is_a_mistake_at_the_minimum() -> None:
    """Which objects are numbers is tested in tests/shared/test_plain.py."""
    for value, encoded in ((Decimal(2), (20, False, False, 0)), (-(10**400), (0, True, False, 0))):
        assert ANSWERS.encode(value) == encoded
    for other in (*(value for value in odd.NO_ANSWERS if not isinstance(value, Decimal)), math.nan, True, "1.7"):
        assert ANSWERS.encode(other) == (0, True, True, 0), type_name(other)


@pytest.mark.parametrize("value", [0.0, 0.02, 3.456, 9.999, 10.0])
def test_a_number_is_rounded_at_random_so_that_its_expectation_is_the_number(value: float) -> None:
    """Every word below the rest rounds up, and no other: the chance is exactly rest/2^64."""
    encoded = ANSWERS.encode(value)
    assert isinstance(encoded.item, int)
    assert encoded.rest is not None
    words = {encoded.rest - 1: 1, encoded.rest: 0, 0: int(encoded.rest > 0), 2**64 - 1: 0}
    for word, up in words.items():
        if word >= 0:
            assert encoded.rounded(Script(word.to_bytes(8, "big"))) == encoded.item + up
    assert encoded.item + Fraction(encoded.rest, 2**64) == pytest.approx(Fraction(10 * value))


def test_rounding_an_answer_that_is_no_number_draws_no_byte() -> None:
    """Other answers draw no byte for rounding, so their reports are drawn as before."""
    boolean = parse_metrics('[metrics.m]\ntype = "boolean"\nepsilon = 1\n')["m"]
    assert boolean.answers.encode(True).rounded(Script(b"")) == 1


def test_version_of_a_number_ignores_its_unit_and_its_spelling() -> None:
    head = '[metrics.m]\ntype = "number"\nepsilon = 1\n'
    metric = parse_metrics(head + 'low = 0.5\nhigh = 60\nunit = "s"\n')["m"]
    assert parse_metrics(head + "low = 0.50\nhigh = 6e1\n")["m"].version == metric.version
    for unit in ("x" * 33, "s\n", "\x1b[2J", "\u202e"):
        with pytest.raises(ParameterError, match="unit: not a word"):
            NumberQuestion(0, 60, unit=unit)

    assert metric.question.words() == "a number from 0.5 to 60 s"
    assert NumberQuestion(0, 2026000).words() == "a number from 0 to 2026000"
    assert NumberQuestion(1e9, 1e9 + 2).words() == "a number from 1000000000 to 1000000002", "room for two points"


def test_a_mechanism_of_listed_answers_has_no_grid() -> None:
    with pytest.raises(ParameterError, match="mechanism: projective-count-mean-sketch has no grid of numbers"):
        NumberQuestion(0, 1).grid(parse_metrics('[metrics.a]\ntype = "string"\nepsilon = 1\n')["a"].mechanism)


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        (
            DitheredResponse.calibrate(None, 1.0),
            "your number is put into one of 3 ranges whose borders are chosen at random for each report; in 58 of 100"
            " cases the report names that range, in 42 one of the others; anybody who sees it can become at most 2.72"
            " times as sure of anything about your number",
        ),
        (DitheredResponse.calibrate(None, 0.5), "in 62 of 100 cases the report names that range, in 38 the other one"),
        (DitheredResponse.calibrate(None, 1.0, 2.0), "whose borders are chosen at random once for this device"),
        (DitheredResponse.calibrate(None, 1.0, 2.0), ", and 7.39 times after any number of reports of one range"),
        (usual("discrete-laplace"), "your number is moved at random before it is reported; anybody who sees it can"),
        (usual("discrete-gaussian"), "but for one report in 1,000,000"),
    ],
)
def test_odds_of_a_number_in_words(mechanism: Mechanism, said: str) -> None:
    assert said in NumberQuestion(0, 1).odds(mechanism)


@pytest.mark.parametrize(
    ("question", "row", "said"),
    [
        (NumberQuestion(0.05, 60, True, "s"), (20, 0), "the number is below 0.57 s; in 42 of 100 cases"),
        (NumberQuestion(0.05, 60, True, "s"), (20, 1), "the number is from 0.54 to 20 s; in 42 of 100 cases"),
        (NumberQuestion(0.05, 60, True, "s"), (20, 2), "the number is 19 s or more; in 42 of 100 cases"),
        (NumberQuestion(0, 24), (63, 1), "the number is from 0 to 12; in 42 of 100 cases a report names a wrong range"),
        (NumberQuestion(0, 60.3), (20, 2), "the number is 50.4 or more; in"),
        (NumberQuestion(1000, 1001), (32, 1), "the number is from 1000.24 to 1000.75; in"),
        (NumberQuestion(-4e6, 4e6, False, "B"), (32, 1), "the number is from -2100000 to 2000000 B; in"),
    ],
)
def test_report_of_a_number_in_words(question: NumberQuestion, row: tuple[int, int], said: str) -> None:
    mechanism = DitheredResponse.calibrate(None, 1.0)
    assert question.reading(mechanism, Report(row[0], bytes([row[1]]))).startswith(said)
    with pytest.raises(WireError):
        question.reading(mechanism, Report(row[0], b"\x03"))


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("log", [False, True])
def test_text_of_a_number_report_states_the_range_of_answers_it_covers(name: str, log: bool) -> None:
    """The numbers that may be rounded to a point of the cell lie within the stated, rounded range."""
    mechanism, question = usual(name, resolution=4), NumberQuestion(2, 1000, log, "s")
    grid = question.grid(mechanism)
    for cohort in range(mechanism.cohorts):
        for cell in range(mechanism.cells):
            said = question.reading(mechanism, Report(cohort, mechanism.row_format.symbol(cell)))
            numbers = [float(word) for word in said.partition(";")[0].replace(",", "").split() if word[0].isdigit()]
            low, high = (numbers * 2)[:2]
            points = [point for point in range(grid.points) if cell in mechanism.marked(point, cohort)]
            if not points:
                assert numbers == [2.0 if "below" in said else 1000.0]
                continue
            ends = grid.value(max(points[0] - 1, 0)), grid.value(min(points[-1] + 1, grid.points - 1))
            step = 0.1 * ends[0] if log else 25
            assert "below" in said if points[0] == 0 else low == pytest.approx(ends[0], abs=step)
            assert (
                "or more" in said
                if points[-1] == grid.points - 1
                else high == pytest.approx(ends[1], rel=0.1, abs=step)
            )
            if points[0] and cell in mechanism.marked(points[0] - 1, cohort):
                pytest.fail("the range is cut")


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        (NumberQuestion(0.05, 60, True, "s"), []),
        (NumberQuestion(0, 1, False, "s"), ["type"]),
        (NumberQuestion(3, 18, False, "windows"), ["type"]),
        (NumberQuestion(3, 19, False, "windows"), []),
        (NumberQuestion(1, 8, True, "GiB"), []),
        (NumberQuestion(0, 0.5, False, "s"), []),
        (NumberQuestion(1, 100, False, "s"), []),
        (NumberQuestion(1, 101, False, "s"), ["log"]),
        (NumberQuestion(0, 1e9), ["unit", "log"]),
    ],
)
def test_advice_on_unit_type_and_logarithm(question: NumberQuestion, keys: list[str]) -> None:
    advice = question.advice(DitheredResponse.calibrate(None, 1.0))
    assert [finding.partition(":")[0] for finding in advice] == keys
