"""``dither-sim plan --type string``: how frequent a string must be to be found, and how many users that takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dither_server.estimation.strings.reach import reach, reports_for
from dither_shared import DiscoveryQuestion, Mechanism, ParameterError
from dither_shared.counted import counted
from dither_shared.privacy.wording import odds_sentence

from ...output.tables import Column, results_table, value
from ...sweeps import Row
from ...trials.mechanism_by_name import DISCOVERING, STRING_MECHANISMS, named, named_discovery
from .planner import Planner, percent, yes_or_no

_LIST = 1_000_000
"""Candidates of a list that might be brought instead of a discovery."""

_HOPELESS = 0.03
"""Where only strings that more people hold are found, there is seldom one."""


@dataclass(frozen=True, kw_only=True)
class StringPlanner(Planner):
    """Strings that a ``share`` of people hold, among ``size`` candidates or, with ``discover``, without a list."""

    size: int | None = None
    discover: DiscoveryQuestion | None = None
    share: float = 0.01

    hint: ClassVar = "Give the number of users (-n) to find from which share on strings are found."

    def __post_init__(self) -> None:
        if (self.size is None) == (self.discover is None):
            raise ParameterError(
                "--size",
                "or --discover is needed, and not both: how many candidates there are, or that none are listed",
            )

    def mechanism(self, epsilon: float) -> Mechanism:
        """Return the mechanism; raise ParameterError if there is none for that ε."""
        if self.discover is not None:
            return named_discovery(DISCOVERING[0], self.discover, epsilon, self.permanent_epsilon)
        return named(STRING_MECHANISMS[0], 0, epsilon, self.permanent_epsilon)

    @property
    def where(self) -> str:
        """Where strings are looked for, in words."""
        if self.discover is None:
            return f"a list of {counted(self.size or 0, 'candidate')}"
        few = f"up to {self.discover.length} of the {len(self.discover.characters)} characters"
        return f"no list: {few} of {self.discover.alphabet}"

    def needed(self, epsilon: float) -> int:
        """Return how many users it takes to find strings of the share about half the time."""
        return reports_for(self.mechanism(epsilon), self.share, self.size or _LIST)

    def rows(self) -> list[Row]:
        """Return what each ε costs and finds.

        - ``reach``: the share of people whose string is found about half the time, among the users there are; above 1
          there is none; None if their number was not given;
        - ``users_needed``: for the share that is wanted; ``users_listed``: if a million candidates could be listed,
          None where they are.
        """
        return [self._row(epsilon) for epsilon in self.epsilons]

    def _row(self, epsilon: float) -> Row:
        mechanism, needed, by_list = self.mechanism(epsilon), self.needed(epsilon), None
        if self.discover is not None:
            by_list = reports_for(named(STRING_MECHANISMS[0], 0, epsilon, self.permanent_epsilon), self.share, _LIST)
        return {
            "mechanism": mechanism.name,
            "epsilon": epsilon,
            "counters": mechanism.cohorts * mechanism.cells,
            "reach": None if self.users is None else reach(mechanism, self.users, self.size or _LIST),
            "users_needed": needed,
            "users_listed": by_list,
            "reached": self.reached(needed),
            "share": self.share,
            **self.costs(mechanism),
        }

    def explain(self, rows: Sequence[Row]) -> str:
        """Return a table for a terminal, and whether there is hope."""
        return "\n".join(
            (
                f"{self.in_words()}wanted: strings that {percent(self.share, 2)} of people hold; {self.where}",
                "Found: about half the time. Twice as frequent: nearly always. At most 5 % of those found are false.",
                "",
                results_table(self._columns(), rows, words=2),
                "",
                self.answer(),
                *self._doubts(rows),
                *(f"  ε = {each:g}, to a person: {odds_sentence(self.mechanism(each))}." for each in self.epsilons),
                self.memory(),
            )
        )

    def _columns(self) -> list[Column]:
        found = Column("found from", lambda row: percent(row["reach"], 2) if row["reach"] < 1 else "nothing")
        return [
            value("epsilon", "ε", "g"),
            value("mechanism", "mechanism"),
            value("report_bytes", "bytes"),
            value("counters", "counters", ","),
            value("users_needed", f"users for {percent(self.share, 2)}", ","),
            *([] if self.discover is None else [value("users_listed", "by a list", ",")]),
            *([] if self.users is None else [found, yes_or_no("reached", "enough")]),
            *self.loss_columns(),
        ]

    def _doubts(self, rows: Sequence[Row]) -> list[str]:
        """Return what else would help where only strings are found that hardly any question has."""
        worst = [row for row in rows if row["reach"] is not None and row["reach"] > _HOPELESS]
        if not worst:
            return []
        row, users = worst[-1], counted(self.users or 0, "user")
        share = "no string at all is" if row["reach"] >= 1 else f"only strings of {percent(row['reach'], 2)} are"
        other = "" if self.discover is None else "; shorter strings, fewer characters or a list want far fewer users"
        return [
            f"Do not hope at ε = {row['epsilon']:g}: of {users} {share} found, and few questions have any. "
            f"{percent(self.share, 2)} takes {counted(row['users_needed'], 'user')}{other}."
        ]
