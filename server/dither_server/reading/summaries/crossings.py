"""Crossings of two questions: shares of pairs, their marginals, and the shares of one question within the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from dither_shared import CrossQuestion, Metric
from dither_shared.questions.cross import BETWEEN

from ...analysis.columns import Column, Table, cells, finite, from_rows, names_of, number, schemas_of
from ...analysis.estimate_table import SHARES, VERDICT
from ...analysis.weighted import WEIGHTED
from ...estimation.decoders.support import decoder_of
from ...estimation.intervals.score import Ratios, verdicts
from ...estimation.sums import Crossed, crossed, groups_of
from ..query import Query
from ..schemas import TEXT, Schema, closed, list_of
from .shares import FIELDS, Shares
from .shares_view import SharesView
from .summary import CollectedReports
from .terminal_text import TextTable, interval, percent, reach
from .view import EstimateView, PointEstimate

MOST_LINES, MOST_COLUMNS = 24, 12
"""Maximum answers to the first and to the second question that a grid shows: the most frequent."""

_SHADES = 9

_RULE = "“of” is a share among those with that answer; too-few: too few people have it to bound the share"

MARGINALS = [column for column in SHARES if column.name not in {"gain_up", "gain_down", "found"}]
"""The columns of a marginal: one row per answer to one of the questions."""

CONDITIONAL = (
    Column("given", str, "The answer to the other question that defines the group of people."),
    Column("value", str),
    number("share", "Share of the value in that group. Null if too few people have that answer."),
    number("low", "Lower end of the share's interval (Fieller's), for the population."),
    number("high", "Upper end of that interval."),
    VERDICT,
)
"""The columns of one question within each answer to the other."""

COLUMNS = (
    *SHARES,
    Column("part", str, choices=("cell", "marginal", "conditional")),
    Column("first", str, nullable=True),
    Column("second", str, nullable=True),
    Column("given", str, nullable=True),
    *WEIGHTED,
)
"""The columns of an export: of pairs, of the answers to one question (``marginal``), and of one within the other.

``first`` and ``second`` are the answers to both questions, None for all answers. ``given`` is the question whose answer
defines the group of people among whom the share is, None for all people.
"""


class _CrossTableRow(NamedTuple):
    """One answer, and the rows of its cells, in the order of the grid's columns; ``whole`` is the answer's own row."""

    label: str
    cells: Sequence[Mapping[str, Any]]
    whole: Mapping[str, Any] | None = None


class _CrossTable(NamedTuple):
    """Answers to one question down and to another across; ``feet`` are the rows of the answers across."""

    down: str
    across: str
    heads: Sequence[str]
    lines: Sequence[_CrossTableRow]
    feet: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class _CrossingsView(SharesView):
    """A crossing as grids. Its pairs are a list, too."""

    template: ClassVar[str] = "kinds/crossings.html"

    @property
    def question(self) -> CrossQuestion:
        """The question that is asked."""
        return cast("CrossQuestion", self.metric.question)

    @property
    def whole(self) -> bool:
        """Whether the grids hold all answers."""
        first, second = self.question.shape
        return first <= MOST_LINES and second <= MOST_COLUMNS

    def name(self, axis: str, label: str) -> str:
        """Return an answer to one of the questions as people read it."""
        return next(one.question.shown(label) for one in self.question.axes if one.name == axis)

    def figure(self, row: Mapping[str, Any]) -> PointEstimate:
        """Return the figure of a cell, of a marginal or of a share within an answer."""
        return self.point_of(row, "", "share" if "share" in row else "frequency")

    @property
    def grid(self) -> _CrossTable:
        """The pairs, with both marginals."""
        (first, second), (down, across) = self.table.about["marginals"], self._shown
        width = self.question.shape[1]
        lines = [
            _CrossTableRow(
                first["values"][line]["value"],
                [self.table.rows(line * width + column, line * width + column + 1)[0] for column in across],
                first["values"][line],
            )
            for line in down
        ]
        feet = [second["values"][column] for column in across]
        return _CrossTable(first["axis"], second["axis"], [one["value"] for one in feet], lines, feet)

    @property
    def within(self) -> list[_CrossTable]:
        """The shares of each question's answers within those to the other: one line per answer that is given."""
        down, across = self._shown
        grids = []
        for one, given, values in zip(self.table.about["conditional"], (across, down), (down, across), strict=True):
            width = len(one["values"]) // len(self._labels(one["given"]))
            lines = [
                _CrossTableRow(rows[0]["given"], [rows[value] for value in values])
                for rows in (one["values"][line * width : (line + 1) * width] for line in given)
            ]
            grids.append(_CrossTable(one["given"], one["of"], [row["value"] for row in lines[0].cells], lines))
        return grids

    @property
    def _shown(self) -> tuple[list[int], list[int]]:
        """The places of the answers to both questions that are shown, in the order of the definition."""
        kept = []
        for one, most in zip(self.table.about["marginals"], (MOST_LINES, MOST_COLUMNS), strict=True):
            shares = np.array([row["frequency"] or 0.0 for row in one["values"]])
            kept.append(sorted(np.argsort(-shares, kind="stable")[:most].tolist()))
        return kept[0], kept[1]

    def _labels(self, axis: str) -> tuple[str, ...]:
        return next(one.labels for one in self.question.axes if one.name == axis)

    @property
    def darkest(self) -> float:
        """The greatest share of a pair, at least 1%."""
        return max(0.01, self.most("frequency") or 0.0)

    def shade(self, share: float | None, top: float) -> int:
        """Return the shade of a share, from 0 to 9, if ``top`` has the darkest."""
        return 0 if share is None else round(_SHADES * min(1.0, max(0.0, share) / top))


class Crossings(Shares):
    """Shares of the pairs as of any listed answers, with the measures of association of both questions."""

    columns: ClassVar[Sequence[Column]] = COLUMNS
    schema: ClassVar[Schema] = Schema("Crossing", closed({
        **{name: schema for name, schema in FIELDS.items() if name != "values"},
        "marginals": list_of({"axis": TEXT, "values": list_of(schemas_of(MARGINALS))}, minItems=2, maxItems=2),
        "conditional": list_of(
            {"of": TEXT, "given": TEXT, "values": list_of(schemas_of(CONDITIONAL))}, minItems=2, maxItems=2
        ),
        "values": FIELDS["values"],
    }))  # fmt: skip
    shown_by: ClassVar[type[EstimateView]] = _CrossingsView
    cheaper: ClassVar[str] = "cross questions with fewer answers"

    def effort(self, metric: Metric) -> int:
        """Return the cost of the cells and, for each answer to a question, of decoding the pairs with it."""
        question, mechanism = cast("CrossQuestion", metric.question), metric.mechanism
        together = decoder_of(mechanism).cost_together(mechanism, question.size, sum(question.shape))
        return super().effort(metric) + together + question.size // 4

    def extra_rows(self, metric: Metric) -> int:
        """Count the answers to both questions, and the share of each pair within either answer."""
        question = cast("CrossQuestion", metric.question)
        return sum(question.shape) + 2 * question.size

    def table(self, survey: CollectedReports, query: Query) -> Table:
        """Return the shares of the pairs, and about them the ``marginals`` and ``conditional`` shares."""
        pairs = super().table(survey, query)
        metric, question = survey.metric, cast("CrossQuestion", survey.metric.question)
        found = crossed(
            metric.mechanism, survey.tally, question.shape, query.confidence, simultaneous=query.simultaneous
        )
        more = {
            "marginals": _marginals(question, pairs, found),
            "conditional": _conditional(question, found),
        }
        return Table({**pairs.about, **more}, pairs.columns)

    def flat(self, table: Table) -> Table:
        """Return a row for each pair that is shown, each answer to either question, and each share within an answer."""
        first, second = ([row["value"] for row in one["values"]] for one in table.about["marginals"])
        pairs = {BETWEEN.join((one, other)): (one, other) for one in first for other in second}
        of_pairs = [_export_row("cell", *pairs[row["value"]], row) for row in table.rows()]
        alone = (
            _export_row("marginal", None if axis else row["value"], row["value"] if axis else None, row)
            for axis, one in enumerate(table.about["marginals"])
            for row in one["values"]
        )
        within = (
            _export_row("conditional", *_pair(row, flipped=place == 1), _share(row), given=one["given"])
            for place, one in enumerate(table.about["conditional"])
            for row in one["values"]
        )
        return from_rows(table.about, [*chain(of_pairs, alone, within)], COLUMNS)

    def text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return one row per pair, then per answer to each question, then per answer within another."""
        pairs = super().text(answer)
        if not pairs.rows:
            return pairs
        rows = [
            _text_row(f"{one['axis']} = {row['value']}", row) for one in answer["marginals"] for row in one["values"]
        ]
        rows += [
            _text_row(f"{one['of']} = {row['value']}, of {one['given']} = {row['given']}", row)
            for one in answer["conditional"]
            for row in one["values"]
        ]
        return TextTable(pairs.before, [*pairs.rows, *rows], [pairs.after[0], _RULE, *pairs.after[1:]])


def _marginals(question: CrossQuestion, table: Table, found: Crossed) -> list[dict[str, Any]]:
    """Return the marginals of both questions, given the table of the pairs."""
    consistent = np.asarray(table.columns["consistent"], dtype=np.float64)
    marginals: list[dict[str, Any]] = []
    for axis, sums, group in zip(question.axes, found.marginals, groups_of(question.shape), strict=True):
        columns: dict[str, Any] = sums._asdict()
        columns |= {
            "count": sums.frequency * table.about["reports"],
            "consistent": np.bincount(group, consistent),
            "value": axis.labels,
            "verdict": verdicts(sums.low, sums.high),
        }
        names = names_of(MARGINALS)
        rows = zip(*(cells(columns[name]) for name in names), strict=True)
        marginals.append({"axis": axis.name, "values": [dict(zip(names, row, strict=True)) for row in rows]})
    return marginals


def _conditional(question: CrossQuestion, found: Crossed) -> list[dict[str, Any]]:
    """Return the shares of the first question within the answers to the second, and the other way round."""
    first, second = question.axes
    by_first, by_second = (Ratios(*(one.reshape(question.shape) for one in ratios)) for ratios in found.within)
    by_second = Ratios(*(one.T for one in by_second))
    return [
        {"of": of.name, "given": given.name, "values": _conditional_rows(given.labels, of.labels, ratios)}
        for of, given, ratios in ((first, second, by_second), (second, first, by_first))
    ]


def _conditional_rows(given: tuple[str, ...], values: tuple[str, ...], ratios: Ratios) -> list[dict[str, Any]]:
    """Return a row for each value within each of the given answers. The ratios have the shape of both."""
    return [
        {
            "given": answer,
            "value": value,
            "share": finite(share),
            "low": finite(low),
            "high": finite(high),
            "verdict": verdict,
        }
        for answer, *row in zip(given, *(numbers.tolist() for numbers in ratios), strict=True)
        for value, share, low, high, verdict in zip(values, *row, verdicts(*np.array(row[1:])), strict=True)
    ]


def _export_row(
    part: str, first: str | None, second: str | None, numbers: dict[str, Any], given: str | None = None
) -> dict[str, Any]:
    value = BETWEEN.join(one for one in (first, second) if one is not None)
    return numbers | {"value": value, "part": part, "first": first, "second": second, "given": given}


def _pair(row: dict[str, Any], *, flipped: bool) -> tuple[str, str]:
    """Return the answers to both questions, the given one second unless ``flipped``."""
    return (row["given"], row["value"]) if flipped else (row["value"], row["given"])


def _share(row: dict[str, Any]) -> dict[str, Any]:
    return {"frequency": row["share"], "low": row["low"], "high": row["high"], "verdict": row["verdict"]}


def _text_row(name: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    share = row["frequency"] if "frequency" in row else row["share"]
    numbers = (percent(share), percent(reach(row, share)), interval(row), percent(row.get("consistent")))
    return name, *numbers, row["verdict"]
