"""Show the results of attacks as tables and pictures."""

from collections.abc import Sequence
from itertools import groupby

from matplotlib.figure import Figure

from dither_shared import ParameterError
from dither_shared.counted import counted

from ...output.lines import Line, Panel, lines_plot
from ...output.tables import number, render
from ...trials.mechanism_by_name import NUMERIC
from .common import SeriesRow
from .forged.poisoning import PoisoningRow
from .forged.string_poisoning import StringPoisoningRow

_SUCCESS = {
    "averaging": "values guessed",
    "linkage": "found again",
    "change": "told rightly",
}
_LEAST = 5e-4
"""The lower end of a logarithmic axis of successes."""
_TITLE = {
    "averaging": "A value guessed from many reports of it",
    "linkage": "Two series of uploads matched",
    "change": "A change of value found out",
}


def series_table(rows: Sequence[SeriesRow]) -> str:
    """Return a table of how often an attack succeeded, with intervals, theory and bound."""
    header = ("mechanism", "memory", "reports", "success %", "95 % interval", "theory %", "at most %")
    cells = [
        (
            row.mechanism,
            "yes" if row.memoised else "no",
            f"{row.reports:,}",
            f"{100 * row.success:.2f}",
            f"{100 * row.low:.2f} to {100 * row.high:.2f}",
            "-" if row.theory is None else f"{100 * row.theory:.2f}",
            f"{100 * row.bound:.2f}",
        )
        for row in rows
    ]
    return render(header, cells, words=2)


def poisoning_table(rows: Sequence[PoisoningRow]) -> str:
    """Return a table of how much estimates were raised, with theory."""
    header = ("attack", "mechanism", "forged %", "reports", "gain", "theory")
    cells = [
        (
            row.attack,
            row.mechanism,
            f"{100 * row.share:g}",
            f"{row.forged:,}",
            number(row.gain, row.gain_se, ".2e"),
            f"{row.theory:.2e}",
        )
        for row in rows
    ]
    return render(header, cells, words=2)


def series_plot(rows: Sequence[SeriesRow]) -> Figure:
    """Return a figure of the share of successes against the number of reports: one panel without memory, one with it.

    The dashed line is the bound, or theory where there is a formula.
    """
    first = rows[0]
    log = first.attack == "linkage"  # guessing is right once in hundreds
    floor = _LEAST if log else 0.0
    panels = [
        Panel(
            [
                Line(
                    name=mechanism,
                    at=[row.reports for row in group],
                    value=[max(row.success, floor) for row in group],
                    low=[max(row.low, floor) for row in group],
                    high=[row.high for row in group],
                    theory=[row.bound for row in group],
                )
                for mechanism, group in _grouped([row for row in rows if row.memoised is lasting])
            ],
            f"{_SUCCESS[first.attack]}\n{'with' if lasting else 'without'} memory",
            log=log,
        )
        for lasting in (False, True)
    ]
    forever = f", {next(row.permanent_epsilon for row in rows if row.memoised):g} for ever"
    title = f"{_TITLE[first.attack]}; ε = {first.epsilon:g}{forever}\nband: 95 %; dashed: what no such attack exceeds"
    return lines_plot(panels, title, "reports in a series")


def _grouped(rows: Sequence[SeriesRow]) -> list[tuple[str, list[SeriesRow]]]:
    return [(name, list(group)) for name, group in groupby(rows, key=lambda row: row.mechanism)]


def poisoning_plot(rows: Sequence[PoisoningRow]) -> Figure:
    """Return a figure of the gain against the share of forged reports: one panel for each attack, logarithmic axes.

    A gain that is not above its own margin of error is left out, for it has no place on such an axis. Raises
    ParameterError if that leaves none.
    """
    first = rows[0]
    panels = [
        Panel(lines, f"gain by\n{attack}")
        for attack, some in groupby(rows, key=lambda row: row.attack)
        if attack != "random-report" and (lines := _gains(list(some)))
    ]
    if not panels:
        raise ParameterError("--plot", "no gain is above its margin of error; give more users, a greater share or ε")
    return lines_plot(
        panels, f"{_raised(first)} raised by forged reports\n{_setting(first)}", "share of forged reports"
    )


def _raised(row: PoisoningRow) -> str:
    if row.mechanism in NUMERIC:
        return "A mean"
    return f"Estimates of {counted(row.targets, 'value', 'values together')}"


def _setting(row: PoisoningRow) -> str:
    values = "" if row.mechanism in NUMERIC else f", {counted(row.size, 'value')}"
    return f"{counted(row.users, 'user')}{values}, ε = {row.epsilon:g}; dashed: theory"


def _gains(rows: Sequence[PoisoningRow]) -> list[Line]:
    lines = (_gain(name, list(group)) for name, group in groupby(rows, key=lambda row: row.mechanism))
    return [line for line in lines if line.at]


def _gain(name: str, rows: Sequence[PoisoningRow]) -> Line:
    shown = [row for row in rows if row.low > 0]
    return Line(
        name=name,
        at=[row.share for row in shown],
        value=[row.gain for row in shown],
        low=[row.low for row in shown],
        high=[row.high for row in shown],
        theory=[row.theory for row in shown],
    )


def string_poisoning_table(rows: Sequence[StringPoisoningRow]) -> str:
    """Return a table of how often a string appeared that nobody has."""
    header = ("attack", "mechanism", "forged %", "reports", "found %", "95 % interval", "half at")
    cells = [
        (
            row.attack,
            row.mechanism,
            f"{100 * row.share:g}",
            f"{row.forged:,}",
            f"{100 * row.success:.0f}",
            f"{100 * row.low:.0f} to {100 * row.high:.0f}",
            "-" if row.needed is None else f"{row.needed:,}",
        )
        for row in rows
    ]
    return render(header, cells, words=2)


def string_poisoning_plot(rows: Sequence[StringPoisoningRow]) -> Figure:
    """Return a figure of how often it appeared against the share of forged reports, a panel for each attack."""
    panels = [
        Panel(
            [
                Line(
                    name=mechanism,
                    at=[row.share for row in group],
                    value=[row.success for row in group],
                    low=[row.low for row in group],
                    high=[row.high for row in group],
                )
                for mechanism, group in (
                    (name, list(some)) for name, some in groupby(of, key=lambda row: row.mechanism)
                )
            ],
            f"found by\n{attack}",
            log=False,
        )
        for attack, of in groupby(rows, key=lambda row: row.attack)
    ]
    first = rows[0]
    title = f"A string that nobody has\n{first.users:,} honest users, ε = {first.epsilon:g}; band: 95 %"
    return lines_plot(panels, title, "share of forged reports")
