"""Bounds on what parts come to: for each by itself, and for one person who answers all of them, or one of them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dither_server.analysis.composition import Part, advanced, optimal
from dither_shared import ParameterError
from dither_shared.primitives.probability import float_above
from dither_shared.privacy.composition import parallel, sequential

from .asked import Asked

__all__ = ["ONE_OF_THEM", "TOGETHER", "Bounds", "course", "weigh"]

TOGETHER, ONE_OF_THEM = "together", "one of them"
"""Names of the last row."""
_POINTS = 10


@dataclass(frozen=True)
class Bounds:
    """What ``reports`` reports of one person come to; no number is below the truth.

    - ``epsilon``: the loss of one report, or None where they differ;
    - ``sum``, ``sum_delta``: the sum of all losses, which holds with the sum of the δ that reports have of their own;
    - ``advanced``: ε by Dwork and Roth's advanced composition; None if no δ is granted, or if it exceeds all floats;
    - ``optimal``: the least ε that is true, never above ``sum``;
    - ``delta``: the δ with which these two hold: the one that is granted and ``sum_delta``.
    """

    part: str
    epsilon: float | None
    reports: int
    sum: float
    sum_delta: float
    advanced: float | None
    optimal: float
    delta: float


def weigh(asked: Sequence[Asked], granted: Fraction, *, one_of_them: bool) -> list[Bounds]:
    """Return the bounds of each part, and in the end those of all, if there are several.

    ``granted`` is the δ that may be lost, and ``one_of_them`` says that each person answers one part, and not all.
    Raises ParameterError for a δ that cannot be, or if all together are 1 or more.
    """
    rows = [replace(_bounds(one.name, [one.part], granted), epsilon=float_above(one.part.epsilon)) for one in asked]
    if len(rows) == 1:
        return rows
    return [*rows, _dearest(rows) if one_of_them else _bounds(TOGETHER, [one.part for one in asked], granted)]


def course(asked: Sequence[Asked], granted: Fraction, *, one_of_them: bool) -> Iterator[Bounds]:
    """Yield the last of the bounds for growing shares of the reports of each part, up to all."""
    most = max(one.part.reports for one in asked)
    known: set[int] = set()
    for place in range(_POINTS):
        share = most ** (place / (_POINTS - 1) - 1)
        parts = [replace(one.part, reports=max(1, round(share * one.part.reports))) for one in asked]
        row = weigh([Asked("", part) for part in parts], granted, one_of_them=one_of_them)[-1]
        if row.reports not in known:
            known.add(row.reports)
            yield row


def _bounds(name: str, parts: Sequence[Part], granted: Fraction) -> Bounds:
    own = [part.total_delta for part in parts]
    delta = sequential([granted, *own])
    if delta >= 1:
        raise ParameterError("delta", f"all together are {delta:.3g}; from 1 on nothing is promised")
    theorem = advanced(parts, granted) if granted else math.inf
    return Bounds(
        part=name,
        epsilon=None,
        reports=sum(part.reports for part in parts),
        sum=sequential([part.total for part in parts]),
        sum_delta=sequential(own),
        advanced=theorem if theorem < math.inf else None,
        optimal=optimal(parts, granted),
        delta=delta,
    )


def _dearest(rows: Sequence[Bounds]) -> Bounds:
    """Return the bounds for a person of whom it is not known which one of the parts they answered."""
    theorems = [row.advanced for row in rows if row.advanced is not None]
    return Bounds(
        part=ONE_OF_THEM,
        epsilon=None,
        reports=max(row.reports for row in rows),
        sum=parallel(row.sum for row in rows),
        sum_delta=parallel(row.sum_delta for row in rows),
        advanced=parallel(theorems) if len(theorems) == len(rows) else None,
        optimal=parallel(row.optimal for row in rows),
        delta=parallel(row.delta for row in rows),
    )
