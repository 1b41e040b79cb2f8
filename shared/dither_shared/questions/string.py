"""Questions that any string answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from ..encoding import Answers, StringAnswers
from ..languages import ENGLISH, Language
from ..mechanism import STRINGS, Items, Mechanism
from ..mechanisms import MECHANISMS
from ..primitives.bloom import HASHING
from ..privacy.wording import fit_words
from ..rows import Shape
from ..wire import Report
from .discovery import DiscoveryQuestion
from .fields import Fields
from .question import Question

_BEST = ("projective-count-mean-sketch", "rappor")
"""The mechanisms that "auto" chooses from, best first."""


@dataclass(frozen=True)
class StringQuestion(Question):
    """Any text, in UTF-8 and up to 1,024 bytes; what UTF-8 cannot encode becomes "?".

    ``candidates`` are the strings that are looked for. Only the server uses them: no report depends on them, nor does
    the version.
    """

    kind: ClassVar[str] = "string"
    keys: ClassVar[frozenset[str]] = frozenset({"candidates"})
    items: ClassVar[Items] = STRINGS

    candidates: tuple[str, ...] = ()

    @classmethod
    def asked(cls, fields: Fields) -> type[Question]:
        """Return a discovery, if the definition has the table ``discover``."""
        return DiscoveryQuestion if "discover" in fields else cls

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Return the question, with its ``candidates`` if there are any."""
        return cls(fields.strings("candidates") if "candidates" in fields else ())

    @classmethod
    def family(cls, fields: Fields) -> type[Mechanism]:
        """Return the first of the best mechanisms that has all given parameters."""
        parameters = {key for key in fields if any(key in each.keys for each in MECHANISMS.of(STRINGS))}
        best = [MECHANISMS[name] for name in _BEST]
        return next((family for family in best if parameters <= family.keys), best[0])

    def stored(self) -> dict[str, object]:
        """Return the candidates."""
        return {"values": None, "other": None, "candidates": list(self.candidates)}

    @property
    def domain_digest(self) -> object:
        """The name of RAPPOR's public hashing; that of other mechanisms is implied by their names."""
        return HASHING

    def answers(self, mechanism: Mechanism) -> Answers:
        """Return how strings are read."""
        return StringAnswers()

    def compiled(self, mechanism: Mechanism) -> Mapping[str, object]:
        """Return the kind; only the server uses the candidates."""
        return {"kind": self.kind}

    @property
    def labels(self) -> tuple[str, ...]:
        """The candidates."""
        return self.candidates

    @property
    def estimable(self) -> bool:
        """Whether there are candidates."""
        return bool(self.candidates)

    def reading(self, mechanism: Mechanism, report: Report, say: Language = ENGLISH) -> str:
        """Return how often a report fits the text and how often another, if a report is one symbol."""
        report.cells(mechanism)
        return fit_words(mechanism, say) if mechanism.shape is Shape.SYMBOL else ""

    def words(self, say: Language = ENGLISH) -> str:
        """Say that there is no list."""
        return say("string.words")

    @property
    def example(self) -> object:
        """No text."""
        return ""
