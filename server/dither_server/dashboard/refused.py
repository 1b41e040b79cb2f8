"""What the pages say of refused batches: how many, of which metric and version, and why."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

from ..protocol.problems import Kind
from ..reading.query import Query
from ..store import Store

__all__ = ["Refused", "refused_in"]

_DAYS = timedelta(days=6)
"""Where no days are asked for: so many before today, a week in all."""

_MOST = 10
"""Rows of a page; the others are added up."""

_TITLES = {kind.slug: kind.title for kind in Kind}


class Line(NamedTuple):
    """Batches that were refused for one reason; ``is_ours`` is None where no version is known."""

    reason: str
    title: str
    metric: str
    version: str
    is_ours: bool | None
    batches: int


class Refused(NamedTuple):
    """The largest counts of some days, and how many batches there were beside them."""

    since: date
    until: date
    lines: Sequence[Line]
    others: int


def refused_in(store: Store, today: date, query: Query, metric: str | None = None) -> Refused:
    """Read what was refused on the days that are asked for, or in the last week."""
    until = query.until or today
    since = query.since or until - _DAYS
    sums: Counter[tuple[str, str, str]] = Counter()
    for one, batches in store.refused(metric, since, until).items():
        sums[one.kind, one.metric, one.version] += batches
    ours = {version for _, version in store.registered()} if sums else set()
    lines = [
        Line(kind, _TITLES.get(kind, kind), name, version, version in ours if version else None, batches)
        for (kind, name, version), batches in sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    ]
    return Refused(since, until, lines[:_MOST], sum(line.batches for line in lines[_MOST:]))
