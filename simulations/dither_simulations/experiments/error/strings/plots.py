"""The picture of ``dither-sim error --type string``."""

from collections.abc import Sequence
from itertools import groupby

from matplotlib.figure import Figure

from dither_shared.counted import counted

from ....output.lines import Line, Panel, lines_plot
from ..plots import AXES, BAND, key_of, name_of, vary
from .experiment import StringRow

_ACROSS = {**AXES, "size": "strings that people hold"}
_PANELS = {"recall_16": "found of the 16\nmost frequent", "false": "held by nobody,\nof those found"}


def string_error_plot(rows: Sequence[StringRow]) -> Figure:
    """Return a figure of recall and false discoveries against ε or the number of users."""
    across = next((name for name in ("epsilon", "users", "size") if vary(rows, name)), "epsilon")
    parts = [name for name in ("asked", "size", "users") if name != across and vary(rows, name)] or ["asked"]
    of_line = key_of(parts)
    ordered = sorted(rows, key=lambda row: (of_line(row), getattr(row, across)))
    groups = [(name_of(parts, key), list(group)) for key, group in groupby(ordered, key=of_line)]
    panels = [
        Panel([_line(name, group, across, what) for name, group in groups], up, log=False)
        for what, up in _PANELS.items()
    ]
    return lines_plot(panels, _title(rows), _ACROSS[across])


def _line(name: str, rows: Sequence[StringRow], across: str, what: str) -> Line:
    values = [getattr(row, what) for row in rows]
    margins = [BAND * (getattr(row, f"{what}_se") or 0.0) for row in rows]
    return Line(
        name=name,
        at=[getattr(row, across) for row in rows],
        value=values,
        low=[max(value - margin, 0.0) for value, margin in zip(values, margins, strict=True)],
        high=[min(value + margin, 1.0) for value, margin in zip(values, margins, strict=True)],
    )


def _title(rows: Sequence[StringRow]) -> str:
    row = rows[0]
    fixed = [] if vary(rows, "users") else [counted(row.users, "user")]
    fixed += [] if vary(rows, "size") else [counted(row.size, "string")]
    where = counted(row.listed, "candidate") if row.listed is not None else "nothing listed"
    band = "" if row.found_se is None else "; band: 95 %"
    return f"{', '.join([*fixed, row.distribution])}\n{where}; points: mean of {row.repeats}{band}"
