"""``dither-sim plan`` for shares: of values, of items of a selection, of pairs of items, or of strings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from dither_server.estimation.decoders.decoder import Pairs
from dither_server.estimation.decoders.support import decoder_of
from dither_server.estimation.planning import (
    LIST_LENGTH,
    Supported,
    half_width,
    reach,
    reports_for,
    users_for,
    worst_share,
)
from dither_server.tally.arrays import Counts, Floats
from dither_server.tally.tally import Tally
from dither_shared import DiscoveryQuestion, Mechanism, ParameterError
from dither_shared.counted import counted
from dither_shared.mechanism import LISTED, SETS, Items
from dither_shared.mechanisms.auto import DEFAULT_BUDGET, candidates, choose

from ...mechanism_by_name import DISCOVERING, PER_ITEM, STRING_MECHANISMS, named, named_discovery, named_selection
from ...sweeps import Row
from ...tables import ResultColumn, value
from .planner import IntervalPlanner, Planner, in_percent, percent, users_text, yes_or_no


@dataclass(frozen=True, kw_only=True)
class SharePlanner(IntervalPlanner):
    """Plans shares of ``size`` values, at ``share`` or the worst one; ``budget`` is the maximum bytes of a report."""

    size: int
    share: float | None = None
    budget: int = DEFAULT_BUDGET

    items: ClassVar[Items] = LISTED
    optimum: ClassVar[str] = "risk/optimum"
    """The header of the column that compares total errors."""

    @classmethod
    def asked(cls, given: Mapping[str, Any]) -> Self:
        """Return the plan for the given options."""
        if given["size"] is None:
            raise ParameterError("--size", "missing; it gives the number of values")
        return super().asked(given)

    @property
    def wanted(self) -> str:
        """The aim in words: the error, the share, and the number of values."""
        return f"{self.within} for {self.whose}, of {counted(self.size, 'value')}"

    @property
    def whose(self) -> str:
        """The share in words."""
        return "any share" if self.share is None else f"a share of {percent(self.share)}"

    @property
    def promises(self) -> dict[str, int]:
        """The limits on answers that the mechanism may rely on, by parameter name."""
        return {}

    def mechanisms(self, epsilon: float) -> Sequence[Mechanism]:
        """Return the mechanism that ``auto`` selects and, for a single ε, the others by ascending total error."""
        chosen = choose(
            self.size, epsilon, self.permanent_epsilon, self.budget, items=self.items, promises=self.promises
        )
        if epsilon not in self.epsilons or len(self.epsilons) > 1:
            return [chosen]
        return [chosen, *(mechanism for mechanism in self._risks(epsilon) if mechanism != chosen)]

    def _risks(self, epsilon: float) -> dict[Mechanism, float]:
        return candidates(self.size, epsilon, self.permanent_epsilon, items=self.items, promises=self.promises)

    def law(self, mechanism: Mechanism) -> Supported | None:
        """Return the law by which reports support a share; None if no report covers it."""
        return mechanism

    def margin(self, mechanism: Mechanism, users: Counts) -> Floats:
        """Return how far a share may be from its estimate (``half_width``); infinity if no report covers it."""
        law = self.law(mechanism)
        return np.full(len(users), np.inf) if law is None else half_width(law, users, self.confidence, self.share)

    def more(self, mechanism: Mechanism) -> Row:
        """Return the further columns of a row.

        - ``share``: the planned share; ``fits``: whether a report is within the budget;
        - ``relative_risk``: for a single ε, the total squared error divided by the least of any ε-LDP mechanism or, for
          sets, of the mechanisms here; otherwise None.
        """
        risk = self._risks(self.epsilons[0])[mechanism] if len(self.epsilons) == 1 else None
        law = self.law(mechanism)
        share = worst_share(law) if law is not None and self.share is None else self.share
        return {"share": share, "relative_risk": risk, "fits": mechanism.row_bytes <= self.budget}

    def more_columns(self, rows: Sequence[Row]) -> list[ResultColumn]:
        """Return the formats of the columns that compare mechanisms at a single ε."""
        worst = [in_percent("share", "worst share")] if self.share is None else []
        if len(self.epsilons) > 1:
            return worst
        return [ResultColumn(self.optimum, lambda row: _short(row["relative_risk"])), yes_or_no("fits", "fits"), *worst]


class _PairLaw(NamedTuple):
    """The law by which reports support that a person has two items."""

    p: Fraction
    q: Fraction
    coverage: Fraction


@dataclass(frozen=True, kw_only=True)
class SelectionPlanner(SharePlanner):
    """Plans the shares of ``size`` items, or of their ``pairs``, if a person has at most ``at_most`` items."""

    at_most: int | None = None
    pairs: bool = False

    items: ClassVar = SETS
    optimum: ClassVar = "risk/least"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at_most is not None and self.at_most > self.size:
            raise ParameterError("--at-most", f"{self.at_most} is more than the {self.size} items")

    @property
    def wanted(self) -> str:
        """The aim in words: the error, the share, and the number of items or pairs."""
        most = "any" if self.at_most is None else f"at most {self.at_most}"
        of = "the people who have two items" if self.pairs else "the people who have an item"
        return f"{self.within} for {self.whose}, of {of}; {most} of {counted(self.size, 'item')}"

    @property
    def promises(self) -> dict[str, int]:
        """The limits on answers that the mechanism may rely on, by parameter name."""
        return {} if self.at_most is None else {"at_most": self.at_most}

    def law(self, mechanism: Mechanism) -> Supported | None:
        """Return the law by which reports support an item or, for pairs, the pair that the fewest reports cover."""
        if not self.pairs:
            return mechanism
        seen = _pairs(mechanism)
        return (
            None
            if not len(seen.trials)
            else _PairLaw(seen.p, seen.q, Fraction(int(seen.trials.min()), mechanism.cohorts))
        )

    def notes(self, rows: Sequence[Row]) -> list[str]:
        """Return which pairs no report covers; without ``pairs``, the users that separate questions per item need."""
        if self.pairs:
            seen = {epsilon: _pairs(self.mechanisms(epsilon)[0]) for epsilon in self.epsilons}
            words = {True: "not all pairs are in some report", False: "no report speaks of two items"}
            return [
                f"At ε = {epsilon:g} {words[len(pairs.trials) > 0]}: {pairs.unseen}."
                for epsilon, pairs in seen.items()
                if pairs.unseen
            ]
        alone = named_selection(PER_ITEM, self.size, self.at_most, self.epsilons[-1])
        users = users_for(lambda many: half_width(alone, many, self.confidence, self.share), self.error)
        return [f"Asked one by one, at ε = {self.epsilons[-1]:g}/{self.size} each: {users_text(users)}."]


def _pairs(mechanism: Mechanism) -> Pairs:
    """Return the pairs of items that reports cover, if each cohort has one report."""
    even = Tally.zero(mechanism)
    even.reports[:] = 1
    return decoder_of(mechanism).pairs(mechanism, even)


def _short(number: float) -> str:
    return format(number, ".3f" if number < 1e4 else ".1e")


_HOPELESS = 0.03
"""A margin this large makes a plan useless: hardly any question has a string with so large a share."""

_OTHERS = "\nThe list is to have every string that more people hold: one that is missing hides rarer ones."
"""The assumption of ``reach``, in words."""


@dataclass(frozen=True, kw_only=True)
class StringPlanner(Planner):
    """Plans strings held by a ``share`` of people, among ``size`` candidates or, with ``discover``, without a list."""

    size: int | None = None
    discover: DiscoveryQuestion | None = None
    share: float = 0.01

    reach: ClassVar = "found from"

    def __post_init__(self) -> None:
        if (self.size is None) == (self.discover is None):
            raise ParameterError(
                "--size",
                "or --discover is needed, but not both: the number of candidates, or what to discover without a list",
            )

    @property
    def aim(self) -> float:
        """The share."""
        return self.share

    @property
    def wanted(self) -> str:
        """The aim in words: the strings, and the candidates."""
        strings = f"strings that {percent(self.share, 2)} of people hold"
        if self.discover is None:
            where = f"a list of {counted(self.size or 0, 'candidate')}"
        else:
            few = f"up to {self.discover.length} of the {len(self.discover.characters)} characters"
            where = f"no list: {few} of {self.discover.alphabet}"
        promise = "Found: half the time. Twice as frequent: nearly always. At most 5 % of those found are false."
        return f"{strings}; {where}\n{promise}{'' if self.discover else _OTHERS}"

    def mechanisms(self, epsilon: float) -> Sequence[Mechanism]:
        """Return the mechanism; raise ParameterError if there is none for that ε."""
        if self.discover is not None:
            return [named_discovery(DISCOVERING[0], self.discover, epsilon, self.permanent_epsilon)]
        return [self._by_list(epsilon)]

    def _by_list(self, epsilon: float) -> Mechanism:
        return named(STRING_MECHANISMS[0], 0, epsilon, self.permanent_epsilon)

    def margin(self, mechanism: Mechanism, users: Counts) -> Floats:
        """Return the share of people whose string is found with probability 1/2; above 1, no string is found."""
        return reach(mechanism, users, self.size or LIST_LENGTH)

    def needed(self, mechanism: Mechanism) -> int | None:
        """Return the users that find strings of the share with probability 1/2, to two digits; None if impossible."""
        return reports_for(mechanism, self.share, self.size or LIST_LENGTH)

    def more(self, mechanism: Mechanism) -> Row:
        """Return the number of counters and, for a discovery, the users needed with a list of a million."""
        listed = None if self.discover is None else reports_for(self._by_list(mechanism.epsilon), self.share)
        return {"share": self.share, "counters": mechanism.cohorts * mechanism.cells, "users_listed": listed}

    def more_columns(self, rows: Sequence[Row]) -> list[ResultColumn]:
        """Return the formats of the further columns."""
        listed = [] if self.discover is None else [value("users_listed", "users with a list", ",")]
        return [value("counters", "counters", ","), *listed]

    def notes(self, rows: Sequence[Row]) -> list[str]:
        """Return advice if only strings more frequent than those of nearly all questions would be found."""
        worst = [row for row in rows if row["margin"] is not None and row["margin"] > _HOPELESS]
        if not worst:
            return []
        row, users = worst[-1], counted(self.users or 0, "user")
        share = "no string at all is" if row["margin"] >= 1 else f"only strings of {percent(row['margin'], 2)} are"
        other = "" if self.discover is None else "; shorter strings, fewer characters or a list need far fewer users"
        return [
            f"Do not hope at ε = {row['asked']:g}: of {users} {share} found, and few questions have any. "
            f"{percent(self.share, 2)} takes {users_text(row['users_needed'])}{other}."
        ]
