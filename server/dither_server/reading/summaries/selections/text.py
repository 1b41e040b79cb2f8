"""Answers about sets for a terminal: those about shares, the average, and the pairs that can be seen."""

from collections.abc import Mapping
from typing import Any

from dither_shared.counted import counted

from ..shares.text import estimate_text, interval, percent
from ..summary import TextTable
from .rows import PairRow

__all__ = ["selection_text"]

_SHOWN = 20
"""The most pairs of a terminal, those that most people have."""


def selection_text(told: Mapping[str, Any]) -> TextTable:
    """Return the shares, of which a person may be counted in several, and a table of the pairs."""
    shares = estimate_text(told)
    notes = [
        *shares.before,
        "shares are of people, who may have several values or none: they may sum to more than 100%",
    ]
    average = told["average"]
    if average["value"] is not None:
        ends = f"{average['low']:.2f} to {average['high']:.2f}"
        notes.append(f"a person has {average['value']:.2f} values on average ({ends})")
    return shares._replace(before=notes, more=[_pairs(told["pairs"], told["unseen_pairs"])])


def _pairs(pairs: list[PairRow], unseen: str | None) -> TextTable:
    known = sorted((one for one in pairs if one["share"] is not None), key=lambda one: -(one["both"] or 0.0))
    head = f"pairs that are seen together: {len(pairs) // 2:,}"
    if not pairs:
        return TextTable([f"no pairs: {unseen}"], [])
    heads = [head] if unseen is None else [head, unseen]
    if not known:
        return TextTable([*heads, "too few reports to say of any which have the other value, too"], [])
    left = len(pairs) - len(known)
    after = [f"too few reports for {counted(left, 'more share')}"] * bool(left)
    if len(known) > _SHOWN:
        after.append(f"and {len(known) - _SHOWN:,} more, which --json shows")
    rows = [("of those with", "share %", "interval", "both %", "have"), *map(_cells, known[:_SHOWN])]
    return TextTable(heads, rows, after)


def _cells(pair: PairRow) -> tuple[str, ...]:
    return pair["given"], percent(pair["share"]), interval(pair), percent(pair["both"]), pair["value"]
