"""Questions of yes and no."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from ..mechanism import Mechanism
from .domains.domain import Domain
from .fields import Fields
from .listed import ListedQuestion
from .plain import LONGEST_TEXT, plain
from .question import Answers, Encoded


@dataclass(frozen=True)
class BooleanQuestion(ListedQuestion):
    """Yes or no: what is neither is a mistake, and reported as no.

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
        return _Answers(self.domain)

    def compiled(self, mechanism: Mechanism) -> Mapping[str, object]:
        """Return the kind: no is item 0, yes is item 1."""
        return {"kind": self.kind}

    def shown(self, label: str) -> str:
        """Return Yes or No."""
        return {"true": "Yes", "false": "No"}[label]

    def _listed(self) -> Domain:
        return Domain.boolean()


class _Answers(Answers):
    wanted = 'give True or False; 1, 0, "true" and "false" are also accepted'

    def __init__(self, domain: Domain) -> None:
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
            meaning = meaning[:LONGEST_TEXT].strip().lower()
        return self._meanings.get(meaning, self._neither)
