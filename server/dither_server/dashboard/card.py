"""A metric as a page shows it: what it asks, what is estimated of it, and its last days."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

from dither_shared import Metric

from ..api.lookup import described
from ..reading.estimates import EstimateReader
from ..reading.strata import Part, part_of
from ..reading.summaries import summary_of
from ..reading.summaries.summary import EstimateView
from ..reading.summaries.svg import Bar, bars_of_days
from ..reading.summaries.window import Look
from ..store import Store
from .metric_groups import tier_of
from .period import days_of, denominator
from .view import View


class MetricCard(NamedTuple):
    """A metric on a page, of the reports of some strata; without an ``estimates`` there is nothing to look for."""

    asked: Metric
    view: View
    part: Part
    days: list[Bar]
    disabled: date | None
    estimates: EstimateView | None = None

    @property
    def told(self) -> Mapping[str, Any] | None:
        """What is told beside its estimates."""
        return None if self.estimates is None else self.estimates.table.about

    @property
    def metric(self) -> dict[str, object]:
        """What the metric asks and promises."""
        return described(self.asked)

    @property
    def tier(self) -> str:
        """The group that it is in."""
        return tier_of(self.asked)

    @property
    def among(self) -> str:
        """Which reports its estimates are of."""
        return "" if self.told is None else denominator(self.told, self.asked.period)


def card_of(
    metric: Metric, view: View, most: int, store: Store, reader: EstimateReader, *, hidden: bool = False
) -> MetricCard:
    """Return what a page shows of a metric, with at most so many values; of a ``hidden`` one no estimate is made.

    From many values one's eye picks those that stand out, and chance made some of them: there the intervals are to
    hold all together.
    """
    if summary_of(metric).needs_simultaneous_intervals(metric):
        view = replace(view, query=replace(view.query, simultaneous=True))
    query = view.query
    part = part_of(metric, query.strata, view.names())
    days = bars_of_days(days_of(store, metric, query, part))
    always = (metric, view, part, days, store.disabled().get(metric.version))
    if hidden or not metric.question.estimable:
        return MetricCard(*always)
    return MetricCard(*always, reader.estimate_view(metric, query, part, Look(view.find, view.page, most)))
