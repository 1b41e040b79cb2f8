"""Batches as columns: what a segment holds, and what a fold takes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dither_server.tally.arrays import Booleans, Counts, Indices

from .blobs import SpoolError

BUCKETS = 256
"""Number of parts of a segment: bucket b holds the batches whose id begins with byte b. No two buckets share an id."""

Ids: TypeAlias = NDArray[np.uint8]
"""Ids of batches, shape (n, 16)."""

Keys: TypeAlias = NDArray[np.bytes_]
"""The same as n strings of 16 bytes, which numpy sorts and compares. An element taken out of the array loses zeros at
its end, so only whole arrays are used."""

_FIRST = date(2000, 1, 1)

_CHUNK = 1 << 21
"""Bytes of rows gathered at a time, which takes 16 bytes of memory for each."""


def number_of(day: date) -> int:
    """Return the days since 2000-01-01, as a record stores a day; 16 bits last until 2179.

    Raises SpoolError for any other day: the clock is wrong.
    """
    number = (day - _FIRST).days
    if not 0 <= number <= 0xFFFF:
        raise SpoolError(f"spool: {day} is not within the years that a spool knows; set the clock")
    return number


def day_of(number: int) -> date:
    """Return the day that a record stores as this number."""
    return _FIRST + timedelta(days=number)


def as_keys(ids: Ids) -> Keys:
    """Return ids in the form that numpy compares."""
    return np.ascontiguousarray(ids).view("S16").reshape(-1)


def as_ids(keys: Keys) -> Ids:
    """Return the ids of keys."""
    return np.ascontiguousarray(keys).view(np.uint8).reshape(-1, 16)


def are_first(ascending: NDArray[Any]) -> Booleans:
    """Return for each value whether it differs from the one before it."""
    return np.concatenate([np.ones(1, dtype=bool), ascending[1:] != ascending[:-1]])[: len(ascending)]


def grouped(values: NDArray[np.integer[Any]]) -> Iterator[tuple[int, Indices]]:
    """Yield the distinct values in order, each with its places in ascending order."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    starts = np.flatnonzero(are_first(ascending))
    yield from zip(ascending[starts].tolist(), np.split(order, starts[1:]), strict=False)  # np.split(empty) has a part


@dataclass(frozen=True)
class Records:
    """n batches. The rows of a batch are ``lengths`` bytes of ``content``, beginning at ``starts``.

    ``versions`` are the versions of metrics, 8 bytes each, and ``version`` indexes them. ``day`` is the day of arrival,
    by ``number_of``, and ``stratum`` indexes the strata of the metric. All but ``versions`` and ``content`` have shape
    (n,); records that were taken from others share these two.
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
    def by_id(
        cls,
        ids: bytes,
        versions: bytes,
        day: NDArray[np.uint16],
        stratum: bytes,
        lengths: NDArray[np.uint32],
        rows: bytes,
    ) -> Self:
        """Return records sorted by id, so that their order does not show which came first.

        ``ids`` are 16 bytes per record, ``versions`` 8 bytes and ``stratum`` one.
        """
        known, places = np.unique(np.frombuffer(versions, ">u8"), return_inverse=True)
        sizes = lengths.astype(np.int64)
        records = cls(
            np.frombuffer(ids, "S16"),
            places.astype(np.uint16),
            day,
            np.frombuffer(stratum, np.uint8),
            sizes,
            np.cumsum(sizes) - sizes,
            [version.to_bytes(8, "big") for version in known.tolist()],
            np.frombuffer(rows, np.uint8),
        )
        return records.take(np.argsort(records.keys))

    @classmethod
    def merged(cls, parts: Sequence["Records"]) -> Self:
        """Return the records of all parts by id; those of one id are in the order of the parts."""
        versions = sorted({version for part in parts for version in part.versions})
        places = {version: place for place, version in enumerate(versions)}
        ends = np.cumsum([0, *(len(part.content) for part in parts)]).tolist()
        merged = cls(
            _joined("S16", [part.keys for part in parts]),
            _joined("u2", [np.array([places[v] for v in part.versions], "u2")[part.version] for part in parts]),
            _joined("u2", [part.day for part in parts]),
            _joined("u1", [part.stratum for part in parts]),
            _joined("i8", [part.lengths for part in parts]),
            _joined("i8", [part.starts + end for part, end in zip(parts, ends, strict=False)]),
            versions,
            _joined("u1", [part.content for part in parts]),
        )
        return merged.take(np.argsort(merged.keys, kind="stable"))  # fast if ascending parts follow each other

    def __len__(self) -> int:
        return len(self.keys)

    def where(self, chosen: Booleans) -> Self:
        """Return the chosen records; usually all are chosen, and then nothing is copied."""
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

    def rows(self) -> bytes:
        """Return the rows of all records in order."""
        ends = np.cumsum(self.lengths)
        cuts = np.unique(np.searchsorted(ends, np.arange(0, self.lengths.sum(), _CHUNK))).tolist()
        parts = []
        for first, last in pairwise([*cuts, len(self)]):
            begin = int(ends[first] - self.lengths[first])
            places = np.arange(begin, int(ends[last - 1]), dtype=np.int64)
            places += np.repeat((self.starts - ends + self.lengths)[first:last], self.lengths[first:last])
            parts.append(self.content[places].tobytes())
        return b"".join(parts)

    def ranks(self) -> Counts:
        """Return a number for the rows of each record: equal if these are, and ascending by length, then by bytes."""
        ranks = np.zeros(len(self), dtype=np.int64)  # 0 is the checksum of no bytes
        most = 1
        for length, places in grouped(self.lengths):
            if length:
                windows = sliding_window_view(self.content, length)[self.starts[places]]
                rows = np.ascontiguousarray(windows).view(f"S{length}").reshape(-1)
                distinct, inverse = np.unique(rows, return_inverse=True)
                ranks[places] = most + inverse
                most += len(distinct)
        return ranks


def _joined(kind: str, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=kind), *parts], dtype=kind)
