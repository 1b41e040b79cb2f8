"""Rows of an answer about sets: of values, and of pairs of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from ....analysis.answers import Row
from ....analysis.columns import Column, Table, finite
from ....estimation.estimate import WIDEST, Verdict
from ....estimation.sets import PairEstimates, SetEstimate, Total

__all__ = ["PairRow", "SelectionRow", "SelectionTable", "flat", "selected"]


class SelectionRow(Row):
    """A row of a table of other programs: of a value or, if ``given`` is not None, of a pair.

    Of a pair ``frequency``, ``low`` and ``high`` are the share of those with ``given`` who have ``value``, and ``both``
    that of all people who have the two.
    """

    given: str | None
    both: float | None


class PairRow(TypedDict):
    """A pair of values in one order (``PairEstimates``); what is not defined is None."""

    given: str
    value: str
    share: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    both: float | None
    both_error: float | None
    both_low: float
    both_high: float
    reports: int


@dataclass(frozen=True)
class SelectionTable(Table):
    """An answer whose pairs are those of the values that are chosen."""

    def chosen(self, places: NDArray[np.intp]) -> "SelectionTable":
        """Return the same with only some values, and the pairs of these."""
        values = super().chosen(places)
        shown, pairs = set(values.columns["value"]), self.beside["pairs"]
        two = zip(pairs.columns["given"], pairs.columns["value"], strict=True)
        kept = np.array([place for place, pair in enumerate(two) if shown.issuperset(pair)], dtype=np.intp)
        return SelectionTable(values.about, values.columns, beside={"pairs": pairs.chosen(kept)})


def selected(shares: Table, found: SetEstimate) -> SelectionTable:
    """Return shares with what else is estimated of sets: the average number of values, and pairs."""
    about = {**shares.about, "average": _told(found.total), "unseen_pairs": found.pairs.unseen or None}
    return SelectionTable(about, shares.columns, beside={"pairs": _pairs(found.labels, found.pairs)})


def flat(table: Table) -> Table:
    """Return a row for each value, and one for each pair and order."""
    pairs = table.beside["pairs"]
    values, more = len(table), len(pairs)
    unknown = {name: [None] * more for name in table.columns}
    of_pairs = unknown | {name: pairs.columns[name] for name in ("value", "low", "high", "verdict")}
    of_pairs["frequency"] = pairs.columns["share"]
    columns: dict[str, Column] = {name: _joined(one, of_pairs[name]) for name, one in table.columns.items()}
    columns["given"] = [*[None] * values, *pairs.columns["given"]]
    columns["both"] = np.concatenate([np.full(values, np.nan), pairs.columns["both"]])
    return replace(table, columns=columns, beside={})


def _told(total: Total) -> dict[str, float | None]:
    return {name: finite(getattr(total, name)) for name in ("value", "standard_error", "low", "high")}


def _pairs(labels: Sequence[str], found: PairEstimates) -> Table:
    columns: dict[str, Any] = {name: getattr(found, name) for name in PairRow.__annotations__ if name != "verdict"}
    columns |= {name: [labels[place] for place in columns[name].tolist()] for name in ("given", "value")}
    columns["verdict"] = _verdicts(found)
    return Table({}, {name: columns[name] for name in PairRow.__annotations__})


def _verdicts(found: PairEstimates) -> list[Verdict]:
    """Return what each conditional share's interval says by itself, as of a share."""
    sided = np.where(found.low > 0, "ok", "noise")
    verdicts: list[Verdict] = np.where(found.high - found.low < WIDEST, sided, "too-few").tolist()  # nor of NaN
    return verdicts


def _joined(values: Column, more: Column) -> Column:
    """Return one column after the other; a number that is not defined is NaN."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return np.concatenate([values, np.array([np.nan if one is None else one for one in more], dtype=np.float64)])
    return [*values, *more]
