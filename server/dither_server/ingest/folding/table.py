"""The records of one bucket as a table, by the ids of their batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...store.spool.records import Records
from ...tally.arrays import Booleans, Counts, Indices

__all__ = ["Ids", "Keys", "Table", "are_first", "as_ids", "as_keys", "grouped"]

Ids: TypeAlias = NDArray[np.uint8]
"""Ids of batches, shape (n, 16)."""

Keys: TypeAlias = NDArray[np.bytes_]
"""The same as n strings of 16 bytes, which numpy sorts and compares. One that is taken out alone loses zeros at its
end, so this is not done."""


def as_keys(ids: Ids) -> Keys:
    """Return ids as they are compared."""
    return np.ascontiguousarray(ids).view("S16").reshape(-1)


def as_ids(keys: Keys) -> Ids:
    """Return the ids again."""
    return np.ascontiguousarray(keys).view(np.uint8).reshape(-1, 16)


def are_first(keys: Keys) -> Booleans:
    """Return whether each key, of which all ascend, is the first of its like."""
    return np.concatenate([np.ones(1, dtype=bool), keys[1:] != keys[:-1]])[: len(keys)]


def grouped(values: NDArray[np.integer[Any]]) -> Iterator[tuple[int, Indices]]:
    """Yield each of the values, none below 0, in order, with the places where it stands, ascending."""
    order = np.argsort(values, kind="stable")
    ascending = values[order].astype(np.int64)
    starts = np.flatnonzero(np.diff(ascending, prepend=-1))
    yield from zip(ascending[starts].tolist(), np.split(order, starts[1:]), strict=False)  # of nothing there is a part


@dataclass(frozen=True)
class Table:
    """n records by id, ascending. A record's rows are ``lengths`` bytes of ``content`` from its place in ``starts`` on.

    ``version`` holds places in ``versions``, which ascend. All but ``versions`` and ``content`` have shape (n,), and
    tables that were taken from one share these two.
    """

    keys: Keys
    version: NDArray[np.uint16]
    day: NDArray[np.uint16]
    stratum: NDArray[np.uint8]
    lengths: Counts
    starts: Counts
    versions: list[bytes]
    content: NDArray[np.uint8]

    @classmethod
    def of(cls, segments: Sequence[Records]) -> Self:
        """Return the records of all segments together; those of one id are in the order of the segments."""
        versions = sorted({version for one in segments for version in one.versions})
        places = {version: place for place, version in enumerate(versions)}
        version = [np.array([places[one] for one in part.versions], dtype="u2")[part.version] for part in segments]
        lengths = _joined("i8", [one.lengths for one in segments])
        together = cls(
            _joined("S16", [as_keys(one.ids) for one in segments]),
            _joined("u2", version),
            _joined("u2", [one.day for one in segments]),
            _joined("u1", [one.stratum for one in segments]),
            lengths,
            np.cumsum(lengths) - lengths,
            versions,
            _joined("u1", [np.frombuffer(one.rows, dtype="u1") for one in segments]),
        )
        return together.take(np.argsort(together.keys, kind="stable"))  # quick where ascending parts follow each other

    def __len__(self) -> int:
        return len(self.keys)

    def where(self, chosen: Booleans) -> Self:
        """Return the records where this is true; that is mostly everywhere, and copies nothing then."""
        return self if chosen.all() else self.take(np.flatnonzero(chosen))

    def take(self, places: Indices | slice) -> Self:
        """Return the records at these places, in this order."""
        return type(self)(
            self.keys[places],
            self.version[places],
            self.day[places],
            self.stratum[places],
            self.lengths[places],
            self.starts[places],
            self.versions,
            self.content,
        )

    def rows(self, width: int) -> bytes:
        """Return the rows of all records in order; the bytes of each record are a multiple of ``width``."""
        count = self.lengths // width
        starts = np.repeat(self.starts - (np.cumsum(count) - count) * width, count)
        starts += np.arange(len(starts)) * width
        return self._slices(starts, width).tobytes()

    def ranks(self) -> Counts:
        """Return a number for the rows of each record: equal where they are, and ascending by length, then by bytes."""
        ranks = np.zeros(len(self), dtype=np.int64)  # 0 is that of no bytes
        most = 1
        for length, places in grouped(self.lengths):
            if length:
                rows = self._slices(self.starts[places], length).view(f"S{length}").reshape(-1)
                distinct, inverse = np.unique(rows, return_inverse=True)
                ranks[places] = most + inverse
                most += len(distinct)
        return ranks

    def _slices(self, starts: Counts, width: int) -> NDArray[np.uint8]:
        """Return ``width`` bytes of the content from each start on, shape (starts, width)."""
        if not len(starts):
            return np.empty((0, width), dtype=np.uint8)
        return np.ascontiguousarray(sliding_window_view(self.content, width)[starts])


def _joined(kind: str, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=kind), *parts], dtype=kind)
