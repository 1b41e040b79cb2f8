"""Questions with listed answers: others are reported under the catch-all label."""

from abc import abstractmethod
from typing import ClassVar

from ..languages import ENGLISH, Language
from ..light import cached_property
from ..mechanism import LISTED, Items, Mechanism
from ..mechanisms import MECHANISMS
from .domains.domain import Domain
from .fields import Fields
from .question import Question


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
        """Its answers, in order, and the catch-all among them."""
        return self._listed()

    def stored(self) -> dict[str, object]:
        """Return its answers."""
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
