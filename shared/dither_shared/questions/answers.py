"""Answers: from the object that an app recorded to the item that a mechanism randomizes.

An answer is a string, a number or a boolean of Python's own, or of a subclass of these; a scalar of numpy, which
stands for its ``item()``; or a member of an Enum, which stands for its value. Anything else (None, a list, a Decimal)
is a mistake of the app's developer. So is, where the question is one of yes and no, whatever is neither:

- boolean: True, 1, 1.0 and "true" are true, False, 0, 0.0 and "false" are false; neither case nor white space around
  a string matters.
- choice: the listed value with the same text. The text of a number is what ``str`` writes, that of a boolean "true" or
  "false". Another text is outside the list, and no mistake.
- string: that text, in UTF-8 and up to 1,024 bytes; what UTF-8 cannot encode becomes "?".

Every object has an item, a mistake too: it goes to the catch-all label, or to the empty string where there is none.
Leaving it out would be worse than useless, for then the absence of a report is an answer.

Nothing here runs code of the app, so no object can raise or take long: its type says what it is, and its content is
read through the methods of Python's own types, even where a subclass overrides them.
"""

import sys
from abc import ABC, abstractmethod
from enum import Enum
from typing import ClassVar, NamedTuple

from ..mechanism import Item
from .domain import Domain

__all__ = ["KINDS", "Answers", "Encoded", "inside", "plain", "type_name"]

_LONGEST_TEXT = 1024
_LONGEST_NUMBER = 2048
"""Bits of an integer that is written in decimal: ``str`` may refuse one of more than 640 digits."""


class Encoded(NamedTuple):
    """An answer as the mechanism takes it."""

    item: Item
    outside: bool = False
    """Whether it is outside the domain, and so goes to the catch-all label."""
    mistake: bool = False
    """Whether it is no answer at all."""


class Answers(ABC):
    """How one kind of question reads an answer. ``wanted`` tells a developer what to give."""

    wanted: ClassVar[str] = "give a string, a number or a boolean"

    @abstractmethod
    def __init__(self, domain: Domain | None) -> None:
        """Prepare for the answers of a domain, or for any string."""

    @abstractmethod
    def encode(self, value: object) -> Encoded:
        """Return the item that the mechanism randomizes for ``value``; never raises."""


class BooleanAnswers(Answers):
    """Yes or no; whatever is neither is a mistake."""

    wanted = 'give True or False; 1, 0, "true" and "false" will do'

    def __init__(self, domain: Domain | None) -> None:
        domain = domain or Domain.boolean()
        self._true, self._false = Encoded(domain.index("true")), Encoded(domain.index("false"))
        self._neither = Encoded(domain.index(domain.other), outside=True, mistake=True)
        # A number finds its entry by its value: 1, 1.0 and True are equal, and so are their hashes.
        self._meanings: dict[object, Encoded] = {1: self._true, 0: self._false}
        self._meanings |= {"true": self._true, "false": self._false}

    def encode(self, value: object) -> Encoded:
        """Return true, false, or the catch-all for what is neither."""
        if value is True:
            return self._true
        if value is False:
            return self._false
        meaning = plain(value)
        if isinstance(meaning, str):
            meaning = meaning[:_LONGEST_TEXT].strip().lower()
        return self._meanings.get(meaning, self._neither)


class ChoiceAnswers(Answers):
    """One of the listed values, by its text."""

    def __init__(self, domain: Domain | None) -> None:
        if domain is None:
            raise TypeError("a choice has listed values")
        self._domain = domain
        other = domain.index(domain.other)
        self._outside = Encoded(other, outside=True)
        self._mistake = Encoded(other, outside=True, mistake=True)
        self._given: dict[str, Encoded] = {}  # the listed values that were given so far: at most all of them

    def encode(self, value: object) -> Encoded:
        """Return the listed value, or the catch-all."""
        text = value if type(value) is str else _text(value)
        if text is None:
            return self._mistake
        return self._given.get(text) or self._look_up(text)

    def _look_up(self, text: str) -> Encoded:
        if text not in self._domain:
            return self._outside
        return self._given.setdefault(text, Encoded(self._domain.index(text)))


class StringAnswers(Answers):
    """Any text."""

    _MISTAKE: ClassVar = Encoded(b"", outside=True, mistake=True)

    def __init__(self, domain: Domain | None) -> None:
        self._last = "", Encoded(b"")  # most answers repeat the one before

    def encode(self, value: object) -> Encoded:
        """Return the text in UTF-8, or an empty one for a mistake."""
        text = value if type(value) is str else _text(value)
        if text is None:
            return self._MISTAKE
        last, encoded = self._last
        if text != last:
            text = text[:_LONGEST_TEXT]
            encoded = Encoded(text.encode("utf-8", "replace")[:_LONGEST_TEXT])
            self._last = text, encoded
        return encoded


KINDS: dict[str, type[Answers]] = {"boolean": BooleanAnswers, "choice": ChoiceAnswers, "string": StringAnswers}
"""By the ``type`` of a metric."""


def plain(value: object) -> str | float | None:
    """Return an answer as a str, bool, int or float of Python's own, or None for an object that is no answer."""
    kind = type(value)  # isinstance would ask the object itself
    if kind is str or kind is bool or kind is int or kind is float:
        return value  # type: ignore[return-value]  # it is one of these
    found = _inherited(value, kind)
    return found if found is not None else _inherited(inner := inside(value, kind), type(inner))


def type_name(value: object) -> str:
    """Return the name of an object's type, for a message; "object" for a name that is none."""
    name = str.__str__(type.__dict__["__name__"].__get__(type(value)))  # a metaclass may have its own idea of a name
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


def inside(value: object, kind: type) -> object:
    """Return the value of an Enum's member or of a numpy scalar, or None."""
    try:
        if issubclass(kind, Enum):
            return object.__getattribute__(value, "_value_")
        # Whoever has a numpy scalar has imported numpy; we need not.
        scalar = getattr(sys.modules.get("numpy"), "generic", None)
        return scalar.item(value) if isinstance(scalar, type) and issubclass(kind, scalar) else None  # type: ignore[attr-defined]
    except Exception:  # it was made to fail, and so it is no answer
        return None


def _text(value: object) -> str | None:
    """Return an answer as text, or None for an object that is no answer."""
    found = value if type(value) is int else plain(value)
    if type(found) is int:
        return repr(found) if found.bit_length() <= _LONGEST_NUMBER else f"{found:#x}"
    if found is None or isinstance(found, str):
        return found
    return repr(found) if isinstance(found, float) else "true" if found else "false"
