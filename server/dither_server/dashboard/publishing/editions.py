"""What is published: metrics in all their versions with reports, and the days of which they are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple

from dither_shared import Metric, ParameterError

from ...reading.query import Query
from ...store import Store

__all__ = ["Asked", "Edition", "Topic", "last_whole_day", "topics"]


@dataclass(frozen=True)
class Asked:
    """What the site is to hold: days, both included, the confidence, and whether strings that were discovered."""

    since: date | None
    until: date
    confidence: float = 0.95
    discovered: bool = False


class Edition(NamedTuple):
    """One version of a metric, with the days of its reports that are published.

    ``current`` is whether it is the one that the definition asks, or else the one that was reported last.
    """

    metric: Metric
    days: tuple[date, ...]
    current: bool

    def query(self, asked: Asked) -> Query:
        """Return what is asked of it: from its first day with reports to its last, whatever the calendar says."""
        first, last = (self.days[0], self.days[-1]) if self.days else (asked.until, asked.until)
        return Query(since=first, until=last, confidence=asked.confidence)

    @property
    def folder(self) -> str:
        """The folder of its files."""
        return f"metrics/{self.metric.name}"

    @property
    def page(self) -> str:
        """The path of its page."""
        return f"{self.folder}/{'index' if self.current else self.metric.version}.html"

    def file(self, ending: str) -> str:
        """Return the name of one of its tables within the folder."""
        return ".".join([self.metric.name, *([] if self.current else [self.metric.version]), ending])


class Topic(NamedTuple):
    """A metric: its versions, the current one first, and whether it is still asked."""

    name: str
    editions: tuple[Edition, ...]
    asked: bool

    @property
    def current(self) -> Edition:
        """The version that is asked, or was last."""
        return self.editions[0]


def last_whole_day(today: date, folded: datetime | None, spool_seconds: float) -> date:
    """Return the last UTC day that is over, and that is counted whole where collectors spool.

    ``folded`` is when the last fold began: it counted what was taken up to ``spool_seconds`` before.
    """
    last = today - timedelta(days=1)
    if folded is None:
        return last
    return min(last, (folded - timedelta(seconds=spool_seconds)).date() - timedelta(days=1))


def topics(
    store: Store, metrics: Mapping[str, Metric], asked: Asked, left_out: list[ParameterError]
) -> Iterator[Topic]:
    """Yield what is asked, in the order of the definition, then what was, by name.

    A version without reports on these days is left out, but for one that is asked. Definitions that this program cannot
    read are left out, and told.
    """
    former = sorted({name for name, _ in store.definitions.registered()} - metrics.keys())
    for name in (*metrics, *former):
        known = [] if name not in metrics else [Edition(metrics[name], _days(store, metrics[name], asked), True)]
        current = {one.metric.version for one in known}
        older: list[Edition] = []
        for version in store.definitions.versions(name):
            try:
                metric = None if version in current else store.definitions.read(name, version)
            except ParameterError as error:
                left_out.append(ParameterError(f"{name} {version}", str(error)))
                continue
            if metric is not None and (days := _days(store, metric, asked)):
                older.append(Edition(metric, days, False))
        older.sort(key=lambda one: (one.days[-1], one.metric.version), reverse=True)
        if not known and older:
            older[0] = older[0]._replace(current=True)
        if known or older:
            yield Topic(name, (*known, *older), name in metrics)


def _days(store: Store, metric: Metric, asked: Asked) -> tuple[date, ...]:
    return tuple(day for day in store.reports_by_day(metric) if (asked.since or date.min) <= day <= asked.until)
