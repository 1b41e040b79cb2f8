"""Exact numbers: what an answer is as a number."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

from .answers import inside, plain

__all__ = ["exact_number"]

_FIRST_DIGITS = decimal.Context(
    prec=800, rounding=decimal.ROUND_FLOOR, Emin=-1200, Emax=400, capitals=1, clamp=0, flags=[], traps=[]
)
"""What is read of a Decimal: more than the 767 digits of any double, and all exponents of one."""


def exact_number(value: object) -> float | Fraction | None:
    """Return the number that an answer is, exactly, or None for an object that is no number.

    A number is an int, a float or a Decimal, or of a subclass of these; a scalar of numpy, which stands for its
    ``item()``; or a member of an Enum, which stands for its value. NaN is none, nor is text, nor are True and False. A
    Decimal comes as a Fraction, rounded down to its first 800 digits and to a multiple of 10^-1999, an infinite one as
    a float. As in ``answers``, nothing here runs code of the app or takes long.
    """
    found = plain(value)
    if found is None:
        return _decimal(value) if issubclass(type(value), Decimal) else _decimal(inside(value, type(value)))
    if isinstance(found, str | bool) or found != found:
        return None
    return found


def _decimal(value: object) -> float | Fraction | None:
    """Return the number in a Decimal, or None if there is none."""
    if not issubclass(type(value), Decimal):  # isinstance would ask the object itself
        return None
    # Nothing is trapped, so nothing raises; and what comes is a Decimal of Python's own.
    number = _FIRST_DIGITS.create_decimal(value)  # type: ignore[arg-type]  # it is one
    if number.is_nan():
        return None
    return float(number) if number.is_infinite() else Fraction(number)
