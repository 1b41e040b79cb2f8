"""The picture of ``dither-sim error --type number``."""

from collections.abc import Sequence
from itertools import groupby

from matplotlib.figure import Figure

from dither_shared.counted import counted

from ...output.lines import Line, Panel, lines_plot
from .numbers import NumberRow
from .plots import AXES, BAND, key_of, name_of, vary

_PANELS = {"mean": "MSE of the mean", "distribution": "Wasserstein-1 distance"}


def number_error_plot(rows: Sequence[NumberRow]) -> Figure:
    """Return a figure of the errors of mean and curve against ε or the number of users, on logarithmic axes."""
    across = next((name for name in ("epsilon", "users") if vary(rows, name)), "epsilon")
    parts = [name for name in ("asked", "users") if name != across and vary(rows, name)] or ["asked"]
    panels = []
    for what, up in _PANELS.items():
        some = [row for row in rows if row.what == what]
        of_line = key_of(parts)
        ordered = sorted(some, key=lambda row: (of_line(row), getattr(row, across)))
        groups = [(name_of(parts, key), list(group)) for key, group in groupby(ordered, key=of_line)]
        panels.append(Panel([_line(name, group, across) for name, group in groups], up, limit=_limit(some, across)))
    return lines_plot(panels, _title(rows), AXES[across])


def _line(name: str, rows: Sequence[NumberRow], across: str) -> Line:
    """Return the squared error of means, and the error of all else, which no theory tells."""
    squared = rows[0].what == "mean"
    values = [(row.mse if squared else row.error) or 0.0 for row in rows]
    margins = [BAND * ((row.mse_se if squared else row.error_se) or 0.0) for row in rows]
    return Line(
        name=name,
        at=[getattr(row, across) for row in rows],
        value=values,
        low=[max(value - margin, value / 100) for value, margin in zip(values, margins, strict=True)],
        high=[value + margin for value, margin in zip(values, margins, strict=True)],
        theory=[row.mse_theory for row in rows] if squared else (),
    )


def _limit(rows: Sequence[NumberRow], across: str) -> tuple[str, Sequence[float], Sequence[float]] | None:
    """Return the lower bound, if there is one and it is the same for all lines."""
    least = {(getattr(row, across), row.mse_bound) for row in rows if row.mse_bound is not None}
    at, heights = zip(*sorted(least), strict=True) if least else ((), ())
    return ("lower bound, unbiased", at, heights) if at and len(set(at)) == len(at) else None


def _title(rows: Sequence[NumberRow]) -> str:
    row = rows[0]
    fixed = [] if vary(rows, "users") else [counted(row.users, "user")]
    band = "" if row.mse_se is None else "; band: 95 %"
    return f"{', '.join([*fixed, row.distribution])}\npoints: mean of {row.repeats}{band}; dashed: theory"
