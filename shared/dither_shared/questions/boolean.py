"""Yes-or-no questions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from ..encoding import Answers, BooleanAnswers
from ..mechanism import Mechanism
from .domains.domain import Domain
from .fields import Fields
from .listed import ListedQuestion


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
