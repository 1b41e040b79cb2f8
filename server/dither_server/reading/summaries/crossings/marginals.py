"""What is told of a crossing beside its cells: each question by itself, and each within the answers to the other."""

from datetime import date
from typing import Any, Literal, TypedDict, cast

import numpy as np

from dither_shared import CrossQuestion, Metric

from ....analysis.columns import Table, cells, finite
from ....analysis.repeated_reports import periods_of, repeat_error
from ....estimation.crossing import Crossed, groups_of
from ....estimation.estimate import verdicts
from ....estimation.intervals.ratios import Ratios
from ....estimation.sums import Sums

__all__ = ["Conditional", "MarginalRow", "Marginals", "WithinRow", "marginals", "within"]

_WIDEST = 0.5
"""The width from which an interval says nothing, as for other shares."""


class MarginalRow(TypedDict):
    """The share of an answer to one of the questions, with the meanings of ``analysis.answers.Row``."""

    value: str
    frequency: float | None
    count: float | None
    noise_error: float | None
    noise_low: float | None
    noise_high: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    repeat_error: float | None
    consistent: float | None
    verdict: Literal["ok", "noise", "too-few"]


class Marginals(TypedDict):
    """One question by itself."""

    axis: str
    values: list[MarginalRow]


class WithinRow(TypedDict):
    """Of those whose answer is ``given``, the share whose answer to the other question is ``value``, by Fieller's set.

    All numbers are None where so few have given that answer that the share could be anything.
    """

    given: str
    value: str
    share: float | None
    low: float | None
    high: float | None
    verdict: Literal["ok", "noise", "too-few"]


class Conditional(TypedDict):
    """One question, ``of``, within each answer to the other one, ``given``."""

    of: str
    given: str
    values: list[WithinRow]


def marginals(metric: Metric, table: Table, found: Crossed, days: tuple[date | None, date | None]) -> list[Marginals]:
    """Return both marginals, given the table of the cells, whose reports were received on these days."""
    question = metric.question
    assert isinstance(question, CrossQuestion)  # noqa: S101 - for mypy; a crossing's summary is of nothing else
    periods, reports = periods_of(metric, *days), table.about["reports"]
    consistent = np.asarray(table.columns["consistent"], dtype=np.float64)
    told: list[Marginals] = []
    for axis, sums, group in zip(question.axes, found.marginals, groups_of(question.shape), strict=True):
        columns = {name: getattr(sums, name) for name in Sums._fields if name != "with_cells"}
        columns |= {
            "count": sums.frequency * reports,
            "repeat_error": repeat_error(metric.mechanism, sums.frequency, sums.standard_error, reports, periods),
            "consistent": np.bincount(group, consistent),
            "value": axis.labels,
            "verdict": verdicts(sums.low, sums.standard_error, 1 - table.about["confidence"]),
        }
        names = MarginalRow.__annotations__
        rows: Any = zip(*(cells(columns[name]) for name in names), strict=True)
        values = [cast("MarginalRow", dict(zip(names, row, strict=True))) for row in rows]
        told.append({"axis": axis.name, "values": values})
    return told


def within(question: CrossQuestion, found: Crossed) -> list[Conditional]:
    """Return the shares of the first question within the answers to the second, and the other way round."""
    first, second = question.axes
    shape = question.shape
    by_first, by_second = (_shaped(ratios, shape) for ratios in found.within)
    by_second = Ratios(*(one.T for one in by_second))
    return [
        {"of": of.name, "given": given.name, "values": _rows(given.labels, of.labels, ratios)}
        for of, given, ratios in ((first, second, by_second), (second, first, by_first))
    ]


def _shaped(ratios: Ratios, shape: tuple[int, int]) -> Ratios:
    return Ratios(*(one.reshape(shape) for one in ratios))


def _rows(given: tuple[str, ...], values: tuple[str, ...], ratios: Ratios) -> list[WithinRow]:
    """Return a row for each value within each of the given answers; the ratios have the shape of both."""
    return [
        WithinRow(given=one, value=value, share=finite(r), low=finite(low), high=finite(high), verdict=_said(low, high))
        for one, *row in zip(given, *(numbers.tolist() for numbers in ratios), strict=True)
        for value, r, low, high in zip(values, *row, strict=True)
    ]


def _said(low: float, high: float) -> Literal["ok", "noise", "too-few"]:
    if not high - low < _WIDEST:  # nor of NaN
        return "too-few"
    return "ok" if low > 0 else "noise"
