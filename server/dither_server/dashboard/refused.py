"""Refused batches and sealed reports on pages: how many, by metric, version and reason."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

from dither_serving.problems import Kind
from dither_shared.counted import counted

from ..reading.query import Query
from ..store import Store

_DAYS = timedelta(days=6)
"""Days before today that are shown by default: a week in all."""

_MOST = 10
"""Maximum rows of a page; the others are added up."""

TITLES = {kind.slug: kind.title for kind in Kind}
"""The title of each reason."""


class _RefusalCount(NamedTuple):
    """How much was refused for one reason; ``is_ours`` is None if no version is known."""

    reason: str
    title: str
    metric: str
    version: str
    is_ours: bool | None
    number: int

    @property
    def words(self) -> str:
        """The number, with its unit."""
        return refused_words(self.reason, self.number)


class _Refused(NamedTuple):
    """The largest counts of some days, and the sum of all others in words."""

    since: date
    until: date
    lines: Sequence[_RefusalCount]
    others: str


def refused_words(reason: str, number: int) -> str:
    """Return how many batches were refused for a reason; for sealed ones, how many reports did not open."""
    return counted(number, "report") if reason == Kind.SEALED.slug else counted(number, "batch", "batches")


def refused_in(store: Store, today: date, query: Query, metric: str | None = None) -> _Refused:
    """Read what was refused on the days that are asked for, or in the last week."""
    until = query.until or today
    since = query.since or until - _DAYS
    sums: Counter[tuple[str, str, str]] = Counter()
    for one, number in store.refusals.read(metric, since, until).items():
        sums[one.kind, one.metric, one.version] += number
    ours = {version for _, version in store.definitions.registered()} if sums else set()
    lines = [
        _RefusalCount(kind, TITLES.get(kind, kind), name, version, version in ours if version else None, number)
        for (kind, name, version), number in sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    ]
    return _Refused(since, until, lines[:_MOST], _in_all(lines[_MOST:]))


def _in_all(lines: Sequence[_RefusalCount]) -> str:
    """Return the sums of batches and of sealed reports in words."""
    sealed = sum(line.number for line in lines if line.reason == Kind.SEALED.slug)
    batches = sum(line.number for line in lines) - sealed
    counts = {counted(batches, "batch", "batches"): batches, counted(sealed, "sealed report"): sealed}
    return " and ".join(words for words, number in counts.items() if number)
