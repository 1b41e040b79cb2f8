"""What the pages show of a discovery: the strings that are found, as bars and as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dither_shared.questions.domains.alphabet import MARK

from ....analysis.columns import Table
from ....estimation.fit import FALSE_DISCOVERIES
from ..summary import Exhibit, Spot
from ..window import Look, Window, window
from .text import MARKED, reach_text, shown

__all__ = ["DiscoveryExhibit"]


_SPOTS = 4
"""Strings of a small panel."""


@dataclass(frozen=True)
class DiscoveryExhibit(Exhibit):
    """The strings that are ``found`` and looked at."""

    template: ClassVar[str] = "kinds/discovery.html"
    zero: ClassVar[float | None] = 0.0

    table: Table
    found: Window[dict[str, Any]]

    @classmethod
    def of(cls, table: Table, look: Look) -> Self:
        """Return the strings of a table that are looked at."""
        place = window(range(len(table)), lambda place: str(table.columns["value"][place]), look)
        rows = table.chosen(np.array(place.shown, dtype=np.intp)).rows()
        rows = [row | {"value": shown(row["value"])} for row in rows]
        return cls(table, Window(rows, place.page, place.pages, place.match))

    def spots(self, names: Sequence[str] | None = None) -> Sequence[Spot]:
        """Return the shares of these strings, found here or not, or of the most frequent."""
        rows = {shown(row["value"]): row for row in self.table.rows(0, None if names else _SPOTS)}
        return [_spot(name, rows.get(name)) for name in (rows if names is None else names)]

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


def _spot(name: str, row: Mapping[str, Any] | None) -> Spot:
    """Return a string's share in words and its place between 0 and 1."""
    if row is None:
        return Spot(name, "not found", "noise", None, None, None)
    share = min(max(row["frequency"], 0.0), 1.0)
    return Spot(name, f"{100 * share:.1f}%", "ok", share, row["low"], row["high"])
