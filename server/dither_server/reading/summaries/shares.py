"""Shares of values: the summary of listed answers and of candidate strings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from dither_shared import Metric, ParameterError

from ...analysis.columns import Column, Table, schemas_of
from ...analysis.combine import Version, combined
from ...analysis.compare import compared
from ...analysis.estimate_table import SHARES, estimate_table
from ...analysis.sequential import Look, watched
from ...analysis.spread import spread_of
from ...analysis.trend import TrendStep, trend
from ...analysis.weighted import WEIGHTED, weighted_shares
from ...estimation.confidence import level_of_each
from ...estimation.decoders.support import decoder_of
from ...estimation.estimate import Estimate, estimate
from ...estimation.fit import FALSE_DISCOVERIES
from ...tally.arrays import Indices
from ...tally.tally import Tally
from ..query import Combination, Comparison, Query, TrendQuery, WatchQuery
from ..schemas import ABOUT, Json, Schema, closed, list_of, optional_weighted
from .shares_view import FEW, SharesView
from .summary import CollectedReports, Summary
from .terminal_text import (
    TOO_FEW,
    TextTable,
    change_words,
    head_line,
    interval,
    odd_lines,
    p_value_text,
    percent,
    reach,
    side_line,
    trend_line,
    weighted_cells,
    weights_lines,
)
from .view import EstimateView

_RULE = "verdict, of the interval alone: ok lies above 0, noise contains 0, too-few says nothing yet"
_FALSE = f"{100 * FALSE_DISCOVERIES:g}%"
_FOUND_RULE = f"found: candidates that stand out; an expected {_FALSE} of them are false, and so are their intervals"
_POISONING = {
    "share": {"type": "number", "description": "Share of the reports that is assumed to be forged."},
    "reports": {"type": "integer", "description": "Number of reports that is assumed to be forged."},
    "reports_to_appear": {
        "type": "integer",
        "description": "Number of forged reports that lifts the interval of a value that nobody has above 0.",
    },
}
_UNLISTED = {
    "frequency": {"type": "number", "description": "Share of people whose string is none of the candidates."},
    **{name: {"type": "number"} for name in ("standard_error", "low", "high")},
}
FIELDS: Json = {
    **ABOUT,
    "simultaneous": {"enum": [None, "sidak", "bonferroni"]},
    "poisoning": closed(_POISONING),
    "unlisted": {"anyOf": [{"type": "null"}, closed(_UNLISTED)]},
    "values": list_of(schemas_of(SHARES) | optional_weighted()),
}
"""The fields of an estimate of shares."""


class Shares(Summary):
    """The share of each value, with its errors and verdict."""

    columns: ClassVar[Sequence[Column]] = (*SHARES, *WEIGHTED)
    weighable: ClassVar[bool] = True
    daily: ClassVar[str | None] = "shares"
    schema: ClassVar[Schema] = Schema("Estimate", closed(FIELDS))
    shown_by: ClassVar[type[EstimateView]] = SharesView
    cheaper: ClassVar[str] = "list fewer candidates in its definition"

    def estimate(
        self, metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
    ) -> Estimate:
        """Return the frequencies of ``labels``."""
        return estimate(metric.mechanism, labels, tally, confidence, simultaneous=simultaneous)

    def effort(self, metric: Metric) -> int:
        """Return the cost that its decoder states."""
        return max(1, decoder_of(metric.mechanism).cost(metric.mechanism, len(metric.labels)))

    def table(self, survey: CollectedReports, query: Query) -> Table:
        """Return the shares (``estimate_table``), and weighted ones if they are asked for."""
        if query.quantile or query.at:
            raise ParameterError(
                "quantile" if query.quantile else "at", f"{survey.metric.name} does not ask for a number"
            )
        table = estimate_table(
            survey.metric,
            survey.tally,
            survey.days,
            query.confidence,
            survey.candidates,
            simultaneous=query.simultaneous,
            forged=query.forged,
            refused=survey.refused,
            estimator=survey.estimator,
        )
        if survey.weighting is None:
            return table
        mechanism, labels, alpha = survey.metric.mechanism, tuple(table.columns["value"]), 1 - query.confidence
        if query.simultaneous:
            _, alpha = level_of_each(mechanism, len(labels), alpha)
        known = np.isfinite(np.asarray(table.columns["frequency"], dtype=np.float64))  # the reports say something
        found = weighted_shares(mechanism, labels, survey.weighting, alpha)
        weighted = {name: np.where(known, column, np.nan) for name, column in found.items()}
        about = {**table.about, "weights": survey.weighting.about}
        return replace(table, about=about, columns={**table.columns, **weighted})

    def compare(self, sides: tuple[CollectedReports, CollectedReports], query: Comparison) -> Table:
        """Return the differences of the shares that both sides list."""
        first, second = (self.table(side, Query(confidence=query.confidence)) for side in sides)
        mechanisms = (sides[0].metric.mechanism, sides[1].metric.mechanism)
        return compared(first, second, mechanisms, query.confidence, query.change)

    def combine(self, name: str, surveys: Sequence[CollectedReports], query: Combination) -> Table:
        """Return the shares over several versions, weighted by the inverse of their variances."""
        alone = Query(confidence=query.confidence)
        versions = [Version(self.table(one, alone), one.metric.mechanism, one.tally.repeats) for one in surveys]
        return combined(name, versions, query.confidence)

    def trend(
        self, metric: Metric, count: int, steps: Iterable[TrendStep[Any]], query: TrendQuery, places: Indices | None
    ) -> Table:
        """Return the trend of the values."""
        return trend(metric, count, steps, query.confidence, places)

    def look(self, metric: Metric, day: date, estimate: Estimate) -> Look:
        """Return all shares."""
        numbers = (estimate.frequency, estimate.standard_error, estimate.reports, estimate.repeats)
        return Look(day, estimate.reports, estimate.frequency, spread_of(metric.mechanism, *numbers))

    def watched(self, metric: Metric, reference: Look, looks: Sequence[Look], query: WatchQuery) -> Table:
        """Return the test of the values that are named, or of all."""
        places = query.places(metric.labels, lambda: reference.frequency)
        chosen = [one.chosen(places) for one in (reference, *looks)]
        labels = [metric.labels[place] for place in places.tolist()]
        return watched(labels, chosen[0], chosen[1:], query.confidence, query.change)

    def daily_rows(self, table: Table) -> list[dict[str, Any]]:
        """Return the rows of the values."""
        return table.rows()

    def needs_simultaneous_intervals(self, metric: Metric) -> bool:
        """Return whether there are many values."""
        return len(metric.labels) > FEW

    def text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return one row per value, with shares in percent.

        ± is how far the interval reaches from the estimate (``terminal_text.reach``); it may be cut at 0 or 1.
        """
        together = ", which hold simultaneously" if answer["simultaneous"] else ""
        selected = any(row["found"] is not None for row in answer["values"])
        weighted = ["weighted %", "interval"] * ("weights" in answer)
        header = ("value", "share %", "±", "interval", "consistent", *weighted, *["found"] * selected, "verdict")
        rows = [header, *map(_cells, _named(answer))]
        head = f"{head_line(answer, intervals=together)}\n{answer['privacy']}"
        if all(row["frequency"] is None for row in answer["values"]):
            return TextTable([head], [], [TOO_FEW, *odd_lines(answer)])
        return TextTable([head, *weights_lines(answer)], rows, [_RULE, *[_FOUND_RULE] * selected, *_doubts(answer)])

    def compared_text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return one row per value, with shares in percent and differences in points."""
        notes = (
            f"{100 * answer['confidence']:g}% intervals; changed means p < {1 - answer['confidence']:.3g}, by "
            f"{answer['correction'].title()}'s method"
        )
        header = ("value", "first %", "second %", "change", "interval", "p", "")
        rows = [header, *(_difference(row, answer["change"]) for row in _named(answer))]
        return TextTable([*map(side_line, answer["sides"]), notes], rows)

    def trend_text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return one row per value, with slopes in points per day and ± as in ``text``."""
        notes = f"drift means p < {1 - answer['confidence']:.3g}, by {answer['correction'].title()}'s method"
        header = ("value", "first %", "last %", "points a day", "±", "p", "")
        errors = NormalDist().inv_cdf((1 + answer["confidence"]) / 2)
        return TextTable([trend_line(answer), notes], [header, *(_slope(row, errors) for row in _named(answer))])


def _doubts(answer: Mapping[str, Any]) -> list[str]:
    """Return lines on odd reports, on the effect of forged ones, and on people whose string is not listed."""
    gains = [(row["gain_up"], row["gain_down"]) for row in answer["values"]]
    known = [max(up, down) for up, down in gains if up is not None and down is not None]
    lines = odd_lines(answer)
    if known:
        share = f"{100 * answer['poisoning']['share']:g}%"
        lines.append(
            f"If {share} of the reports were forged, a share shown here could be off by {100 * max(known):.1f} points."
        )
    if (rest := answer["unlisted"]) is not None:
        lines.append(f"{interval(rest)}% of people have none of the candidates.")
    return lines


def _named(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the rows of an answer; those of a yes-or-no question have the names that people read."""
    names = {"true": "Yes", "false": "No"}
    rows: Sequence[Mapping[str, Any]] = answer["values"]
    if {row["value"] for row in rows} - names.keys():
        return rows
    return [{**row, "value": names[row["value"]]} for row in rows]


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    share = row["frequency"]
    numbers = (percent(share), percent(reach(row, share)), interval(row), percent(row["consistent"]))
    found = [] if row["found"] is None else ["yes" if row["found"] else "no"]
    return row["value"], *numbers, *weighted_cells(row), *found, row["verdict"]


def _difference(row: Mapping[str, Any], change: float) -> tuple[str, ...]:
    takes = "1 point takes" if change == 0.01 else f"{100 * change:g} points take"
    numbers = (percent(row["first"]), percent(row["second"]), percent(row["difference"]), interval(row))
    return row["value"], *numbers, p_value_text(row["adjusted"]), change_words(row, takes)


def _slope(row: Mapping[str, Any], errors: float) -> tuple[str, ...]:
    ends = [row["points"][place]["frequency"] for place in (0, -1)] if row["points"] else [None, None]
    half = None if row["slope_error"] is None else errors * row["slope_error"]
    words = "drifts" if row["drift"] else "no drift seen"
    return row["value"], *map(percent, (*ends, row["slope"], half)), p_value_text(row["adjusted"]), words
