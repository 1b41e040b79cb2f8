"""Active devices: how many devices reported in each day, week or month. These are counts, without noise.

A device reports a metric at most once in each of its periods, so the reports of a period are devices. Metrics that
devices choose among (surveys), that they answer once, or only in some weeks are left out.
"""

from collections.abc import Iterable, Mapping
from datetime import date, timedelta

from dither_shared import Metric, ParameterError
from dither_shared.metrics.period import STEPS, first_day, last_day

from ..analysis.columns import Column, Table, from_rows
from ..analysis.retention import OF
from ..store import Store
from .query import ActiveQuery

ACTIVE = [
    Column("metric", str, "The metric whose reports are counted."),
    Column("period", str, "The metric's period.", choices=STEPS),
    Column("since", str, "First UTC day of the period."),
    Column("until", str, "Last UTC day of the period."),
    Column("devices", int, "Number of devices that reported in the period.", range=(0, None)),
    Column("complete", bool, "Whether the period is over."),
]
"""The columns of active devices: one row per metric and period with reports, oldest first."""


def counts_devices(metric: Metric) -> bool:
    """Return whether the reports of a period are the devices that were in use and whose user consented."""
    return metric.period in STEPS and metric.survey is None and metric.of != OF


def active(store: Store, metrics: Iterable[Metric], query: ActiveQuery, today: date) -> Table:
    """Return the devices that reported in each period of each metric, over all of its versions; columns ``ACTIVE``."""
    rows = [
        {
            "metric": metric.name,
            "period": metric.period,
            "since": str(date.fromordinal(first)),
            "until": str(last := date.fromordinal(last_day(first, metric.period))),
            "devices": devices,
            "complete": last < today,
        }
        for metric in metrics
        if counts_devices(metric)
        for first, devices in _by_period(store, metric, query).items()
    ]
    asked = {name: day and str(day) for name, day in (("since", query.since), ("until", query.until))}
    return from_rows(asked, rows, ACTIVE, rows_as="periods")


def _by_period(store: Store, metric: Metric, query: ActiveQuery) -> Mapping[int, int]:
    """Return the reports of all versions in each period with any, by its first day; ascending."""
    since, sums = query.since, dict[int, int]()
    if since is not None and first_day(since.toordinal(), metric.period) < since.toordinal():
        since = date.fromordinal(last_day(since.toordinal(), metric.period)) + timedelta(days=1)
    for version in store.definitions.versions(metric.name):
        for day, reports in _reports(store, metric, version, since, query.until).items():
            first = first_day(day.toordinal(), metric.period)
            sums[first] = sums.get(first, 0) + reports
    return dict(sorted(sums.items()))


def _reports(store: Store, metric: Metric, version: str, since: date | None, until: date | None) -> Mapping[date, int]:
    """Return the reports of each day of a version; none of one whose definition this program cannot read."""
    try:
        one = metric if version == metric.version else store.definitions.read(metric.name, version)
    except ParameterError:
        return {}
    return {} if one is None else store.history(one, since, until).days()
