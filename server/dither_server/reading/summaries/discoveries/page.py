"""What the pages show of a discovery: the strings that are found, as bars and as a table."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dither_shared.questions.alphabet import MARK

from ....analysis.columns import Table
from ....estimation.fit import FALSE_DISCOVERIES
from ..summary import Exhibit
from ..window import Look, Window, window
from .text import MARKED, reach_text, shown

__all__ = ["DiscoveryExhibit"]


@dataclass(frozen=True)
class DiscoveryExhibit(Exhibit):
    """The strings that are ``found`` and looked at."""

    template: ClassVar[str] = "kinds/discovery.html"

    table: Table
    found: Window[dict[str, Any]]

    @classmethod
    def of(cls, table: Table, look: Look) -> Self:
        """Return the strings of a table that are looked at."""
        place = window(range(len(table)), lambda place: str(table.columns["value"][place]), look)
        rows = table.chosen(np.array(place.shown, dtype=np.intp)).rows()
        rows = [row | {"value": shown(row["value"])} for row in rows]
        return cls(table, Window(rows, place.page, place.pages, place.match))

    @property
    def values(self) -> int:
        """How many strings are found."""
        return len(self.table)

    @property
    def top(self) -> float:
        """The greatest share that the bars have to show."""
        return max([0.01, *(float(row["high"]) for row in self.found.shown)])

    @property
    def stretched(self) -> float:
        """How many times as wide intervals would be if the same people reported in each period, at most."""
        repeated, once = (np.asarray(self.table.columns[name]) for name in ("repeat_error", "standard_error"))
        return float(np.max(repeated / once, initial=1.0))

    @property
    def reach(self) -> str:
        """What so many reports can find, in words."""
        return reach_text(self.table.about)

    @property
    def rule(self) -> str:
        """What it takes to be found."""
        found = f"Found: strings that stand out; an expected {100 * FALSE_DISCOVERIES:g}% of them are held by nobody."
        return f"{found} {MARKED}" if any(MARK in row["value"] for row in self.found.shown) else found

    @property
    def needs(self) -> str:
        """How many reports find a string that some people hold."""
        sought = self.table.about["sought"]
        return f"{sought['reports']:,} to find a string that {100 * sought['share']:g}% of people hold, half the time"
