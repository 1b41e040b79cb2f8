"""What the tests of the spool share: batches in any order, and what they are once they stand in segments."""

import io
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

import numpy as np

from dither_server.store import Refusal
from dither_server.store.spool.journal import SEGMENTS
from dither_server.store.spool.places import Place
from dither_server.store.spool.records import BUCKETS, Records
from dither_server.store.spool.segment import Segment

Row = tuple[bytes, bytes, int, int, bytes]
"""A batch: its id, version, number of the day, stratum and rows."""


class Database:
    """What a spool asks of a database. It tells of each look at what is disabled, and fails while it is told to."""

    def __init__(self) -> None:
        self.versions: dict[str, date] = {}
        self.refusals: Counter[Refusal] = Counter()
        self.failure: Exception | None = None
        self.asked = threading.Semaphore(0)
        self.told = threading.Semaphore(0)

    def disabled(self) -> Mapping[str, date]:
        self.asked.release()
        if self.failure is not None:
            raise self.failure
        return dict(self.versions)

    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None:
        if self.failure is not None:
            raise self.failure
        self.refusals.update(refused)
        self.told.release()


def batches(count: int, *, rows: int = 1, seed: int = 1) -> list[Row]:
    """Batches of 20 versions, two days and six strata."""
    rng = np.random.default_rng(seed)
    versions = [rng.bytes(8) for _ in range(20)]
    return [
        (rng.bytes(16), versions[rng.integers(20)], 9800 + int(rng.integers(2)), int(rng.integers(6)), rng.bytes(rows))
        for _ in range(count)
    ]


def arranged(given: Sequence[Row]) -> Records:
    """The same as records."""
    ids, versions, days, strata, rows = zip(*given, strict=True) if given else ((), (), (), (), ())
    lengths = np.array([len(one) for one in rows], np.uint32)
    days_of = np.array(days, np.uint16)
    return Records.arranged(b"".join(ids), b"".join(versions), days_of, bytes(strata), lengths, b"".join(rows))


def rows_in(records: Records) -> list[Row]:
    """The batches of records, in their order."""
    ends = np.cumsum(records.lengths, dtype=np.int64)
    assert (ends[-1] if len(ends) else 0) == len(records.rows)
    return [
        (
            records.ids[place].tobytes(),
            records.versions[records.version[place]],
            int(records.day[place]),
            int(records.stratum[place]),
            records.rows[end - records.lengths[place] : end],
        )
        for place, end in enumerate(ends.tolist())
    ]


def in_segment(content: bytes) -> list[Row]:
    """All batches of a segment."""
    segment = Segment(io.BytesIO(content), "a segment")
    found = [row for bucket in range(BUCKETS) if segment.counts[bucket] for row in rows_in(segment.bucket(bucket))]
    assert len(found) == segment.count
    return found


def in_place(place: Place) -> Counter[Row]:
    """All batches of all segments of a place, each as often as it stands there."""
    found: Counter[Row] = Counter()
    for name in place.names(SEGMENTS):
        with place.open(SEGMENTS, name) as file:
            found.update(in_segment(file.read()))
    return found


def ids_in(found: Iterable[Row]) -> set[bytes]:
    """The ids of batches."""
    return {one[0] for one in found}
