"""Show what reports come to, as a table and as a picture."""

import math
from collections.abc import Sequence

from matplotlib.figure import Figure

from dither_server.analysis.composition import rounded_up
from dither_shared import ParameterError
from dither_shared.privacy.wording import MEMOISATION

from ...output.line_plots import lines_plot
from ...output.strokes import Line, Panel
from ...output.tables import render
from .asked import Asked
from .bounds import ONE_OF_THEM, Bounds

__all__ = ["composition_plot", "composition_table"]

_DIGITS = 6
_LEAST_GAIN = 0.01
"""The share of the sum that a δ must save to be worth it."""
_SURE = 1e-6
"""By so much of it an optimal ε may be too large: more than roundings ever come to where all reports are alike."""


def composition_table(rows: Sequence[Bounds], asked: Sequence[Asked], people: int) -> str:
    """Return a table of the bounds, and in words what may be said of the last one."""
    granted = _granted(rows[-1])
    header = ("part", "ε of one", "reports", "sum", *(("advanced", "optimal", "δ") if granted else ("δ",)))
    cells = [(row.part, _shown(row.epsilon), f"{row.reports:,}", *_losses(row, granted)) for row in rows]
    told = (*_verdict(rows[-1], people), *_shorthand(rows[-1]), *_lasting(asked))
    return "\n".join((render(header, cells), "", *told))


def composition_plot(rows: Sequence[Bounds]) -> Figure:
    """Return a figure of the bounds against the number of reports, on logarithmic axes.

    Raises ParameterError if nothing is lost, for zero has no place on such an axis.
    """
    last = rows[-1]
    lines = [_line("sum", rows, [row.sum for row in rows])]
    title = "What the reports of one person come to"
    if _granted(last):
        lines.append(_line("advanced", rows, [row.advanced for row in rows]))
        lines.append(_line("optimal", rows, [row.optimal for row in rows]))
        title += f"\nadvanced and optimal: with δ = {rounded_up(last.delta, 3)}"
    lines = [line for line in lines if line.at]
    if not lines:
        raise ParameterError("--plot", "no ε is above 0")
    return lines_plot([Panel(lines, "ε of all together")], title, "reports of one person")


def _up(number: float) -> str:
    return rounded_up(number, _DIGITS)


def _line(name: str, rows: Sequence[Bounds], losses: Sequence[float | None]) -> Line:
    known = [(row.reports, loss) for row, loss in zip(rows, losses, strict=True) if loss]
    values = [loss for _, loss in known]
    return Line(name, [reports for reports, _ in known], values, values, values)


def _granted(row: Bounds) -> bool:
    """Return whether a δ is granted beyond those that reports have of their own."""
    return row.delta > row.sum_delta


def _losses(row: Bounds, granted: bool) -> tuple[str, ...]:
    optimal = (_shown(row.advanced), _up(row.optimal)) if granted else ()
    return (_up(row.sum), *optimal, rounded_up(row.delta, 3))


def _shown(number: float | None) -> str:
    return "-" if number is None else _up(number)


def _verdict(row: Bounds, people: int) -> list[str]:
    """Return sentences on what may be promised."""
    what = "One of these parts" if row.part == ONE_OF_THEM else "All of this"
    whom = "one person" if people == 1 else f"{people:,} people with one secret"
    own = f" with δ = {rounded_up(row.sum_delta, 3)}" if row.sum_delta else ""
    told = [f"{what} tells of {whom} at most ε = {_up(row.sum)}{own}, the sum of the losses."]
    if _granted(row):
        told.append(f"With δ = {rounded_up(row.delta, 3)} it is ε = {_up(row.optimal)}, by optimal composition.")
        if row.optimal > (1 - _LEAST_GAIN) * row.sum:
            told.append("That is hardly less: say the sum.")
    return told


def _shorthand(row: Bounds) -> list[str]:
    """Return a warning if the shorthand that is often quoted is below the truth, for reports that are alike."""
    if row.epsilon is None or row.sum_delta or not row.delta:
        return []
    quoted = row.epsilon * math.sqrt(8 * row.reports * math.log(1 / row.delta))
    if quoted >= (1 - _SURE) * row.optimal:
        return []
    return [f"The shorthand ε · sqrt(8 k ln(1/δ)) says {quoted:.4g}, and is false: it is proven up to 1 only."]


def _lasting(asked: Sequence[Asked]) -> list[str]:
    """Return what the number of reports means where some do not count."""
    names = ", ".join(one.name for one in asked if one.lasting)
    return [f"With permanent draws a report counts only if its value is new: {names}.", MEMOISATION] if names else []
