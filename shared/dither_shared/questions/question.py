"""A kind of question: what may be answered, and how an answer becomes the item that a mechanism randomizes.

A new kind is a file beside this one, named in ``QUESTIONS``; the collector's part of it is in ``SUMMARIES``.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from ..encoding import Answers
from ..errors import ParameterError
from ..languages import ENGLISH, Language
from ..mechanism import Items, Mechanism
from ..privacy.wording import odds_sentence
from ..wire import Report
from .fields import Fields


class Question(ABC):
    """One question of a kind. A subclass is a kind, and a frozen dataclass of its definition's keys.

    Two questions are equal if they are of one kind and ask for the same.
    """

    kind: ClassVar[str]
    """The ``type`` of a metric's definition."""
    keys: ClassVar[frozenset[str]] = frozenset()
    """The keys of a definition of this kind, in addition to those that every kind has."""
    items: ClassVar[Items]
    """The kind of items that a mechanism for it must randomize."""

    @classmethod
    def asked(cls, fields: Fields) -> type["Question"]:  # noqa: ARG003 - kinds that have special ones look
        """Return the kind that a definition of this ``type`` asks for: this one, or one that a key selects."""
        return cls

    @classmethod
    @abstractmethod
    def read(cls, fields: Fields) -> Self:
        """Return the question that a definition asks. Raises ParameterError whose place is the key."""

    @classmethod
    @abstractmethod
    def family(cls, fields: Fields) -> type[Mechanism] | None:
        """Return the family of mechanisms that "auto" means; None for the best one that fits ``report_budget``."""

    @abstractmethod
    def stored(self) -> dict[str, object]:
        """Return the question as a JSON object, which ``read`` reads again; None and [] stand for what is not given."""

    @property
    @abstractmethod
    def domain_digest(self) -> object:
        """The part of a metric's version, as JSON: everything that decides which item an answer becomes."""

    @abstractmethod
    def answers(self, mechanism: Mechanism) -> Answers:
        """Return how its answers are read into items of ``mechanism``."""

    def compiled(self, mechanism: Mechanism) -> Mapping[str, object]:
        """Return, as JSON, how a client that knows the kinds by name turns answers into items of ``mechanism``.

        Raises ParameterError if such a client does not know this kind.
        """
        raise ParameterError("type", f"{self.kind} is not supported by other clients; use another type")

    @property
    def size(self) -> int | None:
        """The number of listed answers; None if there is no list."""
        return None

    @property
    def promises(self) -> Mapping[str, int]:
        """What all answers have in common, as parameters on which mechanisms may rely: "auto" passes them on."""
        return {}

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers whose shares are estimated."""
        return ()

    @property
    def estimable(self) -> bool:
        """Whether there is anything to estimate."""
        return True

    @property
    def names(self) -> Sequence[str]:
        """Example answers for a sentence, if "yes" and "no" are not the answers to the question."""
        return ()

    def shown(self, label: str) -> str:
        """Return a label as people read it."""
        return label

    def odds(self, mechanism: Mechanism, names: tuple[str, str] | None = None, say: Language = ENGLISH) -> str:
        """Return a sentence on what one report reveals about a person; ``names`` are an answer and its opposite."""
        return odds_sentence(mechanism, names, say)

    def reading(self, mechanism: Mechanism, report: Report, say: Language = ENGLISH) -> str:
        """Return in words what a report says about its sender, and how often it is wrong; "" if its bytes suffice.

        Raises WireError if the report names a cell that does not exist.
        """
        return ""

    def advice(self, mechanism: Mechanism) -> Sequence[str]:
        """Return suggestions for a better definition: sentences that begin with one of its keys."""
        return ()

    @abstractmethod
    def words(self, say: Language = ENGLISH) -> str:
        """Return the possible answers, in words."""

    @property
    @abstractmethod
    def example(self) -> object:
        """An example answer, to show a report of it."""
