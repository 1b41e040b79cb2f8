"""A crossing for a terminal: the pairs, each question by itself, and each within the answers to the other."""

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

from ..shares.text import estimate_text as shares_text
from ..shares.text import interval, percent
from ..summary import TextTable

__all__ = ["estimate_text"]

_RULE = "“of” is a share among those with that answer; too-few: so few have it that the share could be anything"


def estimate_text(told: Mapping[str, Any]) -> TextTable:
    """Return the table of the pairs, and below it rows of the marginals and of the shares within answers."""
    cells = shares_text(told)
    half = NormalDist().inv_cdf((1 + told["confidence"]) / 2)
    rows = [_row(f"{one['axis']} = {row['value']}", row, half) for one in told["marginals"] for row in one["values"]]
    rows += [
        _row(f"{one['of']} = {row['value']}, of {one['given']} = {row['given']}", row, half)
        for one in told["conditional"]
        for row in one["values"]
    ]
    return TextTable(cells.before, [*cells.rows, *rows], [cells.after[0], _RULE, *cells.after[1:]])


def _row(name: str, row: Mapping[str, Any], half: float) -> tuple[str, ...]:
    error = row.get("standard_error")
    margin = None if error is None else half * error
    share = row["frequency"] if "frequency" in row else row["share"]
    return name, percent(share), percent(margin), interval(row), percent(row.get("consistent")), row["verdict"]
