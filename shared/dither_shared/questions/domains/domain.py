"""The answers of a metric: labels, their indices, and the catch-all."""

from dataclasses import dataclass, field
from typing import Self

from ...errors import ParameterError


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
