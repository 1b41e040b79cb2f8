"""What the pages show of a crossing: a grid of pairs with both marginals, and each question within the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dither_shared import CrossQuestion

from ..shares.page import SharesExhibit

__all__ = ["MOST_COLUMNS", "MOST_LINES", "CrossingsExhibit", "Grid", "Line"]

MOST_LINES, MOST_COLUMNS = 24, 12
"""Answers to the first and to the second question that a grid shows; of more the most frequent."""

_SHADES = 9


class Line(NamedTuple):
    """One answer, and the rows of its cells, in the order of the grid's columns; ``whole`` is the answer's own row."""

    label: str
    cells: Sequence[Mapping[str, Any]]
    whole: Mapping[str, Any] | None = None


class Grid(NamedTuple):
    """Answers to one question down and to another across; ``feet`` are the rows of the answers across."""

    down: str
    across: str
    heads: Sequence[str]
    lines: Sequence[Line]
    feet: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class CrossingsExhibit(SharesExhibit):
    """A crossing as grids; its pairs are a list, too."""

    template: ClassVar[str] = "kinds/crossings.html"

    @property
    def question(self) -> CrossQuestion:
        """The question that is asked."""
        assert isinstance(self.metric.question, CrossQuestion)  # noqa: S101 - for mypy; its summary is of nothing else
        return self.metric.question

    @property
    def whole(self) -> bool:
        """Whether the grids hold all answers."""
        first, second = self.question.shape
        return first <= MOST_LINES and second <= MOST_COLUMNS

    @property
    def grid(self) -> Grid:
        """The pairs, with both questions by themselves."""
        (first, second), (down, across) = self.table.about["marginals"], self._shown
        width = self.question.shape[1]
        lines = [
            Line(
                first["values"][line]["value"],
                [self.table.rows(line * width + column, line * width + column + 1)[0] for column in across],
                first["values"][line],
            )
            for line in down
        ]
        feet = [second["values"][column] for column in across]
        return Grid(first["axis"], second["axis"], [one["value"] for one in feet], lines, feet)

    @property
    def within(self) -> list[Grid]:
        """The shares of each question's answers within those to the other: one line an answer that is given."""
        down, across = self._shown
        grids = []
        for one, given, values in zip(self.table.about["conditional"], (across, down), (down, across), strict=True):
            width = len(one["values"]) // len(self._labels(one["given"]))
            lines = [
                Line(rows[0]["given"], [rows[value] for value in values])
                for rows in (one["values"][line * width : (line + 1) * width] for line in given)
            ]
            grids.append(Grid(one["given"], one["of"], [row["value"] for row in lines[0].cells], lines))
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
        """Return how dark a share is shown, from 0 to 9, where ``top`` is the darkest."""
        return 0 if share is None else round(_SHADES * min(1.0, max(0.0, share) / top))
