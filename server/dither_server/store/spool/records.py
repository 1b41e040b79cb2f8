"""Batches as columns: what a segment of the spool holds, and what a fold takes."""

from datetime import date, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BUCKETS", "Records", "day_of", "number_of"]

BUCKETS = 256
"""Parts of a segment: bucket b holds the batches whose id begins with byte b. No two have an id in common."""

_FIRST = date(2000, 1, 1)


def number_of(day: date) -> int:
    """Return a day as a record holds it: the days since 2000-01-01, of which 16 bits reach until 2179."""
    return (day - _FIRST).days


def day_of(number: int) -> date:
    """Return the day that a record holds as this number."""
    return _FIRST + timedelta(days=number)


class Records(NamedTuple):
    """n batches, by id ascending; those of one id in any order. ``ids`` is of shape (n, 16), all others of n.

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
