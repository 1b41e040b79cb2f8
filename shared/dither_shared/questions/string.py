"""Questions that any string answers."""

from dataclasses import dataclass
from typing import ClassVar, Self

from ..mechanism import STRINGS, Items, Mechanism
from ..mechanisms import Rappor
from ..primitives.bloom import HASHING
from .fields import Fields
from .plain import LONGEST_TEXT, text_of
from .question import Answers, Encoded, Question

__all__ = ["StringQuestion"]


@dataclass(frozen=True)
class StringQuestion(Question):
    """Any text, in UTF-8 and up to 1,024 bytes; what UTF-8 cannot encode becomes "?".

    ``candidates`` are the strings that are looked for. They are the server's business: no report depends on them, nor
    does the version.
    """

    kind: ClassVar[str] = "string"
    keys: ClassVar[frozenset[str]] = frozenset({"candidates"})
    items: ClassVar[Items] = STRINGS

    candidates: tuple[str, ...] = ()

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Return the question, with its ``candidates`` if there are any."""
        return cls(fields.strings("candidates") if "candidates" in fields else ())

    @classmethod
    def family(cls, fields: Fields) -> type[Mechanism]:  # noqa: ARG003 - other kinds look
        """Return RAPPOR."""
        return Rappor

    def stored(self) -> dict[str, object]:
        """Return the candidates."""
        return {"values": None, "other": None, "candidates": list(self.candidates)}

    @property
    def domain_digest(self) -> object:
        """The name of the public hashing, which alone decides what a string marks."""
        return HASHING

    def answers(self, mechanism: Mechanism) -> Answers:
        """Return how strings are read."""
        return _Answers()

    @property
    def labels(self) -> tuple[str, ...]:
        """The candidates."""
        return self.candidates

    @property
    def estimable(self) -> bool:
        """Whether there are candidates."""
        return bool(self.candidates)

    @property
    def words(self) -> str:
        """Say that there is no list."""
        return "any text"

    @property
    def example(self) -> object:
        """No text."""
        return ""


class _Answers(Answers):
    _MISTAKE: ClassVar = Encoded(b"", outside=True, mistake=True)

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
