"""Answers of an app, read into the items that a mechanism randomizes, by what is left of a definition on a device.

Every object has an item, a mistake too: it goes to the catch-all label, or to the empty string where there is none.
Leaving it out would be worse than useless, for then the absence of a report is an answer.
"""

from __future__ import annotations

from bisect import bisect_right

from .light import NamedTuple
from .plain import LONGEST_TEXT, exact_number, plain, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction
    from typing import ClassVar

Item = int | bytes
"""The item that a mechanism randomizes: an index of a domain, a set of them with index j as bit j, or, for an open
domain, the value's UTF-8 bytes."""

_EXACT = 1 << 53
"""Integers up to this are doubles."""


class Encoded(NamedTuple):
    """An answer as the mechanism takes it."""

    item: Item
    outside: bool = False
    """Whether it is outside the domain, and so goes to the catch-all label."""
    mistake: bool = False
    """Whether it is no answer at all."""


class Answers:
    """Encodes the answers to one question; ``wanted`` says in an error what to record instead."""

    wanted: ClassVar[str] = "give a string, a number or a boolean"

    def encode(self, value: object) -> Encoded:
        """Return the item that the mechanism randomizes for ``value``; never raises."""
        raise NotImplementedError


class ChoiceAnswers(Answers):
    """One of ``values``: that with the same text, or the one at ``other``, the catch-all."""

    def __init__(self, values: Sequence[str], other: int) -> None:
        self._listed = {text: Encoded(place) for place, text in enumerate(values)}
        self._outside = Encoded(other, outside=True)
        self._mistake = Encoded(other, outside=True, mistake=True)

    def encode(self, value: object) -> Encoded:
        """Return the listed value, or the catch-all."""
        text = value if type(value) is str else text_of(value)
        return self._mistake if text is None else self._listed.get(text, self._outside)


class BooleanAnswers(Answers):
    """False, item 0, or True, item 1; what is neither counts as False."""

    wanted = 'give True or False; 1, 0, "true" and "false" will do'
    _TRUE, _FALSE, _NEITHER = Encoded(1), Encoded(0), Encoded(0, outside=True, mistake=True)
    # A number finds its entry by its value: 1, 1.0 and True are equal, and so are their hashes.
    _MEANINGS: ClassVar[dict[object, Encoded]] = {1: _TRUE, 0: _FALSE, "true": _TRUE, "false": _FALSE}

    def encode(self, value: object) -> Encoded:
        """Return true, false, or the catch-all for what is neither."""
        if value is True:
            return self._TRUE
        if value is False:
            return self._FALSE
        meaning = plain(value)
        if isinstance(meaning, str):
            meaning = meaning[:LONGEST_TEXT].strip().lower()
        return self._MEANINGS.get(meaning, self._NEITHER)


class NumberAnswers(Answers):
    """A number at the nearest point of a grid; ``place`` returns the point, and whether the number is beyond an end."""

    wanted = "give an int, a float or a Decimal; NaN is none"

    def __init__(self, place: Callable[[float | Fraction], tuple[int, int]]) -> None:
        self._place = place

    def encode(self, value: object) -> Encoded:
        """Return the nearest point; a number beyond an end is outside, and what is no number a mistake."""
        number = exact_number(value)
        if number is None:
            return Encoded(0, outside=True, mistake=True)
        point, side = self._place(number)
        return Encoded(point, outside=side != 0)


class Borders:
    """A grid from ``low`` to ``high`` by the least double of each point but the first.

    ``exactly`` places what is no double.
    """

    def __init__(
        self, low: float, high: float, borders: Sequence[float], exactly: Callable[[float | Fraction], tuple[int, int]]
    ) -> None:
        self._low, self._high, self._borders, self._exactly = low, high, borders, exactly

    def point(self, value: float | Fraction) -> tuple[int, int]:
        """Return the nearest point, and -1 for a number below the grid, 1 for one above, 0 for one on it."""
        if type(value) is float or (type(value) is int and -_EXACT <= value <= _EXACT):
            return bisect_right(self._borders, value), (value > self._high) - (value < self._low)
        return self._exactly(value)


class StringAnswers(Answers):
    """Any text."""

    _MISTAKE = Encoded(b"", outside=True, mistake=True)

    def __init__(self) -> None:
        self._last = "", Encoded(b"")  # most answers repeat the one before

    def encode(self, value: object) -> Encoded:
        """Return the text in UTF-8, or an empty one for a mistake."""
        text = value if type(value) is str else text_of(value)
        if text is None:
            return self._MISTAKE
        last, encoded = self._last
        if text != last:
            text = text[:LONGEST_TEXT]
            encoded = Encoded(text.encode("utf-8", "replace")[:LONGEST_TEXT])
            self._last = text, encoded
        return encoded
