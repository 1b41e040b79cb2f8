"""``dither-sim error --type string``: which of the most frequent strings are found, with or without a list."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dither_server.estimation.estimate import estimate
from dither_server.estimation.planning import reach
from dither_server.estimation.strings.discovery import Spelling, discover
from dither_server.tally.tally import Tally
from dither_shared import DiscoveryQuestion, Mechanism, ParameterError, PrefixSketch
from dither_shared.counted import counted

from ...mechanism_by_name import DISCOVERING, STRING_MECHANISMS, check_names, named, named_discovery
from ...plots import Curve
from ...samplers.devices import drawn_tally
from ...sweeps import Row
from ...tables import EPSILON, ResultColumn, measured, parameter, value
from ...users.populations import WORDS, Floats, Population, listed, made_up, spelled
from .accuracy import Accuracy, Cell

TOPS = (8, 16, 32)
"""Recall is measured for these numbers of most frequent strings."""

_NAMED = 16


class Found(NamedTuple):
    """The strings that are found, the highest estimate first, and their intervals."""

    labels: tuple[str, ...]
    low: Floats
    high: Floats


def found_in(
    mechanism: Mechanism, tally: Tally, candidates: Sequence[str] | DiscoveryQuestion, confidence: float = 0.95
) -> Found:
    """Return which of the candidates are found in a tally, or which strings of a question are discovered."""
    if isinstance(candidates, DiscoveryQuestion):
        spelling = Spelling(candidates.symbols, candidates.ends)
        made = discover(PrefixSketch.require(mechanism, "mechanism"), spelling, tally, confidence)
        return Found(tuple(item.decode("latin-1") for item in made.items), made.low, made.high)
    whole = estimate(mechanism, tuple(candidates), tally, confidence)
    places = np.flatnonzero(np.zeros(0) if whole.found is None else whole.found)
    places = places[np.argsort(-whole.frequency[places], kind="stable")]
    return Found(tuple(whole.labels[place] for place in places), whole.low[places], whole.high[places])


def string_scores(held: Mapping[str, float], found: Found) -> Row:
    """Return how many of the strings that people hold, with their shares, are found, and how many that nobody holds.

    - ``recall_8``, ``recall_16``, ``recall_32``: the share of the 8, 16, 32 most frequent strings that are found;
    - ``f1``: for the 16 found strings with the highest estimates, against the 16 most frequent: 2 hits/(found of them +
      16);
    - ``found``: how many; ``false``: the share of these that nobody in the population holds, 0 if none is found;
    - ``missed``: the share of the found strings' intervals that do not contain the population's share, 0 if none is
      found.
    """
    ranked = sorted(held, key=lambda label: -held[label])
    truth = np.array([held.get(label, 0.0) for label in found.labels])
    hits = len(set(found.labels[:_NAMED]) & set(ranked[:_NAMED]))
    return {
        **{f"recall_{top}": _recall(found.labels, ranked[:top]) for top in TOPS},
        "f1": 2 * hits / (min(len(found.labels), _NAMED) + min(len(ranked), _NAMED)),
        "found": float(len(found.labels)),
        "false": float((truth == 0).mean()) if len(truth) else 0.0,
        "missed": float(((truth < found.low) | (truth > found.high)).mean()) if len(truth) else 0.0,
    }


def _recall(found: Sequence[str], frequent: Sequence[str]) -> float:
    return len(set(found) & set(frequent)) / len(frequent)


def _reach(row: Mapping[str, Any]) -> str:
    share = row["reach"]
    return "-" if share is None else "none" if share > 1 else f"{100 * share:.2g} %"


def _where(row: Mapping[str, Any]) -> str:
    return counted(row["listed"], "candidate") if row["listed"] is not None else "nothing listed"


_NOTES = (
    "Top: share of the 8, 16, 32 most frequent strings that are found. Reach: share of people who must have a",
    "string for it to be found half the time. False: share of the found strings that nobody has. Missed: share of",
    "their intervals that do not contain the truth.",
)


@dataclass(frozen=True, kw_only=True)
class StringAccuracy(Accuracy):
    """Every mechanism of strings. With ``discover`` nothing is listed, else ``candidates`` strings are looked for.

    People hold ``size`` strings, which are among the candidates. ``reach`` is the share of people that a string must
    have to be found half the time; None if no formula is known for the mechanism.
    """

    candidates: int | None = None
    discover: DiscoveryQuestion | None = None

    offered: ClassVar = (*STRING_MECHANISMS, *DISCOVERING)
    usual_users: ClassVar = 1_000_000
    usual_size: ClassVar = 1000
    noun: ClassVar = "string"
    only_joint: ClassVar = "strings share buckets"
    axes: ClassVar = {"epsilon": "ε of one report", "users": "users", "size": "strings that people hold"}
    curves: ClassVar = (
        Curve("recall_16", "found of the 16\nmost frequent", log=False),
        Curve("false", "found strings\nthat nobody has", log=False),
    )
    columns: ClassVar = (
        value("mechanism", "mechanism"),
        parameter("size", "strings"),
        parameter("users", "n"),
        EPSILON,
        ResultColumn("reach", _reach),
        value("recall_8", "top 8", ".2f"),
        value("recall_16", "top 16", ".2f"),
        value("recall_32", "top 32", ".2f"),
        value("f1", "F1 of 16", ".2f"),
        measured("found", "found", ".1f"),
        measured("false", "false", ".3f"),
        value("missed", "missed", ".3f"),
    )

    @classmethod
    def chosen(cls, seed: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that options set."""
        if given["discover"] is not None and given["candidates"] is not None:
            raise ParameterError("--candidates", "cannot be used with --discover, which needs no list")
        check_names(given["names"], tuple(cls.usual(given)))
        return super().chosen(seed, given)

    @classmethod
    def usual(cls, given: Mapping[str, Any]) -> Sequence[str]:
        """Return the mechanisms that look strings up, or those that discover them."""
        return STRING_MECHANISMS if given["discover"] is None else DISCOVERING

    def mechanism(self, cell: Cell) -> Mechanism:
        """Return the mechanism of a cell."""
        if self.discover is not None:
            return named_discovery(cell.asked, self.discover, cell.epsilon, self.permanent_epsilon)
        return named(cell.asked, cell.size, cell.epsilon, self.permanent_epsilon)

    @lru_cache(maxsize=2)  # noqa: B019 - a command has one, and trials of a cell ask for the same
    def people(self, cell: Cell) -> Population:
        """Return the strings that people hold; raise ParameterError if the spelling allows too few."""
        people: Population = self.source.population(cell.size, 10**9)
        if isinstance(self.source, Population):
            return people
        question = self.discover
        characters, length = (WORDS, 12) if question is None else (question.characters, question.length)
        labels = made_up(cell.size, characters, length)
        if len(labels) < cell.size:
            raise ParameterError("--size", f"{cell.size} strings are more than the {len(labels)} possible ones")
        return Population(labels, people.counts)

    @lru_cache(maxsize=2)  # noqa: B019 - likewise
    def looked_for(self, cell: Cell) -> tuple[Population, DiscoveryQuestion | tuple[str, ...]]:
        """Return the population, with labels that the mechanism accepts, and the candidates or the question."""
        people = self.people(cell)
        if self.discover is not None:
            return spelled(self.discover, self.mechanism(cell), people.labels, people.shares), self.discover
        many = self._listed(cell)
        if many < len(people.labels):
            problem = f"{many} are fewer than the {len(people.labels)} strings that people hold"
            raise ParameterError("--candidates", problem)
        return people, listed(people.labels, many)

    def _listed(self, cell: Cell) -> int:
        return 10 * cell.size if self.candidates is None else self.candidates

    def simulate(self, cell: Cell, seed: np.random.SeedSequence) -> Sequence[Row]:
        """Return the measures of one trial."""
        mechanism, (people, candidates) = self.mechanism(cell), self.looked_for(cell)
        tally = drawn_tally(mechanism, people.labels, people.shares, cell.users, self.law_of(cell), seed)
        found = found_in(mechanism, tally, candidates, self.confidence)
        return (string_scores(dict(zip(people.labels, people.shares.tolist(), strict=True)), found),)

    def about(self, cell: Cell) -> Row:
        """Return the columns that describe a cell."""
        self.looked_for(cell)
        return super().about(cell)

    def extent(self, cell: Cell) -> Row:
        """Return the columns of the cell: the number of strings, the candidates or the spelling, and the reach."""
        question, mechanism = self.discover, self.mechanism(cell)
        many = None if question is not None else self._listed(cell)
        return {
            "size": cell.size,
            "listed": many,
            "discover": None if question is None else f"{question.alphabet}/{question.length}",
            "reach": float(reach(mechanism, cell.users, many or 1)) if mechanism.pure else None,
        }

    def notes(self, rows: Sequence[Row]) -> Sequence[str]:
        """Return notes on the population and on the meaning of the columns."""
        first = rows[0]
        return (
            "",
            f"{counted(first['size'], self.noun)}, {first['distribution']}; {_where(first)}.",
            *_NOTES,
        )

    def legend(self, row: Row, points: str) -> str:
        """Return a legend that says where strings are looked for; there is no theory to mention."""
        return f"{_where(row)}; {points}"
