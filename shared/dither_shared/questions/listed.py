"""Questions with listed answers: yes or no, or one of a list; others are reported under the catch-all label."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

from ..encoding import Answers, BooleanAnswers, ChoiceAnswers
from ..errors import ParameterError
from ..languages import ENGLISH, Language
from ..light import cached_property
from ..mechanism import LISTED, Items, Mechanism
from ..mechanisms import MECHANISMS
from .fields import Fields
from .question import Question


@dataclass(frozen=True)
class Domain:
    """A finite set of answers, in an order that the wire format depends on.

    One label is the catch-all: an answer that is not listed is reported under it. Leaving such a person out would be
    worse than useless, because then the absence of a report is an answer, too.
    """

    labels: tuple[str, ...]
    other: str
    _index: dict[str, int] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        if len(self.labels) < 2:
            raise ParameterError("values", f"{len(self.labels)} value(s); a question needs at least 2 answers")
        index = {label: position for position, label in enumerate(self.labels)}
        if len(index) < len(self.labels):
            twice = next(label for position, label in enumerate(self.labels) if index[label] != position)
            raise ParameterError("values", f"{twice!r} is listed twice")
        if self.other not in index:
            raise ParameterError("other", f"{self.other!r} is not one of the values")
        object.__setattr__(self, "_index", index)

    @classmethod
    def boolean(cls) -> Self:
        """Return the domain of a yes/no question; anything else is reported as no."""
        return cls(("false", "true"), other="false")

    @classmethod
    def choice(cls, values: tuple[str, ...], other: str = "other") -> Self:
        """Return the domain of listed values, with the catch-all appended unless it is one of them."""
        return cls(values if other in values else (*values, other), other)

    def __len__(self) -> int:
        return len(self.labels)

    def __contains__(self, label: object) -> bool:
        return label in self._index

    def index(self, label: str) -> int:
        """Return the index of ``label``, or that of the catch-all if it is not listed."""
        return self._index.get(label, self._index[self.other])


class ListedQuestion(Question):
    """A question whose ``domain`` holds all of its answers."""

    items: ClassVar[Items] = LISTED

    @classmethod
    def family(cls, fields: Fields) -> type[Mechanism] | None:
        """Return randomized response if a truth probability is given; otherwise None, for the best mechanism."""
        return MECHANISMS["randomized-response"] if "truth" in fields else None

    @abstractmethod
    def _listed(self) -> Domain:
        """Return the domain."""

    @cached_property
    def domain(self) -> Domain:
        """The listed answers, in order, including the catch-all."""
        return self._listed()

    def stored(self) -> dict[str, object]:
        """Return the listed answers."""
        return {"values": list(self.domain.labels), "other": self.domain.other, "candidates": []}

    @property
    def domain_digest(self) -> object:
        """The labels, and the catch-all."""
        return [*self.domain.labels, self.domain.other]

    @property
    def size(self) -> int:
        """The number of listed answers."""
        return len(self.domain)

    @property
    def labels(self) -> tuple[str, ...]:
        """All answers."""
        return self.domain.labels

    def words(self, say: Language = ENGLISH) -> str:
        """Return the answers."""
        return ", ".join(self.domain.labels)

    @property
    def example(self) -> object:
        """The first answer."""
        return self.domain.labels[0]


@dataclass(frozen=True)
class BooleanQuestion(ListedQuestion):
    """Yes or no; anything else is a mistake, and reported as no.

    True, 1, 1.0 and "true" are true, False, 0, 0.0 and "false" are false; neither case nor white space around a string
    matters.
    """

    kind: ClassVar[str] = "boolean"

    @classmethod
    def read(cls, fields: Fields) -> Self:  # noqa: ARG003 - other kinds have keys
        """Return the question, which has no keys."""
        return cls()

    def answers(self, mechanism: Mechanism) -> Answers:
        """Return how yes and no are read."""
        return BooleanAnswers()

    def compiled(self, mechanism: Mechanism) -> Mapping[str, object]:
        """Return the kind: no is item 0, yes is item 1."""
        return {"kind": self.kind}

    def shown(self, label: str) -> str:
        """Return Yes or No."""
        return {"true": "Yes", "false": "No"}[label]

    def _listed(self) -> Domain:
        return Domain.boolean()


@dataclass(frozen=True)
class ChoiceQuestion(ListedQuestion):
    """A question whose answer is one of ``values``, compared as text. A text that is not listed is not a mistake.

    Such a text is reported as ``other``, the catch-all, which is appended to the values unless it is one of them. For
    weeks since first use the catch-all is the last value, because a device reports only in the listed weeks, and a
    value that nobody reports would cost accuracy.
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
