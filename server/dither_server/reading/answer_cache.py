"""Cache answers by what they were computed from, so that none is stale after reports are counted or removed.

The source of an answer is the days and strata of a metric version on which it is based, with their reports.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np

from dither_shared import Metric

from ..analysis.columns import Table
from ..store import History, Slice, Snapshot
from ..tally.tally import Repeats, Tally
from .query import EstimateQuery
from .strata import Subgroup
from .summaries.summary import Page, Span

T = TypeVar("T")

_OVERHEAD, _CELL, _ROW = 2_000, 16, 1_000
"""Bytes of a key with the answer's metadata, of a value in a list, and of a row shown on a page."""


class AnswerCache:
    """The answers used last, of at most ``limit`` bytes in all, not counting labels, because the metric holds them.

    A key depends on a ``Slice`` for each tally from which the answer is computed, and takes only the space of its
    labels. Safe to use from many threads.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Bytes of the answers that are remembered now."""
        return self._bytes

    def __contains__(self, key: Hashable) -> bool:
        """Return whether the answer of a key is remembered now."""
        return key in self._known

    def find(self, key: Hashable) -> Any | None:
        """Return the answer of a key if it is remembered, else None."""
        with self._lock:
            if key not in self._known:
                return None
            self._known.move_to_end(key)
            return self._known[key][0]

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the answer of a key: the cached one, or the result of ``compute``, which is then cached."""
        found = self.find(key)
        if found is None:
            found = compute()
            self._keep(key, found, _OVERHEAD + _size(found))
        return cast("T", found)

    def _keep(self, key: Hashable, found: object, size: int) -> None:
        with self._lock:
            if key not in self._known and size <= self._limit:
                self._known[key] = (found, size)
                self._bytes += size
            while self._bytes > self._limit:
                _, (_, oldest) = self._known.popitem(last=False)
                self._bytes -= oldest


def _size(found: Any) -> int:
    """Return about how many bytes an answer takes: a table, what holds one, or an estimate, which has a size."""
    table = found if isinstance(found, Table) else getattr(found, "table", None)
    if not isinstance(table, Table):
        return int(found.size)
    rows = len(found.found.shown) if isinstance(getattr(found, "found", None), Page) else 0
    columns = [column for listed in table.lists.values() for column in listed.columns.values()]
    return _ROW * rows + sum(one.nbytes if isinstance(one, np.ndarray) else _CELL * len(one) for one in columns)


class Source(NamedTuple):
    """The source of an answer: a metric version, the selected strata, and what was collected of them.

    With ``distinct``, all reports are assumed to come from different people.
    """

    metric: Metric
    part: Subgroup
    slice: Slice
    distinct: bool

    @classmethod
    def of(cls, metric: Metric, part: Subgroup, history: History, span: Span, query: EstimateQuery) -> Self:
        """Return the source of the reports of these days."""
        return cls(metric, part, history.slice(*span, part.places), query.distinct)

    @property
    def span(self) -> Span:
        """The days that are asked for."""
        return self.slice.since, self.slice.until

    def at(self, history: History) -> Self:
        """Return the same source at another moment."""
        return self._replace(slice=history.slice(*self.span, self.part.places))

    def tally(self, snapshot: Snapshot) -> Tally:
        """Return its tally."""
        repeats = Repeats.of(self.metric, self.slice.reports)
        tally = snapshot.tally(self.metric, *self.span, self.slice.places)
        return replace(tally, repeats=repeats._replace(chance=0.0) if self.distinct else repeats)


class Collected(NamedTuple):
    """A source with its tally, both read in one snapshot."""

    source: Source
    tally: Tally

    @classmethod
    def of(cls, snapshot: Snapshot, source: Source) -> Self:
        """Return a source as a snapshot has it, with its tally."""
        source = source.at(snapshot.history(source.metric, *source.span))
        return cls(source, source.tally(snapshot))


def key_of(sources: Sequence[Source], labels: tuple[str, ...] | None, *asked: object) -> Hashable:
    """Return the key of an answer: what it depends on, in little space however many days were collected.

    ``labels`` are candidates that replace those of the metric. Labels are not part of a version that takes any string.
    """
    whole = repr((*asked, *((source.slice, source.distinct) for source in sources)))
    named = (labels,) if labels is not None else tuple(source.metric.labels for source in sources)
    return hashlib.blake2b(whole.encode(), digest_size=16).digest(), named
