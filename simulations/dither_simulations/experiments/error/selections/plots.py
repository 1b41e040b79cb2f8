"""The picture of ``dither-sim error --type selection``."""

from collections.abc import Sequence
from itertools import groupby

from matplotlib.figure import Figure

from dither_shared.counted import counted

from ....output.lines import Line, Panel, lines_plot
from ..plots import AXES, BAND, key_of, name_of, vary
from .experiment import SelectionRow

_ACROSS = {**AXES, "size": "items"}


def selection_error_plot(rows: Sequence[SelectionRow]) -> Figure:
    """Return a figure of the mean squared error against ε, the number of users or of items, on logarithmic axes."""
    across = next((name for name in ("epsilon", "users", "size") if vary(rows, name)), "epsilon")
    parts = [name for name in ("asked", "size", "users") if name != across and vary(rows, name)] or ["asked"]
    of_line = key_of(parts)
    ordered = sorted(rows, key=lambda row: (of_line(row), getattr(row, across)))
    lines = [_line(name_of(parts, key), list(group), across) for key, group in groupby(ordered, key=of_line)]
    return lines_plot([Panel(lines, "mean squared error of a share")], _title(rows), _ACROSS[across])


def _line(name: str, rows: Sequence[SelectionRow], across: str) -> Line:
    margins = [BAND * (row.mse_se or 0.0) for row in rows]
    return Line(
        name=name,
        at=[getattr(row, across) for row in rows],
        value=[row.mse for row in rows],
        low=[max(row.mse - margin, row.mse / 100) for row, margin in zip(rows, margins, strict=True)],
        high=[row.mse + margin for row, margin in zip(rows, margins, strict=True)],
        theory=[row.mse_theory for row in rows],
    )


def _title(rows: Sequence[SelectionRow]) -> str:
    row = rows[0]
    most = "" if row.at_most is None else f", at most {row.at_most}"
    fixed = [] if vary(rows, "users") else [counted(row.users, "user")]
    fixed += [] if vary(rows, "size") else [f"{counted(row.size, 'item')}{most}"]
    band = "" if row.mse_se is None else "; band: 95 %"
    return f"{', '.join([*fixed, row.distribution])}\npoints: mean of {row.repeats}{band}; dashed: theory"
