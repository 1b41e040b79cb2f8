"""Answers for terminals, and the lines of text that several kinds have in common."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dither_shared.counted import counted

TOO_FEW = "Too few reports to say anything: whatever people answered, the intervals would cover everything possible."


class TextTable(NamedTuple):
    """An answer for a terminal: lines, a table whose first row is its head, lines below it, and further tables."""

    before: Sequence[str]
    rows: Sequence[Sequence[str]]
    after: Sequence[str] = ()
    more: Sequence["TextTable"] = ()


def head_line(answer: Mapping[str, Any], reports: str = ",", intervals: str = "") -> str:
    """Return the line that begins an estimate, with additions about its reports and its intervals."""
    days = span_text(answer)
    return (
        f"{answer['metric']}: {answer['mechanism']}, {counted(answer['reports'], 'report')}"
        f"{days and f', {days}'}{reports} "
        f"{100 * answer['confidence']:g}% intervals{intervals}"
    )


def side_line(side: Mapping[str, Any]) -> str:
    """Return the line about one side of a comparison."""
    days = span_text(side) or "no days"
    return f"{side['metric']} {side['version']}: {days}, {counted(side['reports'], 'report')}"


def span_text(span: Mapping[str, Any]) -> str:
    """Return the days from ``since`` to ``until``, either of which is None if no reports of an open span set it."""
    since, until = span["since"], span["until"]
    if since and until:
        return f"{since} to {until}"
    return f"from {since} on" if since else f"up to {until}" if until else ""


def trend_line(answer: Mapping[str, Any]) -> str:
    """Return the line that begins a trend."""
    steps = answer["steps"]
    days = f"{steps[0]['since']} to {steps[-1]['until']}, " if steps else ""
    reports = counted(sum(step["reports"] for step in steps), "report")
    return f"{answer['metric']}: {days}{counted(len(steps), 'step')}, {reports}"


def odd_lines(answer: Mapping[str, Any]) -> list[str]:
    """Return a line for each test by which the reports do not look like those of honest devices."""
    return [
        f"unusual for honest reports (p = {check['p_value']:.2g}): {check['test']}; {check['says']}"
        for check in answer["health"]
        if check["odd"]
    ]


def weights_lines(answer: Mapping[str, Any]) -> list[str]:
    """Return lines on how an answer is weighted, and on who answered; none if it is not."""
    weights = answer.get("weights")
    if weights is None:
        return []
    named = f" ({weights['population']})" if weights["population"] else ""
    effective = counted(int(weights["effective_reports"]), "report")
    lines = [
        f"weighted to the population by {' and '.join(weights['attributes'])}{named}; weights up to "
        f"{weights['largest']:.3g} leave the precision of {effective}"
    ]
    total = sum(row["reports"] for row in weights["strata"])
    shares = [
        f"{'/'.join(row['stratum'].values())} {100 * row['reports'] / total:.1f}% of the reports, "
        f"{100 * row['population']:.1f}% of the population"
        for row in weights["strata"]
    ]
    left_out = weights["left_out"]
    more = f"; {counted(left_out, 'report')} of other strata left out" if left_out else ""
    return [*lines, f"who answered: {'; '.join(shares)}{more}"]


def change_words(row: Mapping[str, Any], change_takes: str) -> str:
    """Return the result of a comparison in words, with ``change_takes`` and the reports needed to see a change."""
    words = "changed" if row["changed"] else "no change seen"
    if row["difference"] is None:
        words = "too few reports on one side"
    if row["reports_needed"] is None:
        return words
    return f"{words}; {change_takes} {counted(row['reports_needed'], 'report')} a side"


def percent(share: float | None) -> str:
    """Return a share in percent, or a dash if it is unknown."""
    return "-" if share is None else f"{round(100 * share, 2) + 0.0:.2f}"  # -0.0 is written as 0


def rare_percent(share: float | None) -> str:
    """Return a share in percent, with two significant digits if it is below one in ten thousand."""
    return "-" if share is None else f"{100 * share:.2f}" if abs(share) >= 1e-4 else f"{100 * share:.2g}"


def number_text(number: float | None) -> str:
    """Return a number with three significant digits, or all digits of a larger whole part; a dash for None."""
    if number is None:
        return "-"
    rounded = f"{number + 0.0:.3g}"  # -0.0 is written as 0
    return f"{number:,.0f}" if 1000 <= abs(float(rounded)) < 1e12 else rounded


def reach(row: Mapping[str, Any], estimate: float | None) -> float | None:
    """Return the ± of an estimate: how far the further end of its interval is; None if either is unknown."""
    if estimate is None or row["low"] is None or row["high"] is None:
        return None
    return max(float(row["high"]) - estimate, estimate - float(row["low"]))


def interval(row: Mapping[str, Any], text: Callable[[float | None], str] = percent, of: str = "") -> str:
    """Return both ends of an interval, each by ``text``, or a dash if they are unknown; ``of`` begins their names."""
    low, high = row[f"{of}low"], row[f"{of}high"]
    return "-" if low is None else f"{text(low)} to {text(high)}"


def weighted_cells(row: Mapping[str, Any], text: Callable[[float | None], str] = percent) -> list[str]:
    """Return the weighted estimate and its interval, each by ``text``; nothing if there is none."""
    return [text(row["weighted"]), interval(row, text, "weighted_")] if "weighted" in row else []


def p_value_text(p_value: float | None) -> str:
    """Return a p-value with two digits, or a dash if nothing was tested."""
    return "-" if p_value is None else f"{p_value:.2g}"
