"""An answer as a table for a terminal."""

from collections.abc import Sequence
from statistics import NormalDist

from .answers import Answer, Row

__all__ = ["as_table", "printable"]

_HEADER = ("value", "share %", "±", "interval", "consistent", "verdict")
_LEFT = frozenset({"value", "verdict"})


def as_table(told: Answer) -> str:
    """Return a line about the answer and an aligned table of its values; shares are in percent.

    ± is the standard error, scaled to the confidence; the interval is the estimate's own and may be cut at 0 or 1.
    """
    errors = NormalDist().inv_cdf((1 + told["confidence"]) / 2)
    days = f", {told['since']} to {told['until']}" if told["since"] else ""
    together = ", which hold all together" if told["simultaneous"] else ""
    head = (
        f"{told['metric']}: {told['mechanism']}, {told['reports']:,} reports{days}, "
        f"{100 * told['confidence']:g}% intervals{together}\n{told['privacy']}"
    )
    rows = [_HEADER, *(_cells(row, errors) for row in told["values"])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join([head, "", *(_line(row, widths) for row in rows), *_doubts(told)])


def _doubts(told: Answer) -> list[str]:
    """Return what forged reports could have done, and what about the reports is odd."""
    known = [max(up, down) for row in told["values"] if (up := row["gain_up"]) and (down := row["gain_down"])]
    lines = [
        f"odd, for honest reports (p = {check['p_value']:.2g}): {check['test']}; {check['says']}"
        for check in told["health"]
        if check["odd"]
    ]
    if known and told["reports"]:
        share = f"{100 * told['poisoning']['share']:g}%"
        lines.append(f"If {share} of the reports were forged, a share could be off by {100 * max(known):.1f} points.")
    return ["", *lines] if lines else []


def printable(label: str) -> str:
    """Return a label in which no character can steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in label)


def _cells(row: Row, errors: float) -> tuple[str, ...]:
    half = None if row["standard_error"] is None else errors * row["standard_error"]
    interval = f"{_percent(row['low'])} to {_percent(row['high'])}"
    numbers = (_percent(row["frequency"]), _percent(half), interval, _percent(row["consistent"]))
    return printable(row["value"]), *numbers, row["verdict"]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    placed = [
        cell.ljust(width) if name in _LEFT else cell.rjust(width)
        for name, cell, width in zip(_HEADER, cells, widths, strict=True)
    ]
    return "  ".join(placed).rstrip()
