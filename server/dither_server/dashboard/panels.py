"""Small panels, one a stratum: the same few estimates in each, on one scale."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import NamedTuple

from dither_shared import Metric

from ..reading.costs import effort
from ..reading.estimates import EstimateReader
from ..reading.query import Query
from ..reading.strata import Part, parts_by
from ..reading.summaries.summary import Exhibit, Spot
from ..reading.summaries.window import Look

__all__ = ["VALUES", "Panel", "Panels", "panels_of", "panels_within", "placed_spots"]

VALUES = 50
"""Of one metric on a page of its own."""

_WORK = 20_000
"""So much work the estimates of all panels may take (``costs``), so that a page is there in about a second."""


class Place(NamedTuple):
    """A spot with its places in a drawing, in percent of the width; the bar of a dot has no ``width``."""

    spot: Spot
    width: float
    at: float | None
    low: float | None
    high: float | None


class Panel(NamedTuple):
    """The reports of a stratum, the values by which it is chosen, and its estimates."""

    label: str
    values: Mapping[str, str]
    reports: int
    places: Sequence[Place]


class Panels(NamedTuple):
    """The strata with reports, most of them first, and the labels of those without any; ``axis`` says their scale."""

    by: Sequence[str]
    bars: bool
    axis: str
    panels: Sequence[Panel]
    empty: Sequence[str]


def panels_within(
    reader: EstimateReader, metric: Metric, query: Query, part: Part, exhibit: Exhibit
) -> Generator[None, None, Panels | None]:
    """Make the panels of the strata within what a page shows, in short steps; None where there is but one."""
    by = [name for name, value in part.values if value is None]
    if not by:
        return None
    parts = reader.counted(metric, (query.since, query.until), parts_by(metric, part, by))
    look = Look("", 1, VALUES)
    return (yield from panels_of(metric, parts, by, exhibit, lambda part: reader.exhibit(metric, query, part, look)))


def panels_of(
    metric: Metric,
    parts: Sequence[tuple[Part, int]],
    by: Sequence[str],
    exhibit: Exhibit,
    exhibit_of: Callable[[Part], Exhibit],
) -> Generator[None, None, Panels]:
    """Make the panels of the strata by these attributes, which have so many reports each, in short steps.

    ``exhibit`` is what the page shows of all of them together. Where all estimates would take too long, there are none.
    """
    names = [spot.name for spot in exhibit.spots()]
    counted = sorted(((part, reports) for part, reports in parts if reports), key=lambda one: -one[1])
    spots: list[Sequence[Spot]] = [() for _ in counted]
    if names and effort(metric) * len(counted) <= _WORK:
        for place, (part, _) in enumerate(counted):
            yield
            spots[place] = exhibit_of(part).spots(names)
    low, high = _scale([one for some in spots for one in some], exhibit.zero)
    panels = [
        Panel(*_named(part, by), reports, [_placed(one, low, high, exhibit.zero) for one in some])
        for (part, reports), some in zip(counted, spots, strict=True)
    ]
    empty = [_named(part, by)[0] for part, reports in parts if not reports]
    axis = exhibit.axis(low, high) if any(spots) else ""
    return Panels(by, exhibit.zero is not None, axis, panels, empty)


def placed_spots(exhibit: Exhibit, most: int | None = None) -> tuple[list[Place], str]:
    """Return the few estimates that matter most of what a page shows, on a scale of their own, and that in words."""
    spots = exhibit.spots()[:most]
    low, high = _scale(spots, exhibit.zero)
    return [_placed(one, low, high, exhibit.zero) for one in spots], exhibit.axis(low, high)


def _named(part: Part, by: Sequence[str]) -> tuple[str, dict[str, str]]:
    values = {name: value for name, value in part.values if name in by and value is not None}
    return " / ".join(values.values()), values


def _scale(spots: Sequence[Spot], zero: float | None) -> tuple[float, float]:
    """Return the least and the greatest number that the panels show."""
    ends = [end for spot in spots for end in (spot.at, spot.low, spot.high) if end is not None]
    if zero is not None:
        return zero, max([*ends, zero]) or 1.0
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    return (low, high) if low < high else (low, low + 1.0)


def _placed(spot: Spot, low: float, high: float, zero: float | None) -> Place:
    at, first, last = (
        None if end is None else round(min(max(100 * (end - low) / (high - low), 0.0), 100.0), 2)
        for end in (spot.at, spot.low, spot.high)
    )
    return Place(spot, (at or 0.0) if zero is not None else 0.0, at, first, last)
