"""What the pages show of a discovery: the strings that are found, as bars and as a table."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ....analysis.columns import Table
from ....estimation.fit import FALSE_DISCOVERIES
from ..summary import Exhibit
from ..window import Look, Window, window
from .text import reach_text

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
        return cls(table, Window(rows, place.page, place.pages, place.match))

    @property
    def values(self) -> int:
        """How many strings are found."""
        return len(self.table)

    @property
    def top(self) -> float:
        """The greatest share that the bars have to show."""
        return min(1.0, max([0.01, *(row["high"] for row in self.found.shown)]))

    @property
    def reach(self) -> str:
        """What so many reports can find, in words."""
        return reach_text(self.table.about)

    @property
    def rule(self) -> str:
        """What it takes to be found."""
        return f"Found: strings that stand out; an expected {100 * FALSE_DISCOVERIES:g}% of them are held by nobody."

    @property
    def needs(self) -> str:
        """How many reports find a string that some people hold."""
        sought = self.table.about["sought"]
        return f"{sought['reports']:,} to find a string that {100 * sought['share']:g}% of people hold, half the time"
