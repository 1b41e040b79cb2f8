"""Small panels, one per stratum: the same few estimates in each, on one scale."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import NamedTuple

from dither_shared import Metric

from ..reading.costs import effort
from ..reading.estimates import EstimateReader
from ..reading.query import Query
from ..reading.strata import Part, parts_by
from ..reading.summaries.paging import PageRequest
from ..reading.summaries.summary import EstimateView, PointEstimate

VALUES = 50
"""Maximum values of a metric on its own page."""

_WORK = 20_000
"""Cost budget for the estimates of all panels, so that a page takes about a second."""


class Place(NamedTuple):
    """A point estimate with its places in a drawing, in percent of the width; a dot has no ``width``."""

    point: PointEstimate
    width: float
    at: float | None
    low: float | None
    high: float | None


class Panel(NamedTuple):
    """A stratum: its reports, the values that select it, and its estimates."""

    label: str
    values: Mapping[str, str]
    reports: int
    places: Sequence[Place]


class Panels(NamedTuple):
    """The strata with reports, largest first, and the labels of those without; ``axis`` is their scale in words."""

    by: Sequence[str]
    bars: bool
    axis: str
    panels: Sequence[Panel]
    empty: Sequence[str]


def panels_within(
    reader: EstimateReader, metric: Metric, query: Query, part: Part, estimates: EstimateView
) -> Generator[None, None, Panels | None]:
    """Make the panels of the strata within what a page shows, in short steps; None if there is only one."""
    by = [name for name, value in part.values if value is None]
    if not by:
        return None
    parts = reader.counted(metric, (query.since, query.until), parts_by(metric, part, by))
    request = PageRequest("", 1, VALUES)

    def view_of(part: Part) -> EstimateView:
        return reader.estimate_view(metric, query, part, request)

    return (yield from panels_of(metric, parts, by, estimates, view_of))


def panels_of(
    metric: Metric,
    parts: Sequence[tuple[Part, int]],
    by: Sequence[str],
    estimates: EstimateView,
    view_of: Callable[[Part], EstimateView],
) -> Generator[None, None, Panels]:
    """Make the panels of the strata by these attributes, with the number of reports of each, in short steps.

    ``estimates`` is what the page shows of all of them. If all estimates cost too much, panels have none.
    """
    names = [point.name for point in estimates.points()]
    counted = sorted(((part, reports) for part, reports in parts if reports), key=lambda one: -one[1])
    points: list[Sequence[PointEstimate]] = [() for _ in counted]
    if names and effort(metric) * len(counted) <= _WORK:
        for place, (part, _) in enumerate(counted):
            yield
            points[place] = view_of(part).points(names)
    low, high = _scale([one for some in points for one in some], estimates.zero)
    panels = [
        Panel(*_named(part, by), reports, [_placed(one, low, high, estimates.zero) for one in some])
        for (part, reports), some in zip(counted, points, strict=True)
    ]
    empty = [_named(part, by)[0] for part, reports in parts if not reports]
    axis = estimates.axis(low, high) if any(points) else ""
    return Panels(by, estimates.zero is not None, axis, panels, empty)


def placed_points(estimates: EstimateView, most: int | None = None) -> tuple[list[Place], str]:
    """Return the few estimates that matter most on a scale of their own, and that scale in words."""
    points = estimates.points()[:most]
    low, high = _scale(points, estimates.zero)
    return [_placed(one, low, high, estimates.zero) for one in points], estimates.axis(low, high)


def _named(part: Part, by: Sequence[str]) -> tuple[str, dict[str, str]]:
    values = {name: value for name, value in part.values if name in by and value is not None}
    return " / ".join(values.values()), values


def _scale(points: Sequence[PointEstimate], zero: float | None) -> tuple[float, float]:
    """Return the smallest and the largest number that the panels show."""
    ends = [end for point in points for end in (point.at, point.low, point.high) if end is not None]
    if zero is not None:
        return zero, max([*ends, zero]) or 1.0
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    return (low, high) if low < high else (low, low + 1.0)


def _placed(point: PointEstimate, low: float, high: float, zero: float | None) -> Place:
    at, first, last = (
        None if end is None else round(min(max(100 * (end - low) / (high - low), 0.0), 100.0), 2)
        for end in (point.at, point.low, point.high)
    )
    return Place(point, (at or 0.0) if zero is not None else 0.0, at, first, last)
