"""``dither-sim plan --type string``: how frequent a string must be to be found, and how many users that takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dither_server.estimation.strings.reach import LISTED, reach, reports_for
from dither_server.tally.arrays import Counts, Floats
from dither_shared import DiscoveryQuestion, Mechanism, ParameterError
from dither_shared.counted import counted

from ...output.tables import ResultColumn, value
from ...sweeps import Row
from ...trials.mechanism_by_name import DISCOVERING, STRING_MECHANISMS, named, named_discovery
from .planner import Planner, percent, users_text

_HOPELESS = 0.03
"""Few questions have a string that more people hold."""

_OTHERS = "\nThe list is to have every string that more people hold: one that is missing hides rarer ones."
"""What ``reach`` takes to be so."""


@dataclass(frozen=True, kw_only=True)
class StringPlanner(Planner):
    """Strings that a ``share`` of people hold, among ``size`` candidates or, with ``discover``, without a list."""

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
        """Which strings, and where they are looked for."""
        strings = f"strings that {percent(self.share, 2)} of people hold"
        if self.discover is None:
            where = f"a list of {counted(self.size or 0, 'candidate')}"
        else:
            few = f"up to {self.discover.length} of the {len(self.discover.characters)} characters"
            where = f"no list: {few} of {self.discover.alphabet}"
        found = "Found: half the time. Twice as frequent: nearly always. At most 5 % of those found are false."
        return f"{strings}; {where}\n{found}{'' if self.discover else _OTHERS}"

    def mechanisms(self, epsilon: float) -> Sequence[Mechanism]:
        """Return the mechanism; raise ParameterError if there is none for that ε."""
        if self.discover is not None:
            return [named_discovery(DISCOVERING[0], self.discover, epsilon, self.permanent_epsilon)]
        return [self._by_list(epsilon)]

    def _by_list(self, epsilon: float) -> Mechanism:
        return named(STRING_MECHANISMS[0], 0, epsilon, self.permanent_epsilon)

    def margin(self, mechanism: Mechanism, users: Counts) -> Floats:
        """Return the share of people whose string is found half the time; above 1 there is none."""
        return reach(mechanism, users, self.size or LISTED)

    def needed(self, mechanism: Mechanism) -> int | None:
        """Return how many users find strings of the share half the time, to two digits; None if no number does."""
        return reports_for(mechanism, self.share, self.size or LISTED)

    def more(self, mechanism: Mechanism) -> Row:
        """Return how many counters there are and, of a discovery, the users needed with a list of a million."""
        listed = None if self.discover is None else reports_for(self._by_list(mechanism.epsilon), self.share)
        return {"share": self.share, "counters": mechanism.cohorts * mechanism.cells, "users_listed": listed}

    def more_columns(self, rows: Sequence[Row]) -> list[ResultColumn]:
        """Return how these are shown."""
        listed = [] if self.discover is None else [value("users_listed", "users with a list", ",")]
        return [value("counters", "counters", ","), *listed]

    def notes(self, rows: Sequence[Row]) -> list[str]:
        """Return what else would help if only strings are found that hardly any question has."""
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
