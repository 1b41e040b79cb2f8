"""``dither-sim plan`` of shares of values, or of items of a selection: what each mechanism costs and tells."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dither_shared import Mechanism, ParameterError
from dither_shared.counted import counted
from dither_shared.mechanism import LISTED, SETS, Items
from dither_shared.mechanisms.auto import DEFAULT_BUDGET, candidates, choose
from dither_shared.privacy.wording import odds_sentence

from ...output.tables import Column, results_table, value
from ...sweeps import Row
from ...trials.mechanism_by_name import PER_ITEM, named_selection
from .planner import IntervalPlanner, in_percent, percent, yes_or_no


@dataclass(frozen=True, kw_only=True)
class SharePlanner(IntervalPlanner):
    """Shares of ``size`` values; ``budget`` is the most bytes of a report."""

    size: int
    budget: int = DEFAULT_BUDGET

    items: ClassVar[Items] = LISTED
    share: ClassVar[float] = 0.0
    """The share for which it is planned: that of most values."""
    whose: ClassVar[str] = "a value that hardly anyone has"
    """That share in words."""
    optimum: ClassVar[str] = "risk/optimum"
    """What errors are compared with."""

    @classmethod
    def asked(cls, given: Mapping[str, Any]) -> Self:
        """Return the plan that options ask for."""
        if given["size"] is None:
            raise ParameterError("--size", "missing; it says how many values there are")
        return super().asked(given)

    @property
    def size_in_words(self) -> str:
        """How many values there are."""
        return counted(self.size, "value")

    @property
    def promises(self) -> dict[str, int]:
        """The limits on answers that the mechanism may rely on, by parameter name."""
        return {}

    def mechanism(self, epsilon: float) -> Mechanism:
        """Return the mechanism that ``auto`` takes; raise ParameterError for a question that none can serve."""
        return choose(self.size, epsilon, self.permanent_epsilon, self.budget, items=self.items, promises=self.promises)

    def needed(self, epsilon: float) -> int:
        """Return how many users the chosen mechanism takes."""
        return self.users_for(self.mechanism(epsilon).variance(self.share))

    def users_for(self, variance: float) -> int:
        """Return how many users an interval takes, given n·Var of the noise; who is asked adds to it."""
        return self.users_of(variance + self.share * (1 - self.share))

    def rows(self) -> list[Row]:
        """Return, of one ε, every candidate, best first; of several the one that is chosen at each."""
        every = [self.candidates(epsilon) for epsilon in self.epsilons]
        return every[0] if len(every) == 1 else [row for rows in every for row in rows if row["chosen"]]

    def candidates(self, epsilon: float) -> list[Row]:
        """Return every mechanism that could serve, best first.

        - ``relative_risk``: its total squared error over the least that any ε-LDP mechanism has, or any here of sets;
        - ``epsilon``, ``epsilon_10``, ``epsilon_100``, ``epsilon_forever``: the privacy loss of 1, 10, 100 or all
          reports of one value (the last is None without a permanent part);
        - ``epsilon_days``: the privacy loss of a report on each of ``days``;
        - ``standard_error``, ``margin``: of the share that is planned for, and half of its interval, among the users
          there are; None if their number was not given;
        - ``users_needed``: for the margin to be at most the error that is wanted.
        """
        chosen = self.mechanism(epsilon)
        ranked = candidates(self.size, epsilon, self.permanent_epsilon, items=self.items, promises=self.promises)
        return [self._candidate(each.mechanism, each.relative_risk, each.mechanism == chosen) for each in ranked]

    def _candidate(self, mechanism: Mechanism, relative_risk: float, chosen: bool) -> Row:
        variance, share = mechanism.variance(self.share), self.share
        needed = self.users_for(variance)
        error = None if self.users is None else math.sqrt((variance + share * (1 - share)) / self.users)
        return {
            "mechanism": mechanism.name,
            "chosen": chosen,
            "relative_risk": relative_risk,
            "fits": mechanism.row_bytes <= self.budget,
            "epsilon": mechanism.epsilon,
            "epsilon_10": mechanism.epsilon_after(10),
            "epsilon_100": mechanism.epsilon_after(100),
            "standard_error": error,
            "margin": None if error is None else self.quantile * error,
            "users_needed": needed,
            **self.costs(mechanism),
        }

    def explain(self, rows: Sequence[Row]) -> str:
        """Return a table of the candidates at one ε, or of what is chosen at several."""
        return self._compared(rows) if len(self.epsilons) == 1 else self._weighed(rows)

    def _compared(self, rows: Sequence[Row]) -> str:
        (epsilon,) = self.epsilons
        chosen = next(row for row in rows if row["chosen"])
        forever = "" if self.permanent_epsilon is None else f", {self.permanent_epsilon:g} for ever"
        users = "" if self.users is None else f", {counted(self.users, 'user')}"
        wanted = f"wanted: ± {percent(self.error)}"
        return "\n".join(
            (
                f"{self.size_in_words}, ε = {epsilon:g} a report{forever}{users}; {wanted}",
                f"± is half of the {100 * self.confidence:.4g} % interval of {self.whose}; "
                f"± {percent(self.error)} is a standard error of {percent(self.error / self.quantile)}.",
                "",
                results_table(self._candidate_columns(), rows),
                "",
                f"* {chosen['mechanism']}: the least total error whose report fits {self.budget} bytes.",
                f"  {self._verdict(chosen)}",
                *self.otherwise(epsilon),
                f"  To a person: {odds_sentence(self.mechanism(epsilon))}.",
                self.memory(),
            )
        )

    def _candidate_columns(self) -> list[Column]:
        there = [in_percent("standard_error", "std error"), in_percent("margin", f"± {100 * self.confidence:.4g} %")]
        losses = [("epsilon", "ε of 1"), ("epsilon_10", "of 10"), ("epsilon_100", "of 100")]
        losses += [] if self.permanent_epsilon is None else [("epsilon_forever", "for ever")]
        return [
            Column("mechanism", lambda row: f"{row['mechanism']}{' *' if row['chosen'] else ''}"),
            _short("relative_risk", self.optimum, ".3f"),
            value("report_bytes", "bytes", ","),
            yes_or_no("fits", "fits"),
            *([] if self.users is None else there),
            value("users_needed", f"users for ± {percent(self.error)}", ","),
            *(_short(name, head, ".4g") for name, head in losses),
        ]

    def _verdict(self, chosen: Row) -> str:
        """Return a sentence on whether a share can be measured as wanted."""
        needed = f"± {percent(self.error)} takes {counted(chosen['users_needed'], 'user')}"
        if self.users is None:
            return f"{needed}."
        users = counted(self.users, "user gives", "users give")
        if self.reached(chosen["users_needed"]):
            return f"Yes: {users} ± {percent(chosen['margin'])}; {needed}."
        return f"No: {users} only ± {percent(chosen['margin'])}; {needed}."

    def otherwise(self, _epsilon: float) -> list[str]:
        """Return what asking in another way would take."""
        return []

    def _weighed(self, rows: Sequence[Row]) -> str:
        users = "" if self.users is None else f", {counted(self.users, 'user')}"
        sure = f"at {100 * self.confidence:.4g} %, for {self.whose}"
        asked = [row | {"asked": epsilon} for row, epsilon in zip(rows, self.epsilons, strict=True)]
        columns = (
            value("asked", "ε", "g"),
            value("mechanism", "mechanism"),
            value("report_bytes", "bytes a day", ","),
            value("users_needed", f"users for ± {percent(self.error)}", ","),
            in_percent("margin", "± reached"),
            Column("enough", lambda row: {True: "yes", False: "no", None: "-"}[self.reached(row["users_needed"])]),
            *self.loss_columns(),
        )
        return "\n".join(
            (
                f"{self.size_in_words}{users}; wanted: ± {percent(self.error)} {sure}",
                "",
                results_table(columns, asked, words=2),
                "",
                self.answer(),
                *(f"  ε = {each:g}, to a person: {odds_sentence(self.mechanism(each))}." for each in self.epsilons),
                self.memory(),
            )
        )


@dataclass(frozen=True, kw_only=True)
class SelectionPlanner(SharePlanner):
    """The share of people who have each of ``size`` items; a person has at most ``at_most``."""

    at_most: int | None = None

    items: ClassVar = SETS
    share: ClassVar = 0.5
    """The share whose interval is widest."""
    whose: ClassVar = "an item that half of all have"
    optimum: ClassVar = "risk/least"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at_most is not None and self.at_most > self.size:
            raise ParameterError("--at-most", f"{self.at_most} is more than the {self.size} items")

    @property
    def size_in_words(self) -> str:
        """How many items there are, and how many a person may have."""
        most = "any" if self.at_most is None else f"at most {self.at_most}"
        return f"{most} of {counted(self.size, 'item')}"

    @property
    def promises(self) -> dict[str, int]:
        """The limits on answers that the mechanism may rely on, by parameter name."""
        return {} if self.at_most is None else {"at_most": self.at_most}

    def otherwise(self, epsilon: float) -> list[str]:
        """Return what asking of each item by itself would take, at a share of ε."""
        alone = named_selection(PER_ITEM, self.size, self.at_most, epsilon)
        users = self.users_for(alone.variance(self.share))
        return [f"  Asked one by one, at ε/{self.size} each: {counted(users, 'user')}."]


def _short(name: str, head: str, form: str) -> Column:
    """Return a column of numbers that may be very large."""
    return Column(head, lambda row: format(row[name], form if row[name] < 1e4 else ".1e"))
