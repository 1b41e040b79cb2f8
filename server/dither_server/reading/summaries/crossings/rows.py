"""Rows of a crossing's answer, for tables of other programs: pairs, then marginals, then shares within answers."""

from itertools import chain
from typing import Any, Literal

from dither_shared.questions.cross import BETWEEN

from ....analysis.answers import Row
from ....analysis.columns import Table

__all__ = ["CrossRow", "flat"]


class CrossRow(Row):
    """A share: of a pair of answers, of an answer to one question (``marginal``), or of one within another.

    ``first`` and ``second`` are the answers to both questions, None where it is of all answers; ``given`` is the
    question whose answer those have among whom the share is, None where it is among all.
    """

    part: Literal["cell", "marginal", "conditional"]
    first: str | None
    second: str | None
    given: str | None


def flat(table: Table) -> Table:
    """Return a row a pair that is shown, a row an answer to each question, and a row a share within an answer."""
    first, second = ([row["value"] for row in one["values"]] for one in table.about["marginals"])
    pairs = {BETWEEN.join((one, other)): (one, other) for one in first for other in second}
    cells = [_row("cell", *pairs[row["value"]], row) for row in table.rows()]
    alone = (
        _row("marginal", None if axis else row["value"], row["value"] if axis else None, row)
        for axis, one in enumerate(table.about["marginals"])
        for row in one["values"]
    )
    within = (
        _row("conditional", *_pair(row, flipped=place == 1), _share(row), given=one["given"])
        for place, one in enumerate(table.about["conditional"])
        for row in one["values"]
    )
    rows = [*chain(cells, alone, within)]
    return Table(table.about, {name: [row[name] for row in rows] for name in rows[0]})


def _row(
    part: str, first: str | None, second: str | None, numbers: dict[str, Any], given: str | None = None
) -> dict[str, Any]:
    value = BETWEEN.join(one for one in (first, second) if one is not None)
    where = {"part": part, "first": first, "second": second, "given": given}
    return dict.fromkeys(Row.__annotations__) | numbers | {"value": value} | where


def _pair(row: dict[str, Any], *, flipped: bool) -> tuple[str, str]:
    """Return the answers to both questions, of which the second is given first and then the first."""
    return (row["given"], row["value"]) if flipped else (row["value"], row["given"])


def _share(row: dict[str, Any]) -> dict[str, Any]:
    return {"frequency": row["share"], "low": row["low"], "high": row["high"], "verdict": row["verdict"]}
