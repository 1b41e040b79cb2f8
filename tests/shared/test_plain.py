"""Reading an answer as a number: exact for any object, and in bounded time."""

import enum
import math
from decimal import Decimal, FloatOperation, Inexact, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_shared.plain import MOST_MEMBERS, double_of, members, type_name
from shared import odd


class SpitefulDecimal(Decimal):
    __str__ = __repr__ = __eq__ = __hash__ = __float__ = __int__ = __bool__ = __pos__ = __lt__ = odd.fail
    as_integer_ratio = as_tuple = is_nan = is_infinite = odd.fail


class Price(enum.Enum):
    LOW = Decimal("0.15")
    NONE = Decimal("nan")


class Charge(Decimal, enum.Enum):
    HIGH = "1.5"


NUMBERS: list[tuple[object, float | Fraction]] = [
    (-(2**53) - 1, -(2**53) - 1),
    (10**1_000_000, 10**1_000_000),
    (math.inf, math.inf),
    (Decimal("-1e5"), -(10**5)),
    (Decimal("-inf"), -math.inf),
    *((Decimal(double), Fraction(double)) for double in (1.1, 5e-324, 1.7976931348623157e308)),
    (SpitefulDecimal("0.15"), Fraction(3, 20)),
    (odd.SpitefulInt(7), 7),
    (odd.SpitefulFloat(7.5), 7.5),
    (odd.Number.TWO, 2),
    (Price.LOW, Fraction(3, 20)),
    (Charge.HIGH, Fraction(3, 2)),
    (np.float64(0.1), 0.1),
    (np.float32(0.1), Fraction(13421773, 2**27)),
    (np.uint64(2**64 - 1), 2**64 - 1),
]


@pytest.mark.parametrize(("value", "number"), NUMBERS, ids=map(str, range(len(NUMBERS))))
def test_a_number_is_read_as_the_nearest_double(value: object, number: float | Fraction) -> None:
    number_read = double_of(value)
    assert type(number_read) is float
    assert number_read == (float(number) if number < 2**1024 else math.inf)


def test_value_that_is_no_number_is_read_as_none() -> None:
    for value in (
        *(value for value in odd.NO_ANSWERS if not isinstance(value, Decimal)),
        *("", "1", "nan", np.str_("1"), odd.Spiteful("1"), True, False, np.True_, odd.Theme.DARK, odd.Theme.YES),
        *(math.nan, np.float64("nan"), odd.SpitefulFloat("nan"), Fraction(1, 2), np.longdouble(1)),
        *(Decimal("nan"), Decimal("sNaN"), Decimal("-nan" + "1" * 1000), SpitefulDecimal("snan123"), Price.NONE),
    ):
        assert double_of(value) is None, type_name(value)


@given(st.decimals())
def test_decimal_is_read_as_the_nearest_double(value: Decimal) -> None:
    number = double_of(value)
    if number is None:
        assert value.is_nan()
    else:
        assert number == float(value)


def test_a_long_decimal_counts_with_its_first_digits_and_on_the_right_side() -> None:
    digits = "1" * 1_000_000
    for text, near in (
        (f"0.{digits}", 1 / 9),
        ("1e999999", math.inf),
        ("-1e999999", -math.inf),
        (f"1{digits}e-999999999", 0.0),
        ("1e-999999999", 0.0),
        (f"{digits}e-1000000", 1 / 9),
    ):
        assert double_of(Decimal(text)) == near, text


def test_decimal_context_of_the_app_is_neither_used_nor_changed() -> None:
    with localcontext(prec=3, Emax=5, Emin=-5) as context:
        context.traps[Inexact] = context.traps[FloatOperation] = True
        context.clear_flags()
        assert double_of(Decimal("123456.789")) == 123456.789
        assert not any(context.flags.values())


class Spiteful(list[object]):
    __iter__ = __len__ = __getitem__ = __bool__ = odd.fail


@pytest.mark.parametrize(
    ("value", "held"),
    [
        (("a",), ["a"]),
        ({"a"}, ["a"]),
        (Spiteful([1]), [1]),
        (np.array([1.5, 2.5]), [1.5, 2.5]),
        ("ab", None),
        ({"a": 1}, None),
        (range(3), None),
        (np.array([["a"]]), None),
    ],
)
def test_members_of_builtin_collections_are_read(value: object, held: list[object] | None) -> None:
    assert members(value) == held


def test_only_the_first_of_very_many_members_are_read() -> None:
    for many in ([0] * MOST_MEMBERS + [1], (0,) * MOST_MEMBERS + (1,), np.zeros(MOST_MEMBERS + 1)):
        first_members = members(many)
        assert first_members is not None
        assert (len(first_members), set(first_members)) == (MOST_MEMBERS, {0})
    assert len(members(set(range(MOST_MEMBERS + 1))) or ()) == MOST_MEMBERS
