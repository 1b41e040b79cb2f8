"""Questions of one among listed values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from ..mechanism import Mechanism
from .domains.domain import Domain
from .fields import Fields
from .listed import ListedQuestion
from .plain import text_of
from .question import Answers, Encoded


@dataclass(frozen=True)
class ChoiceQuestion(ListedQuestion):
    """One of ``values``: that with the same text. Another text is outside the list, and no mistake.

    ``other`` is the catch-all, which is appended to the values unless it is one of them.
    """

    kind: ClassVar[str] = "choice"
    keys: ClassVar[frozenset[str]] = frozenset({"values", "other"})

    values: tuple[str, ...]
    other: str = "other"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", self.domain.labels)  # one way to say the same question

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Return the question of ``values`` and ``other``."""
        return cls(fields.strings("values"), fields.string("other", "other"))

    def answers(self, mechanism: Mechanism) -> Answers:
        """Return how the values are read."""
        return _Answers(self.domain)

    def compiled(self, mechanism: Mechanism) -> Mapping[str, object]:
        """Return all values, in order, and the index of the catch-all."""
        return {"kind": self.kind, "values": [*self.domain.labels], "other": self.domain.index(self.domain.other)}

    @property
    def names(self) -> Sequence[str]:
        """All answers."""
        return self.domain.labels

    def _listed(self) -> Domain:
        return Domain.choice(self.values, self.other)


class _Answers(Answers):
    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        other = domain.index(domain.other)
        self._outside = Encoded(other, outside=True)
        self._mistake = Encoded(other, outside=True, mistake=True)
        self._given: dict[str, Encoded] = {}  # the listed values that were given so far: at most all of them

    def encode(self, value: object) -> Encoded:
        """Return the listed value, or the catch-all."""
        text = value if type(value) is str else text_of(value)
        if text is None:
            return self._mistake
        return self._given.get(text) or self._look_up(text)

    def _look_up(self, text: str) -> Encoded:
        if text not in self._domain:
            return self._outside
        return self._given.setdefault(text, Encoded(self._domain.index(text)))
