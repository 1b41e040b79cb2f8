"""What is published: all versions of metrics that have reports, and their days."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple

from dither_shared import Metric, ParameterError

from ...reading.query import Query
from ...store import Store
from ..card import question_of


@dataclass(frozen=True)
class Asked:
    """What the site holds: days, both included, the confidence, and whether discovered strings are published."""

    since: date | None
    until: date
    confidence: float = 0.95
    discovered: bool = False


class Edition(NamedTuple):
    """One version of a metric, with the days of its reports that are published.

    ``current`` marks the version that the definition asks or, for a former metric, the one reported last.
    """

    metric: Metric
    days: tuple[date, ...]
    current: bool

    def query(self, asked: Asked) -> Query:
        """Return its query: from its first day with reports to its last, whatever the calendar says."""
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
    def question(self) -> str:
        """The question as it is asked now, or last was."""
        return question_of(self.current.metric)

    @property
    def current(self) -> Edition:
        """The version that is asked now, or last was."""
        return self.editions[0]


def last_whole_day(today: date, folded: datetime | None, spool_seconds: float) -> date:
    """Return the last UTC day that is over and, if collectors spool, whose reports are all counted.

    ``folded`` is when the last fold began, which counted reports received up to ``spool_seconds`` before.
    """
    last = today - timedelta(days=1)
    if folded is None:
        return last
    return min(last, (folded - timedelta(seconds=spool_seconds)).date() - timedelta(days=1))


def topics(
    store: Store, metrics: Mapping[str, Metric], asked: Asked, left_out: list[ParameterError]
) -> Iterator[Topic]:
    """Yield the metrics of the definition in their order, then former ones by name.

    Versions without reports on these days are left out, except the current one. Definitions that this program cannot
    read are added to ``left_out``.
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


_PLANES = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
"""The two noncharacters at the end of each plane."""

_UNFIT = re.compile(f"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202d\u202e\ud800-\udfff\ufdd0-\ufdef{_PLANES}]")


def replace_control_chars(text: str) -> str:
    """Return a text with U+FFFD in place of each character that is not allowed.

    These are control characters and noncharacters (XML 1.0, section 2.2; HTML, section 13.2.3.5), and the two overrides
    of the writing direction, with which 75 % would be read as 57 %.
    """
    return _UNFIT.sub("�", text)
