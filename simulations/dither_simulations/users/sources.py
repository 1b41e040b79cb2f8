"""Sources of users: a distribution over made-up values, which may drift from day to day, or a file."""

from dataclasses import dataclass
from typing import Protocol

from dither_shared import ParameterError

from ..choices import Kind
from .populations import Floats, Population, geometric, numbered, step, uniform, zipf


class Source(Protocol):
    """Makes the population for any cell of a sweep."""

    @property
    def name(self) -> str:
        """The name in results."""

    def population(self, size: int, users: int, day: int = 1) -> Population:
        """Return ``users`` over ``size`` values, as they are on a day; the first day is 1."""


@dataclass(frozen=True)
class Distribution:
    """A distribution over values v0, v1, …, of which day by day a share of ``drift`` moves to its mirror image.

    On day t the weights are (1 - w) f_v + w f_(k-1-v) with w = min(1, drift·(t - 1)): what was rare becomes frequent.
    """

    kind: Kind = "zipf"
    exponent: float = 1.1
    ratio: float = 0.9
    drift: float = 0.0

    @property
    def name(self) -> str:
        """The name in results: its kind, and its parameter where that matters."""
        parameter = {"zipf": f" {self.exponent:g}", "geometric": f" {self.ratio:g}"}.get(self.kind, "")
        return f"{self.kind}{parameter}"

    def population(self, size: int, users: int, day: int = 1) -> Population:
        """Return the users of a day."""
        weights = self.weights(size)
        if not 0 < weights.sum() < float("inf"):
            raise ParameterError("distribution", f"the weights of {self.name} over {size} values do not add up")
        moved = min(1.0, self.drift * (day - 1))
        mixed = weights if moved == 0 else (1 - moved) * weights + moved * weights[::-1]
        return Population.spread(numbered(size), mixed, users)

    def weights(self, size: int) -> Floats:
        """Return the weights of the first day."""
        if self.kind == "zipf":
            return zipf(size, self.exponent)
        if self.kind == "geometric":
            return geometric(size, self.ratio)
        return uniform(size) if self.kind == "uniform" else step(size)


@dataclass(frozen=True, eq=False)
class Column:
    """The values of a file, as often as it counts them; the same on every day."""

    whole: Population
    name: str = "csv"

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.whole.labels)

    @property
    def users(self) -> int:
        """The number of users."""
        return self.whole.users

    @property
    def contents(self) -> object:
        """All that results depend on."""
        return self.whole.labels, self.whole.counts.tolist()

    def population(self, size: int, users: int, day: int = 1) -> Population:
        """Return the ``size`` - 1 most frequent values and the rest under one label, or all if there are ``size``.

        Raises ParameterError if there are fewer.
        """
        found = len(self.whole.labels)
        if size > found:
            raise ParameterError("--size", f"{size} is more than the {found} values of {self.name}")
        population = self.whole if size == found else self.whole.top(size - 1)
        if users == population.users:
            return population
        return Population.spread(population.labels, population.shares, users)
