"""Plots of an experiment's rows: a measure against what varies, one line for each combination of the rest."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from matplotlib.figure import Figure

from .lines import Line, Panel, lines_plot
from .tables import varies

_BAND = 1.96
"""Standard errors on either side of the mean: 95 %."""

_PARTS = ("asked", "step", "size", "users", "epsilon")
"""Columns whose combinations make one line each, if rows differ in them."""

_LETTERS = {"size": "k = ", "users": "n = ", "epsilon": "ε = "}

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Curve:
    """A panel of a plot: the column that is drawn, and which rows it takes.

    The band is the mean ± 1.96 standard errors or, with ``ends``, between two columns. ``theory`` is a column, too; by
    default the measure's own, if it has one. A linear axis is one of shares, from 0 to 1.
    """

    name: str
    up: str
    log: bool = True
    takes: Callable[[Mapping[str, Any]], bool] = lambda _: True
    ends: tuple[str, str] | None = None
    theory: str | None = None
    bounded: bool = True

    def panel(self, rows: Rows, across: str, parts: Sequence[str]) -> Panel:
        """Return the panel of these rows."""
        some = [row for row in rows if self.takes(row)]

        def of_line(row: Mapping[str, Any]) -> tuple[Any, ...]:
            return tuple(row[part] for part in parts)

        ordered = sorted(some, key=lambda row: (of_line(row), row[across]))
        lines = [self._line(_named(parts, key), list(group), across) for key, group in groupby(ordered, key=of_line)]
        return Panel(lines, self.up, log=self.log, limit=self._limit(some, across) if self.bounded else None)

    def _line(self, name: str, rows: Rows, across: str) -> Line:
        values = [row[self.name] or 0.0 for row in rows]
        margins = [_BAND * (row.get(f"{self.name}_se") or 0.0) for row in rows]
        both = list(zip(values, margins, strict=True))
        low = [max(value - margin, value / 100 if self.log else 0.0) for value, margin in both]
        high = [value + margin if self.log else min(value + margin, 1.0) for value, margin in both]
        if self.ends is not None:
            low, high = ([row[end] for row in rows] for end in self.ends)
        theory = self.theory or f"{self.name}_theory"
        return Line(name, [row[across] for row in rows], values, low, high, [row.get(theory) for row in rows])

    def _limit(self, rows: Rows, across: str) -> tuple[str, Sequence[float], Sequence[float]] | None:
        """Return the lower bound, if there is one and it is the same for all lines."""
        column = f"{self.name}_bound"
        least = sorted({(row[across], row[column]) for row in rows if row.get(column) is not None})
        at, heights = [place for place, _ in least], [bound for _, bound in least]
        return ("lower bound, unbiased", at, heights) if at and len(set(at)) == len(at) else None


def curves_plot(rows: Rows, curves: Sequence[Curve], title: str, axes: Mapping[str, str]) -> Figure:
    """Return a figure of curves against the first of ``axes`` in which rows differ, given with their labels."""
    across = next((name for name in axes if varies(rows, name)), "epsilon")
    parts = [name for name in _PARTS if name in rows[0] and name != across and varies(rows, name)] or ["asked"]
    panels = [curve.panel(rows, across, parts) for curve in curves]
    return lines_plot(panels, title, axes[across], log=across != "day")


def _named(parts: Sequence[str], values: Sequence[object]) -> str:
    """Return the name of a line, given its columns."""
    return ", ".join(
        f"{_LETTERS.get(part, '')}{f'{value:,}' if isinstance(value, int) else value}"
        for part, value in zip(parts, values, strict=True)
    )
