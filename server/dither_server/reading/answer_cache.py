"""Cache answers by what they were computed from, so that none is stale after reports are counted or removed."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

import numpy as np

from ..analysis.columns import Table
from .summaries.paging import Page

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
