"""Read an object that an app recorded, without running code of the app.

An answer is a string, a number or a boolean of Python's own, or of a subclass of these; a scalar of numpy, which
stands for its ``item()``; or a member of an Enum, which stands for its value. Anything else (None, a list) is a mistake
of the app's developer.

An answer with several values is a list, a tuple, a set, a frozenset or a numpy array with one axis; a generator is not
accepted, because it is code of the app.

Nothing here runs code of the app, so no object can raise or take long: its type says what it is, and its content is
read through the methods of Python's own types, even where a subclass overrides them.
"""

from __future__ import annotations

import math
import sys
from itertools import islice

LONGEST_TEXT = 1024
"""Maximum characters, and maximum bytes of UTF-8, of a text; longer texts are cut off."""

MOST_MEMBERS = 1 << 16
"""Members of a collection; what is beyond is not read."""

_LONGEST_NUMBER = 2048
"""Bits of an integer that is written in decimal: ``str`` may refuse one of more than 640 digits."""


def plain(value: object) -> str | float | None:
    """Return an answer as a built-in str, bool, int or float, or None for an object that is not an answer."""
    kind = type(value)  # isinstance would ask the object itself
    if kind is str or kind is bool or kind is int or kind is float:
        return value  # type: ignore[return-value]  # it is one of these
    answer = _inherited(value, kind)
    return answer if answer is not None else _inherited(inner := _inside(value, kind), type(inner))


def double_of(value: object) -> float | None:
    """Return the double nearest to the number that an answer is, or None for an object that is not a number.

    It is infinite for a number beyond all doubles. NaN, text and booleans are not numbers; of a Decimal, the first 800
    digits are read.
    """
    answer = plain(value)
    if answer is None:
        return _of_decimal(value) if _is_decimal(value) else _of_decimal(_inside(value, type(value)))
    if isinstance(answer, str | bool) or answer != answer:  # noqa: PLR0124 - NaN is not itself
        return None
    try:
        return float(answer)
    except OverflowError:
        return math.inf if answer > 0 else -math.inf


def text_of(value: object) -> str | None:
    """Return an answer as text, or None for an object that is not an answer.

    The text of a number is what ``str`` writes, that of a boolean "true" or "false".
    """
    answer = value if type(value) is int else plain(value)
    if type(answer) is int:
        return repr(answer) if answer.bit_length() <= _LONGEST_NUMBER else f"{answer:#x}"
    if answer is None or isinstance(answer, str):
        return answer
    return repr(answer) if isinstance(answer, float) else "true" if answer else "false"


def members(value: object) -> list[object] | None:
    """Return the first ``MOST_MEMBERS`` members of a collection, or None if the object is not a collection.

    The members of a set have no meaningful order.
    """
    kind = type(value)
    try:
        for own in (list, tuple, set, frozenset):
            if issubclass(kind, own):
                return list(islice(own.__iter__(value), MOST_MEMBERS))  # type: ignore[arg-type]  # it is one of these
        # A subclass of numpy's array may run code of the app's when it is read, even by numpy's own methods.
        array = getattr(sys.modules.get("numpy"), "ndarray", None)
        if kind is array and value.ndim == 1:  # type: ignore[attr-defined]
            return [value.item(place) for place in range(min(value.size, MOST_MEMBERS))]  # type: ignore[attr-defined]
    except Exception:  # it changed while it was read, or was made to fail: not an answer
        return None
    return None


def type_name(value: object) -> str:
    """Return the name of an object's type, for a message; "object" if it has no valid name."""
    name = str.__str__(type.__dict__["__name__"].__get__(type(value)))  # a metaclass may override __name__
    return name if len(name) <= 64 and name.isidentifier() else "object"


def _inherited(value: object, kind: type) -> str | float | None:
    """Return the plain value in an object of a subclass of Python's own types."""
    if kind is bool:
        return bool(value)
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, int):
        return int.__int__(value)  # type: ignore[arg-type]  # likewise
    if issubclass(kind, float):
        return float.__float__(value)  # type: ignore[arg-type]  # likewise
    return None


def _is_decimal(value: object) -> bool:
    decimal = sys.modules.get("decimal")  # anybody who has a Decimal has imported the module
    return decimal is not None and issubclass(type(value), decimal.Decimal)


def _of_decimal(value: object) -> float | None:
    """Return the double nearest to a Decimal, or None for NaN and for any other object."""
    if not _is_decimal(value):
        return None
    import decimal  # noqa: PLC0415 - it is loaded

    # At most what is read: more than the 767 digits that a double may have, and all exponents of doubles. Nothing is
    # trapped, so nothing raises; and the result is a Decimal of Python's own.
    first_digits = decimal.Context(800, decimal.ROUND_FLOOR, -1200, 400, 1, 0, [], [])
    number = first_digits.create_decimal(value)  # type: ignore[arg-type]  # it is one
    return None if number.is_nan() else float(number)


def _inside(value: object, kind: type) -> object:
    """Return the value of an Enum's member or of a numpy scalar, or None."""
    try:
        enum = sys.modules.get("enum")  # anybody who has a member has imported the module
        if enum is not None and issubclass(kind, enum.Enum):
            return object.__getattribute__(value, "_value_")
        # Anybody who has a numpy scalar has imported numpy, so we need not.
        scalar = getattr(sys.modules.get("numpy"), "generic", None)
        return scalar.item(value) if isinstance(scalar, type) and issubclass(kind, scalar) else None  # type: ignore[attr-defined]
    except Exception:  # it was made to fail: not an answer
        return None
