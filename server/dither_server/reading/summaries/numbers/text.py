"""Answers about a number for a terminal, in the metric's unit."""

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

from dither_shared.counted import counted

from ..shares.text import seen
from ..summary import TextTable

__all__ = ["compared_text", "estimate_text", "number_text", "trend_text"]

_RULE = ("verdict: too-few says nothing yet; edge reaches an end of the range, so the quantile may lie beyond it",)


def estimate_text(told: Mapping[str, Any]) -> TextTable:
    """Return lines about the answer, and a row for the mean and each quantile; ± is scaled to the confidence."""
    mean, scale, unit = told["mean"], told["scale"], told["unit"]
    days = f", {told['since']} to {told['until']}" if told["since"] else ""
    before = [
        f"{told['metric']}: {told['mechanism']}, {counted(told['reports'], 'report')}{days}, "
        f"{100 * told['confidence']:g}% intervals",
        told["privacy"],
        f"from {scale['low']:g} to {scale['high']:g} {unit}".rstrip() + (", on a log scale" if scale["log"] else ""),
    ]
    errors = NormalDist().inv_cdf((1 + told["confidence"]) / 2)
    half = None if mean["standard_error"] is None else errors * mean["standard_error"]
    name = "geometric mean" if scale["log"] else "mean"
    rows = [("statistic", unit or "value", "±", "interval", "verdict")]
    rows += [(name, number_text(mean["value"]), number_text(half), _span(mean), mean["verdict"])]
    rows += [
        (f"p{100 * one['share']:g}", number_text(one["value"]), "", _span(one), one["verdict"])
        for one in told["quantiles"]
    ]
    return TextTable(before, rows, [*_RULE, *_doubts(told)])


def compared_text(told: Mapping[str, Any]) -> TextTable:
    """Return a line about each side, and a row a statistic."""
    level = 1 - told["confidence"]
    sides = [
        f"{side['metric']} {side['version']}: "
        f"{side['since'] + ' to ' + side['until'] if side['since'] else 'no days'}, "
        f"{counted(side['reports'], 'report')}"
        for side in told["sides"]
    ]
    rows = [("statistic", "first", "second", "change", "interval", "")]
    for row in told["values"]:
        numbers = (number_text(row[name]) for name in ("first", "second", "difference"))
        said = seen(row)
        if row["reports_needed"] is not None:
            said += f"; {100 * told['change']:g}% of the range takes {counted(row['reports_needed'], 'report')} a side"
        rows.append((row["value"], *numbers, _span(row), said))
    how = f"{100 * told['confidence']:g}% intervals; changed is told at an error of {level:.3g} for all together"
    return TextTable([*sides, how], rows)


def trend_text(told: Mapping[str, Any]) -> TextTable:
    """Return a line about the course, and a row a statistic."""
    steps = told["steps"]
    days = f"{steps[0]['since']} to {steps[-1]['until']}, " if steps else ""
    reports = counted(sum(step["reports"] for step in steps), "report")
    head = f"{told['metric']}: {days}{counted(len(steps), 'step')}, {reports}"
    rows = [("statistic", "first", "last", f"slope, {told['slope_unit']}", "")]
    for row in told["values"]:
        ends = [number_text(row["points"][place]["frequency"]) if steps else "-" for place in (0, -1)]
        said = "drifts" if row["drift"] else "not tested" if row["p_value"] is None else "no drift seen"
        rows.append((row["value"], *ends, number_text(row["slope"]), said))
    return TextTable([head, told["note"]], rows)


def number_text(number: float | None) -> str:
    """Return a number with three digits that count, all of a larger whole part, or a dash for None."""
    if number is None:
        return "-"
    return f"{number:,.0f}" if 1000 <= abs(number) < 1e12 else f"{number:.3g}"


def _span(row: Mapping[str, Any]) -> str:
    return "-" if row["low"] is None else f"{number_text(row['low'])} to {number_text(row['high'])}"


def _doubts(told: Mapping[str, Any]) -> list[str]:
    """Return lines on odd reports, on forged ones, and on people beyond the range."""
    lines = [
        f"odd, for honest reports (p = {check['p_value']:.2g}): {check['test']}; {check['says']}"
        for check in told["health"]
        if check["odd"]
    ]
    poisoning, clipped, unit = told["poisoning"], told["clipped"], told["unit"]
    if told["reports"] and poisoning["mean_up"] is not None:
        down, up = (number_text(poisoning[name]) for name in ("mean_down", "mean_up"))
        moved = f"the mean could be too low by {down} or too high by {up} {unit}".rstrip()
        lines.append(f"If {100 * poisoning['share']:g}% of the reports were forged, {moved}.")
    if told["reports"]:
        for side, one in clipped.items():
            span = f"{100 * one['low']:.1f} to {100 * one['high']:.1f}%"
            lines.append(f"At the {side} end or beyond: {100 * one['share']:.1f}% by the curve ({span}).")
    return lines
