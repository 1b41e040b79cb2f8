"""Write the estimates of each day into the database as rows, again only if something changed."""

import hashlib
import json
from collections.abc import Iterator
from datetime import date

from dither_shared import Metric

from ..store import Basis, Store
from .query import EstimateQuery
from .summaries import summary_of
from .summaries.summary import CollectedReports


def refresh(store: Store, metric: Metric, everything: bool = False) -> Iterator[date]:
    """Write down the estimates of a metric version, day by day, and yield each day that was written.

    A day is written if its number of reports or the metric's labels have changed since it was last written; with
    ``everything``, each day is. Estimates cover all strata together. Each day is one transaction, so the refresh can be
    stopped at any time and several can run at once; reports that arrive during it are found the next time. Nothing is
    written for a metric without values to estimate, such as a string without candidates. Raises StoreError.
    """
    summary = summary_of(metric)
    if summary.daily is None or not metric.question.estimable:
        return
    labels = _digest(metric.labels)
    written = {} if everything else store.estimates.bases(metric.version)
    reported = store.reports_by_day(metric)
    for day in store.estimates.bases(metric.version).keys() - reported.keys():
        store.days.purge(metric.version, day)  # its reports were removed while the estimates were computed
    for day, reports in reported.items():
        if written.get(day) != Basis(reports, labels):
            survey = CollectedReports(metric, store.tally(metric, day, day), (day, day), {})
            table = summary.table(survey, EstimateQuery(), summary.estimate)
            rows = summary.daily_rows(table)
            store.estimates.write(metric.version, day, Basis(table.about["reports"], labels), summary.daily, rows)
            yield day


def _digest(labels: tuple[str, ...]) -> bytes:
    return hashlib.blake2b(json.dumps(labels).encode(), digest_size=16).digest()
