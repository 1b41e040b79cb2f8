"""People with sets of values, and tallies of their reports, by the exact law."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither_server.tally.arrays import Booleans, Counts, Floats
from dither_server.tally.tally import Tally
from dither_shared import PrivSet, SetResponse


@dataclass(frozen=True)
class People:
    """A population of a few kinds of people, each of whom has value v with the chance of the kind: shape (kinds, d).

    So values go together, as they do: who has many has many others. ``at_most`` cuts sets to their first values.
    """

    chances: Floats
    at_most: int

    @classmethod
    def of(cls, size: int, at_most: int | None = None) -> "People":
        """Return three kinds: few values, some and many; the first values are the commonest."""
        falling = np.linspace(0.9, 0.1, size)
        few = 1.0 if at_most is None else min(1.0, at_most / size)
        return cls(np.stack([falling * share * few for share in (0.1, 0.6, 1.0)]), size if at_most is None else at_most)

    def draw(self, count: int, rng: np.random.Generator) -> Booleans:
        """Return the sets of ``count`` people, shape (count, d)."""
        kinds = rng.integers(0, len(self.chances), count)
        has = rng.random((count, self.chances.shape[1])) < self.chances[kinds]
        return np.asarray(has & (has.cumsum(axis=1) <= self.at_most))

    def law(self, values: NDArray[Any]) -> Floats:
        """Return P[each pattern of these values], the first of them as the lowest bit; for sets that nothing cuts."""
        law = np.zeros(1 << len(values))
        for chances in self.chances[:, values]:
            law_of_kind = np.ones(1)
            for chance in chances:
                law_of_kind = np.concatenate([law_of_kind * (1 - chance), law_of_kind * chance])
            law += law_of_kind / len(self.chances)
        return law


def response_tally(mechanism: SetResponse, people: People, reports: int, rng: np.random.Generator) -> Tally:
    """Return a tally by the law of the counts: those of windows, and of patterns in each."""
    counts: Counts = np.zeros((mechanism.cohorts, mechanism.cells), dtype=np.int64)
    of_each = rng.multinomial(reports, np.full(mechanism.cohorts, 1 / mechanism.cohorts))
    truth = float(mechanism.a - mechanism.b)
    for cohort in range(mechanism.cohorts):
        law = truth * people.law(np.array(mechanism.seen(cohort))) + (1 - truth) / mechanism.cells
        counts[cohort] = rng.multinomial(of_each[cohort], law)
    return Tally(of_each, counts)


def privset_tally(mechanism: PrivSet, sets: Booleans, rng: np.random.Generator) -> Tally:
    """Return the tally of a report of each set: a mixture of a uniform subset and one that meets the set's marks."""
    count, size, most, r = len(sets), mechanism.size, mechanism.at_most, mechanism.subset
    dummies = np.arange(most) < (most - sets.sum(axis=1))[:, np.newaxis]
    marks = np.concatenate([sets, dummies], axis=1)
    missing = float(np.prod(1 - most / (mechanism.cells - np.arange(r))))
    odds = float(mechanism.ratio)
    wanted = rng.random(count) < (odds - 1) * (1 - missing) / (odds * (1 - missing) + missing)
    met = rng.hypergeometric(most, size, r, count)  # how many marked cells a subset has
    while (again := wanted & (met == 0)).any():
        met[again] = rng.hypergeometric(most, size, r, int(again.sum()))
    order = (rng.random(marks.shape) + ~marks).argsort(axis=1)  # the marked first, and both in any order
    place = np.arange(mechanism.cells)
    listed = (place < met[:, np.newaxis]) | ((place >= most) & (place < (most + r - met)[:, np.newaxis]))
    counts = np.bincount(order[listed], minlength=mechanism.cells)
    return Tally(np.array([count]), counts[np.newaxis])
