"""A metric as a page shows it: what it asks, its estimates, and its last days."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

from dither_shared import Metric

from ..api.lookup import described
from ..reading.estimates import EstimateReader
from ..reading.strata import Part, part_of
from ..reading.summaries import summary_of
from ..reading.summaries.paging import PageRequest
from ..reading.summaries.summary import EstimateView
from ..reading.summaries.svg import Bar, bars_of_days
from ..store import Store
from .metric_groups import tier_of
from .period import days_of, denominator
from .view import View


class MetricCard(NamedTuple):
    """A metric on a page, from the reports of some strata; ``estimates`` is None if nothing can be looked for."""

    metric: Metric
    view: View
    part: Part
    days: list[Bar]
    disabled: date | None
    estimates: EstimateView | None = None

    @property
    def answer(self) -> Mapping[str, Any] | None:
        """The fields about its estimates."""
        return None if self.estimates is None else self.estimates.table.about

    @property
    def described(self) -> dict[str, object]:
        """What the metric asks and promises."""
        return described(self.metric)

    @property
    def tier(self) -> str:
        """The group that it is in."""
        return tier_of(self.metric)

    @property
    def denominator(self) -> str:
        """Which reports its estimates are of, in words."""
        return "" if self.answer is None else denominator(self.answer, self.metric.period)


def card_of(
    metric: Metric, view: View, most: int, store: Store, reader: EstimateReader, *, hidden: bool = False
) -> MetricCard:
    """Return what a page shows of a metric, with at most ``most`` values and, if ``hidden``, without any estimate.

    Readers of many values notice those that stand out, some of them by chance: there all intervals hold at once.
    """
    if summary_of(metric).needs_simultaneous_intervals(metric):
        view = replace(view, query=replace(view.query, simultaneous=True))
    query = view.query
    part = part_of(metric, query.strata, view.names())
    days = bars_of_days(days_of(store, metric, query, part))
    parts = (metric, view, part, days, store.disabled().get(metric.version))
    if hidden or not metric.question.estimable:
        return MetricCard(*parts)
    return MetricCard(*parts, reader.estimate_view(metric, query, part, PageRequest(view.find, view.page, most)))
