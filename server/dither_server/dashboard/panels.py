"""Small panels, one per stratum: the same few estimates in each, on one scale."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..reading.costs import effort
from ..reading.estimates import EstimateReader
from ..reading.strata import Part, parts_by
from ..reading.summaries.paging import PageRequest
from ..reading.summaries.summary import PointEstimate
from .card import MetricCard

VALUES = 50
"""Maximum values of a metric on its own page."""

_WORK = 20_000
"""Cost budget for the estimates of all panels, so that a page takes about a second."""


class Panel(NamedTuple):
    """A stratum: its reports, the values that select it, and its estimates."""

    label: str
    values: Mapping[str, str]
    reports: int
    points: Sequence[PointEstimate]


class Panels(NamedTuple):
    """The strata with reports, largest first, and the labels of those without."""

    by: Sequence[str]
    panels: Sequence[Panel]
    empty: Sequence[str]


def panels_within(card: MetricCard, reader: EstimateReader) -> Panels | None:
    """Return the panels of the strata within what a page shows; None if there is only one, or nothing is known.

    If all estimates cost too much, panels have none.
    """
    metric, part, estimates = card.metric, card.part, card.estimates
    query = replace(card.view.query, weighted=False)
    by = [name for name, value in part.values if value is None]
    if not by or estimates is None or not card.known:
        return None
    parts = reader.counted(metric, (query.since, query.until), parts_by(metric, part, by))
    names = [point.name for point in estimates.points()]
    counted = sorted(((part, reports) for part, reports in parts if reports), key=lambda one: -one[1])
    points: list[Sequence[PointEstimate]] = [() for _ in counted]
    if names and effort(metric) * len(counted) <= _WORK:
        request = PageRequest("", 1, VALUES)
        points = [reader.estimate_view(metric, query, one, request).points(names) for one, _ in counted]
    panels = [Panel(*_named(one, by), reports, some) for (one, reports), some in zip(counted, points, strict=True)]
    return Panels(by, panels, [_named(one, by)[0] for one, reports in parts if not reports])


def _named(part: Part, by: Sequence[str]) -> tuple[str, dict[str, str]]:
    values = {name: value for name, value in part.values if name in by and value is not None}
    return " / ".join(values.values()), values
