"""A discovery for a terminal: shares are in percent."""

from collections.abc import Mapping
from typing import Any

from dither_shared.counted import counted
from dither_shared.questions.domains.alphabet import MARK

from ....estimation.fit import FALSE_DISCOVERIES
from ..summary import TextTable

__all__ = ["MARKED", "discovery_text", "reach_text", "shown"]


MARKED = f"{MARK} stands for what is not told: the rest of a longer text, or all of one with other characters."
"""What is said where a string has the mark."""


def discovery_text(told: Mapping[str, Any]) -> TextTable:
    """Return lines about the answer, a row a string, and how many people hold anything else."""
    days = f", {told['since']} to {told['until']}" if told["since"] else ""
    head = (
        f"{told['metric']}: {told['mechanism']}, {counted(told['reports'], 'report')}{days}, of which "
        f"{counted(told['confirming'], 'confirms', 'confirm')}; {100 * told['confidence']:g}% intervals, "
        f"which allow for the selection\n{told['privacy']}"
    )
    rows = [("string", "share %", "interval", "people")]
    rows += [
        (shown(row["value"]), _percent(row["frequency"]), _interval(row), f"{max(0, round(row['count'])):,}")
        for row in told["values"]
    ]
    return TextTable([head], rows if told["values"] else [("Nothing was found.",)], _below(told))


def shown(value: str) -> str:
    """Return a string as it is shown; the empty one would be nothing."""
    return value or '""'


def reach_text(told: Mapping[str, Any]) -> str:
    """Return in words what so many reports can find, and how many it takes to find more."""
    sought, reach = told["sought"], told["reach"]
    more = f"one that {100 * sought['share']:g}% hold takes {counted(sought['reports'], 'report')}"
    if reach is None or reach >= 1:
        return f"So few reports cannot find a string that everybody holds; {more}."
    return f"A string that {_percent(reach)}% of people hold is found about half the time; {more}."


def _below(told: Mapping[str, Any]) -> list[str]:
    lines = []
    if told["values"]:
        percent = f"{100 * FALSE_DISCOVERIES:g}%"
        lines.append(f"found: strings that stand out; an expected {percent} of them are held by nobody")
    if any(MARK in row["value"] for row in told["values"]):
        lines.append(MARKED)
    lines.append(reach_text(told))
    if (rest := told["unlisted"]) is not None:
        else_ = "hold anything else" if told["values"] else "hold a string that was not found"
        lines.append(f"{_percent(rest['frequency'])}% of people ({_interval(rest)}) {else_}.")
    lines += [
        f"odd, for honest reports (p = {check['p_value']:.2g}): {check['test']}; {check['says']}"
        for check in told["health"]
        if check["odd"]
    ]
    if told["reports"]:
        few = counted(told["poisoning"]["reports_to_appear"], "forged report")
        lines.append(f"About {few} would make up a string that nobody holds.")
    return lines


def _interval(row: Mapping[str, Any]) -> str:
    return f"{_percent(row['low'])} to {_percent(row['high'])}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f}" if abs(share) >= 1e-4 else f"{100 * share:.2g}"
