"""Questions with one answer from a list of values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from ..encoding import Answers, ChoiceAnswers
from ..mechanism import Mechanism
from .domains.domain import Domain
from .fields import Fields
from .listed import ListedQuestion


@dataclass(frozen=True)
class ChoiceQuestion(ListedQuestion):
    """One of ``values``: the one with the same text. A text that is not listed is outside the domain, but no mistake.

    ``other`` is the catch-all, which is appended to the values unless it is one of them. Of weeks since first use it is
    the last value: a device reports only in the listed weeks, and an answer that nobody gives would cost accuracy.
    """

    kind: ClassVar[str] = "choice"
    keys: ClassVar[frozenset[str]] = frozenset({"values", "other"})

    values: tuple[str, ...]
    other: str = "other"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", self.domain.labels)  # canonical: only one way to write the same question

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Return the question of ``values`` and ``other``."""
        values = fields.strings("values")
        weeks = fields.value("of") == "weeks-since-first-use" and values
        return cls(values, fields.string("other", values[-1] if weeks else "other"))

    def answers(self, mechanism: Mechanism) -> Answers:
        """Return how the values are read."""
        return ChoiceAnswers(self.domain.labels, self.domain.index(self.domain.other))

    def compiled(self, mechanism: Mechanism) -> Mapping[str, object]:
        """Return all values, in order, and the index of the catch-all."""
        return {"kind": self.kind, "values": [*self.domain.labels], "other": self.domain.index(self.domain.other)}

    @property
    def names(self) -> Sequence[str]:
        """All answers."""
        return self.domain.labels

    def _listed(self) -> Domain:
        return Domain.choice(self.values, self.other)
