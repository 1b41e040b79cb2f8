"""Format answers as tables for a terminal."""

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..analysis.answers import Answer, Row
    from ..analysis.compare import Compared, ComparedRow, Side
    from ..analysis.trend import Course, Trend

__all__ = ["aligned", "as_table", "compared_as_table", "printable", "trend_as_table"]

_RULE = "verdict, of the interval alone: ok lies above 0, noise contains 0, too-few says nothing yet"


def as_table(answer: "Answer") -> str:
    """Return a line about the answer and an aligned table of its values; shares are in percent.

    ± is the standard error, scaled to the confidence; the interval is the estimate's own and may be cut at 0 or 1.
    """
    errors = NormalDist().inv_cdf((1 + answer["confidence"]) / 2)
    days = f", {answer['since']} to {answer['until']}" if answer["since"] else ""
    together = ", which hold all together" if answer["simultaneous"] else ""
    head = (
        f"{answer['metric']}: {answer['mechanism']}, {answer['reports']:,} reports{days}, "
        f"{100 * answer['confidence']:g}% intervals{together}\n{answer['privacy']}"
    )
    selected = any(row["found"] is not None for row in answer["values"])
    header = ("value", "share %", "±", "interval", "consistent", *["found"] * selected, "verdict")
    rows = [header, *(_cells(row, errors) for row in answer["values"])]
    return "\n".join([head, "", *aligned(rows), "", _RULE, *[_found_rule()] * selected, *_doubts(answer)])


def compared_as_table(comparison: "Compared") -> str:
    """Return a line about each side and a table of the differences; shares are in percent, differences in points."""
    level = 1 - comparison["confidence"]
    confidence = (
        f"{100 * comparison['confidence']:g}% intervals; changed is what has p < {level:.3g}, by "
        f"{comparison['correction'].title()}'s method"
    )
    header = ("value", "first %", "second %", "change", "interval", "p", "")
    rows = [header, *(_difference(row, comparison["change"]) for row in comparison["values"])]
    return "\n".join([*map(_side, comparison["sides"]), confidence, "", *aligned(rows)])


def trend_as_table(trend: "Trend") -> str:
    """Return a line about the course and a table of the values; slopes are in points a day, ± as in ``as_table``."""
    steps = trend["steps"]
    days = f"{steps[0]['since']} to {steps[-1]['until']}, " if steps else ""
    head = f"{trend['metric']}: {days}{len(steps)} steps, {sum(step['reports'] for step in steps):,} reports"
    notes = f"drift is told at p < {1 - trend['confidence']:.3g}, by {trend['correction'].title()}'s method"
    header = ("value", "first %", "last %", "points a day", "±", "p", "")
    errors = NormalDist().inv_cdf((1 + trend["confidence"]) / 2)
    return "\n".join([head, notes, "", *aligned([header, *(_course(one, errors) for one in trend["values"])])])


def _doubts(answer: "Answer") -> list[str]:
    """Return lines on odd reports, on the effect of forged ones, and on people beyond the list."""
    gains = [(row["gain_up"], row["gain_down"]) for row in answer["values"]]
    known = [max(up, down) for up, down in gains if up is not None and down is not None]
    lines = [
        f"odd, for honest reports (p = {check['p_value']:.2g}): {check['test']}; {check['says']}"
        for check in answer["health"]
        if check["odd"]
    ]
    if known and answer["reports"]:
        share = f"{100 * answer['poisoning']['share']:g}%"
        lines.append(
            f"If {share} of the reports were forged, a share shown here could be off by {100 * max(known):.1f} points."
        )
    if (rest := answer["unlisted"]) is not None:
        beyond = "looked for" if rest["beyond"] == "candidates" else "found"
        interval = f"{_percent(rest['low'])} to {_percent(rest['high'])}"
        lines.append(f"{_percent(rest['frequency'])}% ({interval}) hold none of those {beyond}.")
    return lines


def printable(label: str) -> str:
    """Return a label in which no character can steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in label)


def _cells(row: "Row", errors: float) -> tuple[str, ...]:
    half = None if row["standard_error"] is None else errors * row["standard_error"]
    interval = f"{_percent(row['low'])} to {_percent(row['high'])}"
    numbers = (_percent(row["frequency"]), _percent(half), interval, _percent(row["consistent"]))
    found = [] if row["found"] is None else ["yes" if row["found"] else "no"]
    return printable(row["value"]), *numbers, *found, row["verdict"]


def _side(side: "Side") -> str:
    days = f"{side['since']} to {side['until']}" if side["since"] else "no days"
    return f"{side['metric']} {side['version']}: {days}, {side['reports']:,} reports"


def _difference(row: "ComparedRow", change: float) -> tuple[str, ...]:
    interval = f"{_percent(row['low'])} to {_percent(row['high'])}"
    said = "changed" if row["changed"] else "no change seen"
    if row["reports_needed"] is not None:
        points = "1 point takes" if change == 0.01 else f"{100 * change:g} points take"
        said += f"; {points} {row['reports_needed']:,} reports a side"
    numbers = (_percent(row["first"]), _percent(row["second"]), _percent(row["difference"]), interval)
    return printable(row["value"]), *numbers, _chance(row["adjusted"]), said


def _course(course: "Course", errors: float) -> tuple[str, ...]:
    ends = [course["points"][place]["frequency"] for place in (0, -1)] if course["points"] else [None, None]
    half = None if course["slope_error"] is None else errors * course["slope_error"]
    numbers = (*ends, course["slope"], half)
    said = "drifts" if course["drift"] else "no drift seen"
    return printable(course["value"]), *map(_percent, numbers), _chance(course["adjusted"]), said


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f}"


def _chance(p_value: float | None) -> str:
    return "-" if p_value is None else f"{p_value:.2g}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines whose columns are aligned: the first and the last to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_placed(row, widths)).rstrip() for row in rows]


def _placed(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    last = len(cells) - 1
    return [
        cell.rjust(width) if 0 < place < last else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]


def _found_rule() -> str:
    from ..estimation.regression.rappor import FALSE_DISCOVERIES

    percent = f"{100 * FALSE_DISCOVERIES:g}%"
    return f"found, of all candidates: those that stand out; an expected {percent} of them are not there"
