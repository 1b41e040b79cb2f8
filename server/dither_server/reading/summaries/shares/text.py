"""Answers about shares for a terminal: shares are in percent, differences in points."""

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

from dither_shared.counted import counted

from ....analysis.answers import Row
from ....analysis.compare import ComparedRow, Side
from ....analysis.trend import Course
from ....estimation.fit import FALSE_DISCOVERIES
from ..summary import TextTable

__all__ = ["compared_text", "estimate_text", "interval", "percent", "trend_text"]

_RULE = "verdict, of the interval alone: ok lies above 0, noise contains 0, too-few says nothing yet"


def estimate_text(told: Mapping[str, Any]) -> TextTable:
    """Return a line about the answer and an aligned table of its values; shares are in percent.

    ± is the standard error, scaled to the confidence; the interval is the estimate's own and may be cut at 0 or 1.
    """
    errors = NormalDist().inv_cdf((1 + told["confidence"]) / 2)
    days = f", {told['since']} to {told['until']}" if told["since"] else ""
    together = ", which hold all together" if told["simultaneous"] else ""
    head = (
        f"{told['metric']}: {told['mechanism']}, {counted(told['reports'], 'report')}{days}, "
        f"{100 * told['confidence']:g}% intervals{together}\n{told['privacy']}"
    )
    selected = any(row["found"] is not None for row in told["values"])
    header = ("value", "share %", "±", "interval", "consistent", *["found"] * selected, "verdict")
    rows = [header, *(_cells(row, errors) for row in told["values"])]
    return TextTable([head], rows, [_RULE, *[_found_rule()] * selected, *_doubts(told)])


def compared_text(told: Mapping[str, Any]) -> TextTable:
    """Return a line about each side and a table of the differences; shares are in percent, differences in points."""
    level = 1 - told["confidence"]
    confidence = (
        f"{100 * told['confidence']:g}% intervals; changed is what has p < {level:.3g}, by "
        f"{told['correction'].title()}'s method"
    )
    header = ("value", "first %", "second %", "change", "interval", "p", "")
    rows = [header, *(_difference(row, told["change"]) for row in told["values"])]
    return TextTable([*map(_side, told["sides"]), confidence], rows)


def trend_text(told: Mapping[str, Any]) -> TextTable:
    """Return a line about the course and a table of the values; slopes are in points a day, ± as in ``as_table``."""
    steps = told["steps"]
    days = f"{steps[0]['since']} to {steps[-1]['until']}, " if steps else ""
    reports = counted(sum(step["reports"] for step in steps), "report")
    head = f"{told['metric']}: {days}{counted(len(steps), 'step')}, {reports}"
    notes = f"drift is told at p < {1 - told['confidence']:.3g}, by {told['correction'].title()}'s method"
    header = ("value", "first %", "last %", "points a day", "±", "p", "")
    errors = NormalDist().inv_cdf((1 + told["confidence"]) / 2)
    return TextTable([head, notes], [header, *(_course(one, errors) for one in told["values"])])


def _doubts(told: Mapping[str, Any]) -> list[str]:
    """Return lines on odd reports, on the effect of forged ones, and on people beyond the list."""
    gains = [(row["gain_up"], row["gain_down"]) for row in told["values"]]
    known = [max(up, down) for up, down in gains if up is not None and down is not None]
    lines = [
        f"odd, for honest reports (p = {check['p_value']:.2g}): {check['test']}; {check['says']}"
        for check in told["health"]
        if check["odd"]
    ]
    if known and told["reports"]:
        share = f"{100 * told['poisoning']['share']:g}%"
        lines.append(
            f"If {share} of the reports were forged, a share shown here could be off by {100 * max(known):.1f} points."
        )
    if (rest := told["unlisted"]) is not None:
        beyond = "looked for" if rest["beyond"] == "candidates" else "found"
        lines.append(f"{percent(rest['frequency'])}% ({interval(rest)}) hold none of those {beyond}.")
    return lines


def _cells(row: Row, errors: float) -> tuple[str, ...]:
    half = None if row["standard_error"] is None else errors * row["standard_error"]
    numbers = (percent(row["frequency"]), percent(half), interval(row), percent(row["consistent"]))
    found = [] if row["found"] is None else ["yes" if row["found"] else "no"]
    return row["value"], *numbers, *found, row["verdict"]


def _side(side: Side) -> str:
    days = f"{side['since']} to {side['until']}" if side["since"] else "no days"
    return f"{side['metric']} {side['version']}: {days}, {counted(side['reports'], 'report')}"


def _difference(row: ComparedRow, change: float) -> tuple[str, ...]:
    said = seen(row)
    if row["reports_needed"] is not None:
        points = "1 point takes" if change == 0.01 else f"{100 * change:g} points take"
        said += f"; {points} {counted(row['reports_needed'], 'report')} a side"
    numbers = (percent(row["first"]), percent(row["second"]), percent(row["difference"]), interval(row))
    return row["value"], *numbers, _chance(row["adjusted"]), said


def _course(course: Course, errors: float) -> tuple[str, ...]:
    ends = [course["points"][place]["frequency"] for place in (0, -1)] if course["points"] else [None, None]
    half = None if course["slope_error"] is None else errors * course["slope_error"]
    numbers = (*ends, course["slope"], half)
    said = "drifts" if course["drift"] else "no drift seen"
    return course["value"], *map(percent, numbers), _chance(course["adjusted"]), said


def seen(row: Mapping[str, Any]) -> str:
    """Return what a comparison saw, in words."""
    if row["difference"] is None:
        return "no reports on one side"
    return "changed" if row["changed"] else "no change seen"


def percent(share: float | None) -> str:
    """Return a share in percent; a dash where it is not known."""
    return "-" if share is None else f"{100 * share:.2f}"


def interval(row: Mapping[str, Any]) -> str:
    """Return both ends of an interval of shares in percent; a dash where they are not known."""
    return "-" if row["low"] is None else f"{percent(row['low'])} to {percent(row['high'])}"


def _chance(p_value: float | None) -> str:
    return "-" if p_value is None else f"{p_value:.2g}"


def _found_rule() -> str:
    percent = f"{100 * FALSE_DISCOVERIES:g}%"
    return f"found, of all candidates: those that stand out; an expected {percent} of them are not there"
