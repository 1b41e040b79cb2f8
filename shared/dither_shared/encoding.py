"""Read an app's answers into the items that a mechanism randomizes, by the compiled definition of a metric.

Every object has an item, even a mistake: it goes to the catch-all label, or to the empty string if there is none.
Leaving it out would be worse than useless, because then the absence of a report is an answer.
"""

from __future__ import annotations

import math

from .light import NamedTuple
from .plain import LONGEST_TEXT, double_of, plain, text_of
from .primitives.entropy import ONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import ClassVar

    from .primitives.entropy import Entropy

Item = int | bytes
"""The item that a mechanism randomizes: an index of a domain, a set of them with index j as bit j, or, for an open
domain, the value's UTF-8 bytes."""


class Encoded(NamedTuple):
    """An answer encoded as the item that a mechanism randomizes."""

    item: Item
    outside: bool = False
    """Whether the answer is outside the domain, and so is reported under the catch-all label."""
    mistake: bool = False
    """Whether the recorded object cannot be an answer."""
    rest: int | None = None
    """For a number between two points, how far it is from the lower one, ``item``, to the next, in 2^-64 steps."""

    def rounded(self, entropy: Entropy) -> Item:
        """Return the item to randomize: for a number the upper point with probability rest/2^64, else the lower."""
        if self.rest is None or isinstance(self.item, bytes):
            return self.item
        return self.item + entropy.bernoulli(self.rest)


class Answers:
    """Encodes the answers to one question; ``wanted`` says in an error what to record instead."""

    wanted: ClassVar[str] = "give a string, a number or a boolean"

    def encode(self, value: object) -> Encoded:
        """Return the item that the mechanism randomizes for ``value``; never raises."""
        raise NotImplementedError


class ChoiceAnswers(Answers):
    """One of ``values``: the one with the same text, or else the one at ``other``, the catch-all."""

    def __init__(self, values: Sequence[str], other: int) -> None:
        self._listed = {text: Encoded(place) for place, text in enumerate(values)}
        self._outside = Encoded(other, outside=True)
        self._mistake = Encoded(other, outside=True, mistake=True)

    def encode(self, value: object) -> Encoded:
        """Return the listed value, or the catch-all."""
        text = value if type(value) is str else text_of(value)
        return self._mistake if text is None else self._listed.get(text, self._outside)


class BooleanAnswers(Answers):
    """False (item 0) or True (item 1); anything else counts as False."""

    wanted = 'give True or False; 1, 0, "true" and "false" are also accepted'
    _TRUE, _FALSE, _NEITHER = Encoded(1), Encoded(0), Encoded(0, outside=True, mistake=True)
    # A number finds its entry by its value: 1, 1.0 and True are equal, and so are their hashes.
    _MEANINGS: ClassVar[dict[object, Encoded]] = {1: _TRUE, 0: _FALSE, "true": _TRUE, "false": _FALSE}

    def encode(self, value: object) -> Encoded:
        """Return true, false, or the catch-all for anything else."""
        if value is True:
            return self._TRUE
        if value is False:
            return self._FALSE
        meaning = plain(value)
        if isinstance(meaning, str):
            meaning = meaning[:LONGEST_TEXT].strip().lower()
        return self._MEANINGS.get(meaning, self._NEITHER)


class NumberAnswers(Answers):
    """A number at its place on a grid of ``points``, as ``questions.number`` explains it."""

    wanted = "give an int, a float or a Decimal; NaN is not accepted"

    def __init__(self, low: float, high: float, log: bool, points: int) -> None:
        self._low, self._high, self._log, self._steps = low, high, log, points - 1

    def encode(self, value: object) -> Encoded:
        """Return its place on the grid; a number beyond an end is outside, and anything but a number is a mistake."""
        number = double_of(value)
        if number is None:
            return Encoded(0, outside=True, mistake=True, rest=0)
        point, rest, outside = self.place(number)
        return Encoded(point, outside, rest=rest)

    def place(self, number: float) -> tuple[int, int, bool]:
        """Return the place of a number on the grid, u = point + rest/2^64, and whether it lies beyond an end.

        ``rest`` is rounded down. The number may be infinite, but not NaN. Never raises.
        """
        inside = min(max(number, self._low), self._high)
        if self._log:
            start = math.log(self._low)
            part = (math.log(inside) - start) / (math.log(self._high) - start)
        else:
            part = (inside - self._low) / (self._high - self._low)
        steps = min(max(part, 0.0), 1.0) * self._steps  # a logarithm may be rounded past that of an end
        point = math.floor(steps)
        return point, int((steps - point) * ONE), inside != number


class StringAnswers(Answers):
    """Any text."""

    _MISTAKE = Encoded(b"", outside=True, mistake=True)
    _last = "", Encoded(b"")  # most answers repeat the one before

    def encode(self, value: object) -> Encoded:
        """Return the text in UTF-8, or an empty text for a mistake."""
        text = value if type(value) is str else text_of(value)
        if text is None:
            return self._MISTAKE
        last, encoded = self._last
        if text != last:
            text = text[:LONGEST_TEXT]
            encoded = tuple.__new__(Encoded, (text.encode("utf-8", "replace")[:LONGEST_TEXT], False, False, None))
            self._last = text, encoded
        return encoded
