"""Batches as columns: what a segment of the spool holds, and what a fold takes."""

from datetime import date, timedelta
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import SpoolError

__all__ = ["BUCKETS", "Records", "day_of", "number_of"]

BUCKETS = 256
"""Parts of a segment: bucket b holds the batches whose id begins with byte b. No two have an id in common."""

_FIRST = date(2000, 1, 1)

_AT_ONCE = 1 << 21
"""Bytes of rows that are put in order at once, each of which takes 16 bytes meanwhile."""


def number_of(day: date) -> int:
    """Return a day as a record holds it: the days since 2000-01-01, of which 16 bits reach until 2179.

    Raises SpoolError for any other day: the clock is wrong.
    """
    number = (day - _FIRST).days
    if not 0 <= number <= 0xFFFF:
        raise SpoolError(f"spool: {day} is not within the years that a spool knows; set the clock")
    return number


def day_of(number: int) -> date:
    """Return the day that a record holds as this number."""
    return _FIRST + timedelta(days=number)


class Records(NamedTuple):
    """n batches, by id ascending; those of one id in any order. ``ids`` is of shape (n, 16), other arrays of n.

    ``versions`` are those of metrics that occur, 8 bytes each, and ``version`` has a place in it for each record.
    ``day`` is that of arrival, by ``number_of``. ``stratum`` is the place of the stratum among those of the metric.
    ``rows`` are the rows of all records in order, and ``lengths`` the bytes that belong to each.
    """

    ids: NDArray[np.uint8]
    versions: list[bytes]
    version: NDArray[np.uint16]
    day: NDArray[np.uint16]
    stratum: NDArray[np.uint8]
    lengths: NDArray[np.uint32]
    rows: bytes

    @classmethod
    def arranged(
        cls,
        ids: bytes,
        versions: bytes,
        day: NDArray[np.uint16],
        stratum: bytes,
        lengths: NDArray[np.uint32],
        rows: bytes,
    ) -> Self:
        """Return n records that are given in any order, by id ascending; so nobody can tell which came first.

        ``ids`` are 16 bytes for each record, ``versions`` 8 bytes, ``stratum`` one.
        """
        order = np.argsort(np.frombuffer(ids, "S16"))
        known, place = np.unique(np.frombuffer(versions, ">u8"), return_inverse=True)
        return cls(
            np.frombuffer(ids, np.uint8).reshape(-1, 16)[order],
            [one.to_bytes(8, "big") for one in known.tolist()],
            place.astype(np.uint16)[order],
            day[order],
            np.frombuffer(stratum, np.uint8)[order],
            lengths[order],
            _taken(rows, lengths, order),
        )


def _taken(rows: bytes, lengths: NDArray[np.uint32], order: NDArray[np.intp]) -> bytes:
    """Return the rows of records in another order."""
    content, sizes = np.frombuffer(rows, np.uint8), lengths.astype(np.int64)
    before, sizes = (np.cumsum(sizes) - sizes)[order], sizes[order]
    ends = np.cumsum(sizes)
    shift = before - (ends - sizes)
    cuts = np.unique(np.searchsorted(ends, np.arange(0, len(rows), _AT_ONCE))).tolist()
    parts = []
    for first, last in pairwise([*cuts, len(sizes)]):
        start = int(ends[first] - sizes[first])
        places = np.arange(start, int(ends[last - 1]), dtype=np.int64)
        places += np.repeat(shift[first:last], sizes[first:last])
        parts.append(content[places].tobytes())
    return b"".join(parts)
