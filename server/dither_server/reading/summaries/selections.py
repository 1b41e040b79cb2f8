"""Estimates of sets of values: the share of each value, the average number of values, and pairs that go together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither_shared import Metric
from dither_shared.counted import counted

from ...analysis.columns import Column, ColumnData, Table, finite, names_of, number, schemas_of
from ...analysis.estimate_table import SHARES, VERDICT
from ...analysis.weighted import WEIGHTED
from ...estimation.intervals.score import verdicts
from ...estimation.sets import MeanSize, PairEstimates, SetEstimate, estimate_sets
from ...tally.tally import Tally
from ..query import Query
from ..schemas import NUMBER, Schema, closed, list_of
from .shares import FIELDS, Shares
from .shares_view import SharesView
from .summary import CollectedReports
from .terminal_text import TextTable, interval, percent
from .view import EstimateView, PointEstimate

_PAGE_PAIRS, _TERMINAL_PAIRS = 12, 20
"""Maximum pairs shown on a page and on a terminal: those that most people have."""

_AVERAGE = {
    "value": NUMBER | {"description": "Average number of values that a person has: the sum of the shares."},
    "standard_error": NUMBER,
    "low": {"type": "number"},
    "high": {"type": "number"},
}
_UNSEEN = {"type": ["string", "null"], "description": "Why other pairs never occur in a report. Null if all can occur."}

PAIRS = (
    Column("given", str, "The value that all people of the share have."),
    Column("value", str, "The value that the share of them has, too."),
    number("share", "Share of those with given who have value. Null if too few for an interval."),
    number("low", "Lower end of its interval, by Fieller's method, in the population."),
    number("high", "Upper end of that interval."),
    VERDICT,
    number("both", "Share of all people who have both values, raw and unbiased."),
    number("both_error", "Standard error of that share, in the population."),
    Column("both_low", float),
    Column("both_high", float),
    Column("reports", int, "Number of reports that cover both values.", range=(0, None)),
)
"""The columns of pairs: one row per pair of values and order (``PairEstimates``)."""

COLUMNS = (*SHARES, Column("given", str, nullable=True), number("both"), *WEIGHTED)
"""The columns of an export: of values, then of pairs, which have ``given``.

``frequency``, ``low`` and ``high`` of a pair are the share of those with ``given`` who have ``value``; ``both`` is that
of all people who have both.
"""


@dataclass(frozen=True)
class _SelectionView(SharesView):
    """The view of a selection: its values, and pairs of them."""

    template: ClassVar[str] = "kinds/selection.html"

    @property
    def paired(self) -> bool:
        """Whether any reports cover two values."""
        return len(self.table.related["pairs"]) > 0

    @cached_property
    def seen(self) -> list[dict[str, Any]]:
        """The pairs with an interval, in either order, most frequent first."""
        shown = {row["value"] for row in self.found.shown}
        known = [
            row
            for row in self.table.related["pairs"].rows()
            if row["share"] is not None and {row["given"], row["value"]} & shown
        ]
        return sorted(known, key=lambda row: -(row["both"] or 0.0))

    @property
    def pairs(self) -> list[dict[str, Any]]:
        """The most frequent pairs, as many as a page shows."""
        return self.seen[:_PAGE_PAIRS]

    def figure(self, row: Mapping[str, Any]) -> PointEstimate:
        """Return the figure of a pair."""
        return self.point_of(row, row["value"])


class Selections(Shares):
    """The share of people who have each value, how many they have on average, and which pairs go together."""

    columns: ClassVar[Sequence[Column]] = COLUMNS
    schema: ClassVar[Schema] = Schema("SelectionEstimate", closed({
        **FIELDS,
        "average": closed(_AVERAGE),
        "unseen_pairs": _UNSEEN,
        "pairs": list_of(schemas_of(PAIRS)),
    }))  # fmt: skip
    shown_by: ClassVar[type[EstimateView]] = _SelectionView
    cheaper: ClassVar[str] = "ask for fewer days"

    def estimate(
        self, metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
    ) -> SetEstimate:
        """Return the shares of ``labels``, their sum, and pairs."""
        most = metric.question.promises.get("at_most")
        return estimate_sets(metric.mechanism, labels, tally, confidence, simultaneous=simultaneous, at_most=most)

    def table(self, survey: CollectedReports, query: Query) -> "_SelectionTable":
        """Return the shares, and the pairs as related rows."""
        estimates: list[SetEstimate] = []

        def remembered(*arguments: Any) -> SetEstimate:
            estimates.append(survey.estimator(*arguments))
            return estimates[-1]

        shares = super().table(replace(survey, estimator=remembered), query)
        (found,) = estimates
        about = {**shares.about, "average": _average(found.total), "unseen_pairs": found.pairs.unseen or None}
        return _SelectionTable(about, shares.columns, related={"pairs": _pairs(found.labels, found.pairs)})

    def flat(self, table: Table) -> Table:
        """Return a row for each value, and one for each pair and order."""
        pairs = table.related["pairs"]
        values, more = len(table), len(pairs)
        unknown = {name: [None] * more for name in table.columns}
        of_pairs = unknown | {name: pairs.columns[name] for name in ("value", "low", "high", "verdict")}
        of_pairs["frequency"] = pairs.columns["share"]
        columns: dict[str, ColumnData] = {name: _joined(one, of_pairs[name]) for name, one in table.columns.items()}
        columns["given"] = [*[None] * values, *pairs.columns["given"]]
        columns["both"] = np.concatenate([np.full(values, np.nan), pairs.columns["both"]])
        return replace(table, columns=columns, related={})

    def text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return one row per value, and a table of the pairs."""
        shares = super().text(answer)
        notes = [
            *shares.before,
            "shares are of people, who may have several values or none: they may sum to more than 100%",
        ]
        average = answer["average"]
        if average["value"] is not None:
            ends = f"{average['low']:.2f} to {average['high']:.2f}"
            notes.append(f"a person has {average['value']:.2f} values on average ({ends})")
        return shares._replace(before=notes, more=[_pairs_text(answer["pairs"], answer["unseen_pairs"])])


@dataclass(frozen=True)
class _SelectionTable(Table):
    """An answer whose pairs are those of the chosen values."""

    def chosen(self, places: NDArray[np.intp]) -> "_SelectionTable":
        """Return the answer restricted to some values, and the pairs of these."""
        values = super().chosen(places)
        shown, pairs = set(values.columns["value"]), self.related["pairs"]
        two = zip(pairs.columns["given"], pairs.columns["value"], strict=True)
        kept = np.array([place for place, pair in enumerate(two) if shown.issuperset(pair)], dtype=np.intp)
        return _SelectionTable(values.about, values.columns, related={"pairs": pairs.chosen(kept)})


def _average(total: MeanSize) -> dict[str, float | None]:
    return {name: finite(getattr(total, name)) for name in ("value", "standard_error", "low", "high")}


def _pairs(labels: Sequence[str], found: PairEstimates) -> Table:
    columns: dict[str, Any] = {name: getattr(found, name) for name in names_of(PAIRS) if name != "verdict"}
    columns |= {name: [labels[place] for place in columns[name].tolist()] for name in ("given", "value")}
    columns["verdict"] = verdicts(found.low, found.high)
    return Table({}, {name: columns[name] for name in names_of(PAIRS)})


def _joined(values: ColumnData, more: ColumnData) -> ColumnData:
    """Return one column's data after the other's. An undefined number is NaN."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return np.concatenate([values, np.array([np.nan if one is None else one for one in more], dtype=np.float64)])
    return [*values, *more]


def _pairs_text(pairs: Sequence[Mapping[str, Any]], unseen: str | None) -> TextTable:
    known = sorted((row for row in pairs if row["share"] is not None), key=lambda row: -(row["both"] or 0.0))
    head = f"pairs that can be seen together: {len(pairs) // 2:,}"
    if not pairs:
        return TextTable([f"no pairs: {unseen}"], [])
    heads = [head] if unseen is None else [head, unseen]
    if not known:
        return TextTable([*heads, "too few reports to estimate how many people with one value also have another"], [])
    left = len(pairs) - len(known)
    after = [f"too few reports for {counted(left, 'more share')}"] * bool(left)
    if len(known) > _TERMINAL_PAIRS:
        after.append(f"and {len(known) - _TERMINAL_PAIRS:,} more, which --json shows")
    rows = [("of those with", "share %", "interval", "both %", "have", "verdict")]
    rows += [
        (row["given"], percent(row["share"]), interval(row), percent(row["both"]), row["value"], row["verdict"])
        for row in known[:_TERMINAL_PAIRS]
    ]
    return TextTable(heads, rows, after)
