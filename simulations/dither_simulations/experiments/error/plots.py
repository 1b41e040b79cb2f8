"""The picture of ``dither-sim error``."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from matplotlib.figure import Figure

from dither_shared.counted import counted

from ...output.lines import Line, Panel, lines_plot
from .experiment import Row

AXES = {"epsilon": "ε of one report", "users": "users", "size": "values", "day": "day"}
BAND = 1.96
"""Standard errors on either side of the mean: 95 %."""


def error_plot(rows: Sequence[Row]) -> Figure:
    """Return a figure of the mean squared error against ε, the number of users or of values, on logarithmic axes.

    Whatever else varies makes lines. Over days, it shows the error of each day and, above it, the ε spent until then.
    """
    across = next((name for name in ("day", "epsilon", "users", "size") if vary(rows, name)), "epsilon")
    parts = [name for name in ("asked", "step", "size", "users", "epsilon") if name != across and vary(rows, name)]
    parts = parts or ["asked"]
    of_line = key_of(parts)
    ordered = sorted(rows, key=lambda row: (of_line(row), getattr(row, across)))
    groups = [(name_of(parts, key), list(group)) for key, group in groupby(ordered, key=of_line)]
    errors = [_errors(name, group, across) for name, group in groups]
    if across == "day":
        spent = Panel([_spent(name, group) for name, group in groups], "ε spent so far")
        panels = [spent, Panel(errors, "mean squared error")]
        return lines_plot(panels, _title(rows), "day, of a report each", log=False)
    return lines_plot(
        [Panel(errors, "mean squared error of a share", limit=_limit(rows, across))],
        _title(rows),
        AXES[across],
    )


def _limit(rows: Sequence[Row], across: str) -> tuple[str, Sequence[float], Sequence[float]] | None:
    """Return the lower bound, if it is the same for all lines."""
    bounds = sorted({(getattr(row, across), row.mse_bound) for row in rows})
    at, heights = [place for place, _ in bounds], [bound for _, bound in bounds]
    return ("lower bound, unbiased", at, heights) if len(set(at)) == len(at) else None


def vary(rows: Sequence[object], name: str) -> bool:
    """Return whether rows differ in a field."""
    return len({getattr(row, name) for row in rows}) > 1


def key_of(parts: Sequence[str]) -> Callable[[object], Any]:
    """Return what tells the fields of a row that are named."""
    return lambda row: tuple(getattr(row, name) for name in parts)


def _errors(name: str, rows: Sequence[Row], across: str) -> Line:
    margins = [BAND * (row.mse_se or 0.0) for row in rows]
    return Line(
        name=name,
        at=[getattr(row, across) for row in rows],
        value=[row.mse for row in rows],
        low=[max(row.mse - margin, row.mse / 100) for row, margin in zip(rows, margins, strict=True)],
        high=[row.mse + margin for row, margin in zip(rows, margins, strict=True)],
        theory=[row.mse_theory for row in rows],
    )


def _spent(name: str, rows: Sequence[Row]) -> Line:
    spent = [row.epsilon_spent for row in rows]
    return Line(name, [row.day for row in rows], spent, spent, spent)


def name_of(parts: Sequence[str], values: Sequence[object]) -> str:
    """Return the name of a line, given its fields."""
    letters = {"size": "k = ", "users": "n = ", "epsilon": "ε = "}
    return ", ".join(
        f"{letters.get(part, '')}{f'{value:,}' if isinstance(value, int) else value}"
        for part, value in zip(parts, values, strict=True)
    )


def _title(rows: Sequence[Row]) -> str:
    row = rows[0]
    fixed = [] if vary(rows, "users") else [counted(row.users, "user")]
    fixed += [] if vary(rows, "size") else [counted(row.size, "value")]
    band = "" if row.mse_se is None else "; band: 95 %"
    return f"{', '.join([*fixed, row.distribution])}\npoints: mean of {row.repeats}{band}; dashed: theory"
