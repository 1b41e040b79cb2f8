"""A number's mean, quantiles and shares below points: the answer where a number is asked for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, ClassVar

import numpy as np

from dither_shared import Metric, ParameterError

from ...analysis.columns import Column, Table, finite, from_rows, names_of, number, schemas_of
from ...analysis.health import cut_shift, health
from ...analysis.sequential import Look, watched
from ...analysis.spread import Spread
from ...analysis.trend import TrendStep
from ...analysis.weighted import WEIGHTED, Weighting, weighted_number
from ...estimation.numeric.dithered import Dithered
from ...estimation.numeric.estimate import QUANTILES, NumericEstimate, estimate_number
from ...estimation.numeric.tabulated import law_of
from ...tally.arrays import Indices
from ...tally.tally import Tally
from ..query import Combination, Comparison, Query, TrendQuery, WatchQuery
from ..schemas import ABOUT, NUMBER, TEXT, Schema, closed, list_of, optional_weighted
from .number_changes import combined_means, compared, trend
from .number_scale import Scale
from .number_view import NumberView
from .summary import CollectedReports, Summary
from .terminal_text import (
    TextTable,
    change_words,
    head_line,
    interval,
    number_text,
    odd_lines,
    reach,
    side_line,
    trend_line,
    weighted_cells,
    weights_lines,
)
from .view import EstimateView, PageRequest

_CUTS = 32
"""The number of even parts (in ratio, on log scales) into which the range is cut, if no points are asked for."""

_RULE = "verdict: too-few says nothing yet; edge reaches an end of the range, so the quantile may lie beyond it"
_ENDS = ("low", "high")
_ERRORS = ("noise_error", "standard_error")

_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_SCALE = {
    "low": {"type": "number", "description": "Low end of the range. Answers below count as it."},
    "high": {"type": "number", "description": "High end of the range. Answers above count as it."},
    "log": {"type": "boolean", "description": "Whether the points are evenly spaced on a logarithmic scale."},
}
_MEAN = {
    "kind": {
        "enum": ["arithmetic", "geometric"],
        "description": "Geometric on log scales, where all three standard errors are null: see the intervals.",
    },
    "value": NUMBER | {"description": "Estimated mean of the answers within the range, raw and unbiased."},
    "noise_error": NUMBER | {"description": "Standard error of the mean of those who reported: from the noise alone."},
    "standard_error": NUMBER | {"description": "Standard error of the mean in the population: noise and sampling."},
    "noise_low": NUMBER | {"description": "Lower end of the interval of the mean of those who reported."},
    "noise_high": NUMBER | {"description": "Upper end of that interval."},
    "low": NUMBER | {"description": "Lower end of the interval of the mean in the population."},
    "high": NUMBER | {"description": "Upper end of that interval."},
    "verdict": {
        "enum": ["ok", "too-few"],
        "description": "Whether the interval is narrower than half of the range (ok) or says nothing (too-few).",
    },
}
_QUANTILE = {
    "share": {"type": "number", "description": "Share of people who have this number or less."},
    "value": NUMBER | {"description": "The quantile of the consistent curve."},
    "low": {"type": "number", "description": "Lower end of the confidence interval."},
    "high": {"type": "number", "description": "Upper end of the confidence interval."},
    "verdict": {
        "enum": ["ok", "edge", "too-few"],
        "description": "Edge: the interval reaches an end of the range, beyond which the quantile may lie.",
    },
}
_END = {
    "at": {"type": "number", "description": "The point of the grid beside the end of the range."},
    "share": NUMBER | {"description": "Share by the curve of people between this point and the end, or beyond it."},
    "low": _SHARE | {"description": "Lower end of the confidence interval, which does not rest on the curve."},
    "high": _SHARE | {"description": "Upper end of that interval."},
}
_POISONING = {
    "share": {"type": "number", "description": "Share of the reports that is assumed to be forged."},
    "reports": {"type": "integer", "description": "Number of reports that is assumed to be forged."},
    "mean_down": NUMBER | {"description": "The most by which they could have lowered the mean. Null without any."},
    "mean_up": NUMBER | {"description": "The most by which they could have raised the mean."},
    "cdf_shift": NUMBER | {"description": "The most by which they could have moved all shares. Null: unknown."},
    "row_shift": NUMBER | {"description": "The most by which they could have moved one share. Null: unknown."},
}

CDF = (
    Column("at", float, "A point of the range."),
    number("share", "Estimated share of people below it, raw and unbiased. Null if there is none."),
    number("noise_error", "Standard error from the noise alone."),
    number("standard_error", "Standard error from the noise and from sampling."),
    Column("low", float, "Lower end of the confidence interval, which pools neighbouring points.", range=(0, 1)),
    Column("high", float, "Upper end of that interval.", range=(0, 1)),
    number("consistent", "Share below it by the curve that makes the reports most likely. Null if too few tell of it."),
)
"""The columns of the shares below points: one row per point."""

COLUMNS = (
    Column("statistic", str, choices=("mean", "quantile", "share")),
    number("at"),
    number("estimate"),
    number("noise_error"),
    number("standard_error"),
    number("low"),
    number("high"),
    number("consistent"),
    Column("verdict", str, nullable=True),
    Column("unit", str),
    *WEIGHTED,
)
"""The columns of an export: one row per estimate, in the metric's unit or, for the share below a point, without unit.

``at`` is the share of a quantile, or the point below which a share lies; None for the mean.
"""


class Numbers(Summary):
    """The mean of a number, its quantiles, the shares of people below points, and the shares beyond both ends."""

    columns: ClassVar[Sequence[Column]] = COLUMNS
    schema: ClassVar[Schema] = Schema("NumberEstimate", closed({
        **ABOUT,
        "unit": TEXT,
        "scale": closed(_SCALE),
        "mean": closed(_MEAN | optional_weighted()),
        "quantiles": list_of(_QUANTILE | optional_weighted("weighted_error")),
        "clipped": closed({
            "low": closed(_END) | {"description": "People below the second point of the grid or the range."},
            "high": closed(_END) | {"description": "People from the last but one point on, or above the range."},
        }),
        "poisoning": closed(_POISONING),
        "cdf": list_of(schemas_of(CDF) | optional_weighted()),
    }))  # fmt: skip
    shown_by: ClassVar[type[EstimateView]] = NumberView
    daily: ClassVar[str | None] = "numbers"
    weighable: ClassVar[bool] = True
    cheaper: ClassVar[str] = "give its mechanism a smaller resolution or fewer steps"

    def estimate(
        self, metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
    ) -> NumericEstimate:
        """Return the estimate in parts of the range and points of the grid."""
        return estimate_number(law_of(metric.mechanism), tally, confidence)

    def effort(self, metric: Metric) -> int:
        """Return the cost that its law states."""
        return law_of(metric.mechanism).cost

    def table(self, survey: CollectedReports, query: Query) -> Table:
        """Return the mean, quantiles and shares; the rows are the shares, by ``at``."""
        if survey.candidates is not None:
            raise ParameterError("candidates", f"{survey.metric.name} asks for a number; candidates are for strings")
        if query.simultaneous:
            raise ParameterError("simultaneous", "does not apply to numbers, whose intervals hold separately")
        metric, scale = survey.metric, Scale.of(survey.metric)
        found: NumericEstimate = survey.estimate(query.confidence)
        known = found.mean.reports
        about = {
            **survey.metadata(query.confidence),
            "health": health(metric.mechanism, (), survey.tally),
            "poisoning": _poisoning(metric, scale, found, query.forged),
            "unit": scale.unit,
            "scale": {"low": scale.low, "high": scale.high, "log": scale.log},
            "mean": {"kind": scale.mean_kind, **scale.mean(found.mean)},
            "quantiles": [scale.quantile(one, known) for one in found.quantiles(query.quantile or QUANTILES)],
            "clipped": _clipped(scale, found),
        }
        points = list(query.at) or scale.evenly(_CUTS)
        shares = [found.below(scale.place(at)) for at in points]
        names = names_of(CDF)[1:]
        numbers = np.array(shares).reshape(len(shares), len(names))  # the coarsest grid may have none
        table = Table(about, {"at": points} | dict(zip(names, numbers.T, strict=True)), rows_as="cdf")
        return table if survey.weighting is None else _with_weights(table, metric, survey.weighting)

    def flat(self, table: Table) -> Table:
        """Return a row for the mean, each quantile and each share."""
        mean = table.about["mean"]
        unit = table.about["unit"]
        rows = [_row("mean", None, mean["value"], unit, mean)]
        rows += [_row("quantile", one["share"], one["value"], unit, one) for one in table.about["quantiles"]]
        rows += [_row("share", one["at"], one["share"], "", one) for one in table.rows()]
        return from_rows(table.about, rows, COLUMNS)

    def compare(self, sides: tuple[CollectedReports, CollectedReports], query: Comparison) -> Table:
        """Return the differences of means, medians and 95th percentiles."""
        return compared(sides, query)

    def combine(self, name: str, surveys: Sequence[CollectedReports], query: Combination) -> Table:
        """Return the combined mean of versions of one range. Others are refused, and quantiles cannot be averaged."""
        if not query.same_question:
            what = "versions of other ranges are not combined; name a version, or ask for same_question"
            raise ParameterError("metric", f"{name} asks for a number; {what}")
        return combined_means(name, surveys, query.confidence)

    def trend(
        self, metric: Metric, count: int, steps: Iterable[TrendStep[Any]], query: TrendQuery, places: Indices | None
    ) -> Table:
        """Return the trend of mean, median and 95th percentile."""
        return trend(metric, steps, query.confidence)

    def look(self, metric: Metric, day: date, estimate: NumericEstimate) -> Look:
        """Return the mean, in parts of the range."""
        mean = estimate.mean
        spread = Spread(np.array([mean.standard_error**2]))
        return Look(day, mean.reports, np.array([mean.estimate]), spread)

    def watched(self, metric: Metric, reference: Look, looks: Sequence[Look], query: WatchQuery) -> Table:
        """Return the test of the mean; differences are in the unit, also of geometric means."""
        if query.values:
            raise ParameterError("values", f"does not apply to {metric.name}, of which the mean is watched")
        scale = Scale.of(metric)
        found = watched([scale.mean_name], reference, looks, query.confidence, query.change)
        before = float(reference.frequency[0])
        value = scale.value(before)
        moved = {
            name: np.array([scale.value(before + float(np.asarray(found.columns[name])[0])) - value])
            for name in ("difference", "low", "high")
        }
        now = np.array([scale.value(float(np.asarray(found.columns["now"])[0]))])
        about = {**found.about, "unit": scale.unit}
        return replace(
            found, about=about, columns={**found.columns, "reference": np.array([value]), "now": now, **moved}
        )

    def daily_rows(self, table: Table) -> list[dict[str, Any]]:
        """Return the mean, the median and the 95th percentile, with their intervals."""
        mean = table.about["mean"]
        row: dict[str, float | None] = {"mean": mean["value"], "mean_error": mean["standard_error"]}
        row |= {f"mean_{end}": mean[end] for end in _ENDS}
        quantiles = {one["share"]: one for one in table.about["quantiles"]}
        for name, share in (("p50", 0.5), ("p95", 0.95)):
            row[name] = quantiles[share]["value"]
            row |= {f"{name}_{end}": quantiles[share][end] for end in _ENDS}
        return [row]

    def view(self, survey: CollectedReports, query: Query, request: PageRequest) -> NumberView:
        """Return the curve, the quantiles and the shape, which need the estimates behind the table."""
        return NumberView(survey.metric, self.table(survey, query), request, survey.estimate(query.confidence))

    def text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return a row for the mean, with ± (``reach``) unless the scale is logarithmic, and one per quantile."""
        mean, scale, unit = answer["mean"], answer["scale"], answer["unit"]
        before = [
            head_line(answer),
            answer["privacy"],
            f"from {scale['low']:g} to {scale['high']:g} {unit}".rstrip()
            + (", on a log scale" if scale["log"] else ""),
        ]
        half = "" if mean["value"] is None or scale["log"] else number_text(reach(mean, mean["value"]))
        name = "geometric mean" if scale["log"] else "mean"
        more = ["weighted", "interval"] * ("weights" in answer)
        rows = [("statistic", unit or "value", "±", "interval", *more, "verdict")]
        rows += [
            (
                name,
                number_text(mean["value"]),
                half,
                interval(mean, number_text),
                *weighted_cells(mean, number_text),
                mean["verdict"],
            )
        ]
        rows += [
            (
                f"p{100 * one['share']:g}",
                number_text(one["value"]),
                "",
                interval(one, number_text),
                *weighted_cells(one, number_text),
                one["verdict"],
            )
            for one in answer["quantiles"]
        ]
        return TextTable([*before, *weights_lines(answer)], rows, [_RULE, *_doubts(answer)])

    def compared_text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return a line about each side, and one row per statistic."""
        level = 1 - answer["confidence"]
        rows = [("statistic", "first", "second", "change", "interval", "")]
        for row in answer["values"]:
            numbers = (number_text(row[name]) for name in ("first", "second", "difference"))
            words = change_words(row, f"{100 * answer['change']:g}% of the range takes")
            rows.append((row["value"], *numbers, interval(row, number_text), words))
        how = (
            f"{100 * answer['confidence']:g}% intervals; changed is reported at an error of {level:.3g} for all "
            f"together"
        )
        return TextTable([*map(side_line, answer["sides"]), how], rows)

    def trend_text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return a line about the trend, and one row per statistic."""
        rows = [("statistic", "first", "last", f"slope, {answer['slope_unit']}", "")]
        for row in answer["values"]:
            points = row["points"]
            ends = [number_text(points[place]["frequency"]) if points else "-" for place in (0, -1)]
            words = "drifts" if row["drift"] else "not tested" if row["p_value"] is None else "no drift seen"
            rows.append((row["value"], *ends, number_text(row["slope"]), words))
        return TextTable([trend_line(answer), answer["note"]], rows)


def _clipped(scale: Scale, found: NumericEstimate) -> dict[str, dict[str, float | None]]:
    """Return the share within a step of each end by the curve, which is biased there, and its honest interval."""
    return {
        side: {"at": scale.at(place), "share": finite(share.consistent), "low": share.low, "high": share.high}
        for side, place, share in zip(_ENDS, (1, scale.last - 1), found.at_ends(), strict=True)
    }


def _poisoning(metric: Metric, scale: Scale, found: NumericEstimate, forged: float) -> dict[str, Any]:
    """Return how far a share of forged reports could have moved the mean, in its unit, and shares below points.

    If all of that share β are of the least or greatest score g, the others have the mean (mean - β g)/(1-β), or an end
    of the range where that lies beyond.
    """
    mean, law = found.mean.estimate, law_of(metric.mechanism)
    honest = ((mean - forged * end) / (1 - forged) for end in metric.mechanism.reach)
    moved = [scale.value(min(max(one, min(mean, 0.0)), max(mean, 1.0))) - scale.value(mean) for one in honest]
    reports = round(forged * found.reports) if found.mean.reports else 0
    return {
        "share": forged,
        "reports": reports,
        "mean_down": finite(moved[0]) if reports else None,
        "mean_up": finite(-moved[1]) if reports else None,
        "cdf_shift": cut_shift(law, forged) if reports and isinstance(law, Dithered) else None,
        "row_shift": cut_shift(law, forged, cuts=1) if reports and isinstance(law, Dithered) else None,
    }


def _row(
    statistic: str, at: float | None, estimate: float | None, unit: str, more: Mapping[str, Any]
) -> dict[str, Any]:
    return {**more, "statistic": statistic, "at": at, "estimate": estimate, "unit": unit}


def _with_weights(table: Table, metric: Metric, weighting: Weighting) -> Table:
    """Return an answer with weighted numbers beside each of its mean, quantiles and shares below points."""
    scale, mean = Scale.of(metric), table.about["mean"]
    law, confidence = law_of(metric.mechanism), table.about["confidence"]
    if mean["value"] is None:  # the reports say nothing yet
        found = estimate_number(law, Tally.zero(metric.mechanism), confidence)
    else:
        found = weighted_number(law, weighting, confidence)
    ours = scale.mean(found.mean)
    weighted = {"weighted": ours["value"], "weighted_error": ours["standard_error"]}
    quantiles = []
    for one, row in zip(
        found.quantiles([row["share"] for row in table.about["quantiles"]]), table.about["quantiles"], strict=True
    ):
        there = scale.quantile(one, found.reports)
        quantiles.append({**row, "weighted": there["value"], **_weighted_ends(there)})
    shares = [found.below(scale.place(at)) for at in table.columns["at"]]
    parts = ("frequency", "standard_error", "low", "high")
    columns = {
        column.name: np.array([getattr(share, part) for share in shares])
        for column, part in zip(WEIGHTED, parts, strict=True)
    }
    about = {
        **table.about,
        "mean": {**mean, **weighted, **_weighted_ends(ours)},
        "quantiles": quantiles,
        "weights": weighting.about,
    }
    return replace(table, about=about, columns={**table.columns, **columns})


def _weighted_ends(row: Mapping[str, Any]) -> dict[str, Any]:
    return {f"weighted_{end}": row[end] for end in _ENDS}


def _doubts(answer: Mapping[str, Any]) -> list[str]:
    """Return lines on odd reports, on forged ones, and on people beyond the range."""
    lines = odd_lines(answer)
    poisoning, clipped, unit = answer["poisoning"], answer["clipped"], answer["unit"]
    if poisoning["mean_up"] is not None:
        down, up = (number_text(poisoning[name]) for name in ("mean_down", "mean_up"))
        moved = f"the mean could be too low by {down} or too high by {up} {unit}".rstrip()
        if poisoning["row_shift"] is not None:
            moved += f", and one share below a number off by {100 * poisoning['row_shift']:.1f} points"
        lines.append(f"If {100 * poisoning['share']:g}% of the reports were forged, {moved}.")
    if answer["mean"]["value"] is not None:
        for side, one in clipped.items():
            span = f"{100 * one['low']:.1f} to {100 * one['high']:.1f}%"
            beyond = f"{'Below' if side == 'low' else 'From'} {number_text(one['at'])} {unit}".rstrip()
            lines.append(f"{beyond}{'' if side == 'low' else ' on'}: {100 * one['share']:.1f}% by the curve ({span}).")
    return lines
