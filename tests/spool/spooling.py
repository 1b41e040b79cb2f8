"""Shared by the tests of the spool: batches, segments of them, and folds that may be killed at each step."""

import io
import random
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dither_server.store import Refusal, Store, Upload
from dither_server.tally.tally import Tally
from dither_shared import Metric
from dither_spool.blobs import BlobStore, Folder
from dither_spool.fold import Folding, FoldReport, FoldStep
from dither_spool.records import BUCKETS, Records, as_ids, number_of
from dither_spool.segment import SEGMENTS, Segment, write_segment
from server.collecting import LAYOUT, METRICS, THEME, TODAY, VERSION, rows_of, same, upload

Row = tuple[bytes, bytes, int, int, bytes]
"""A batch: its id, version, number of the day, stratum and rows."""


class Database:
    """The database of a spool. It counts each reading of the disabled versions, and fails if ``failure`` is set."""

    def __init__(self) -> None:
        self.versions: dict[str, date] = {}
        self.refusals: Counter[Refusal] = Counter()
        self.failure: Exception | None = None
        self.asked = threading.Semaphore(0)
        self.refusals_added = threading.Semaphore(0)
        self.link = self.disabled, self.add_refusals

    def disabled(self) -> Mapping[str, date]:
        self.asked.release()
        if self.failure is not None:
            raise self.failure
        return dict(self.versions)

    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None:
        if self.failure is not None:
            raise self.failure
        self.refusals.update(refused)
        self.refusals_added.release()


def batches(count: int, *, rows: int = 1, seed: int = 1) -> list[Row]:
    """Batches of 20 versions, two days and six strata."""
    rng = np.random.default_rng(seed)
    versions = [rng.bytes(8) for _ in range(20)]
    return [
        (rng.bytes(16), versions[rng.integers(20)], 9800 + int(rng.integers(2)), int(rng.integers(6)), rng.bytes(rows))
        for _ in range(count)
    ]


def arranged(spooled: Sequence[Row]) -> Records:
    """Return batches as records."""
    ids, versions, days, strata, rows = zip(*spooled, strict=True) if spooled else ((), (), (), (), ())
    lengths = np.array([len(row) for row in rows], np.uint32)
    days_of = np.array(days, np.uint16)
    return Records.by_id(b"".join(ids), b"".join(versions), days_of, bytes(strata), lengths, b"".join(rows))


def rows_in(records: Records) -> list[Row]:
    """Return the batches of records, in their order."""
    ids, rows, ends = as_ids(records.keys), records.rows(), np.cumsum(records.lengths)
    assert (ends[-1] if len(ends) else 0) == len(rows)
    return [
        (
            ids[place].tobytes(),
            records.versions[records.version[place]],
            int(records.day[place]),
            int(records.stratum[place]),
            rows[end - records.lengths[place] : end],
        )
        for place, end in enumerate(ends.tolist())
    ]


def in_segment(content: bytes) -> list[Row]:
    """Return all batches of a segment."""
    segment = Segment(io.BytesIO(content), "a segment")
    return [row for bucket in range(BUCKETS) if segment.counts[bucket] for row in rows_in(segment.bucket(bucket))]


def in_place(blobs: BlobStore) -> Counter[Row]:
    """Return all batches of all segments of a store, and how often each occurs."""
    found: Counter[Row] = Counter()
    for name in blobs.names(SEGMENTS):
        with blobs.open(SEGMENTS, name) as file:
            found.update(in_segment(file.read()))
    return found


def ids_in(found: Iterable[Row]) -> set[bytes]:
    """Return the ids of batches."""
    return {row[0] for row in found}


FILLED = (0, 1, 2, 127, 128, 200, 254, 255)
"""The buckets of all ids; few, because each costs a commit."""

ALL = (*METRICS.values(), LAYOUT)


class Delivery(NamedTuple):
    """An upload, and its day of arrival."""

    upload: Upload
    day: date = TODAY


def put(blobs: BlobStore, deliveries: Sequence[Delivery]) -> str:
    """Write deliveries as a segment; return its name."""
    rows = [
        (d.upload.batch, bytes.fromhex(d.upload.metric.version), number_of(d.day), d.upload.stratum, d.upload.rows)
        for d in deliveries
    ]
    name = f"{secrets.token_hex(16)}.segment"
    blobs.put(SEGMENTS, name, write_segment(arranged(rows)))
    return name


def some(count: int, seed: int) -> list[Delivery]:
    """Return uploads of three metrics over two days, some of several rows."""
    dice = random.Random(seed)
    uploads = []
    for number in range(count):
        metric = dice.choice((THEME, VERSION, LAYOUT))
        rows = rows_of(metric, dice.choice((1, 1, 1, 9)), f"{seed}.{number}".encode(), metric_value(metric))
        stratum = dice.randrange(6) if metric is LAYOUT else 0
        day = TODAY + timedelta(days=dice.randrange(2))
        uploads.append(Delivery(upload(metric, rows, bytes([dice.choice(FILLED)]) + dice.randbytes(15), stratum), day))
    return uploads


def metric_value(metric: Metric) -> str:
    return {"theme": "light", "version": "1.0", "layout": "list"}[metric.name]


def deliver(blobs: BlobStore, deliveries: Sequence[Delivery], seed: int, segments: int = 3) -> None:
    """Write deliveries to several segments, a third of them to two, the second perhaps a day later."""
    dice = random.Random(seed)
    parts: list[list[Delivery]] = [[] for _ in range(segments)]
    for delivery in deliveries:
        first = dice.randrange(segments)
        parts[first].append(delivery)
        if dice.random() < 1 / 3:
            parts[(first + 1) % segments].append(
                delivery._replace(day=delivery.day + timedelta(days=dice.randrange(2)))
            )
    for part in parts:
        if part:
            put(blobs, part)


def counted_once(folder: Path, deliveries: Iterable[Delivery]) -> Store:
    """Return a SQLite database that has counted each delivery once. The caller closes it."""
    store = Store(f"sqlite:///{folder}/{secrets.token_hex(4)}.db")
    store.register(ALL)
    by_day: dict[date, list[Upload]] = {}
    for delivery in deliveries:
        by_day.setdefault(delivery.day, []).append(delivery.upload)
    for day, uploads in by_day.items():
        store.commit(uploads, day, b"s" * 16)
    return store


def tables(store: Store) -> dict[tuple[str, date, int], Tally]:
    """Return all tallies of a database that are not empty, by metric, day and stratum."""
    return {
        (metric.name, day, stratum): tally
        for metric in ALL
        for strata in [store.history(metric).strata()]
        for day in store.reports_by_day(metric)
        for stratum in strata
        if (tally := store.tally(metric, day, day, (stratum,))).total
    }


def assert_same(store: Store, folder: Path, deliveries: Iterable[Delivery]) -> None:
    """Assert that a database has the same counts as one that has counted each delivery once."""
    with closing(counted_once(folder, deliveries)) as once:
        found, right = tables(store), tables(once)
    assert found.keys() == right.keys()
    assert all(same(found[key], right[key]) for key in right)


HORIZON = timedelta(days=45)
NOW = datetime(2026, 11, 21, 14, 5, 9, tzinfo=UTC)
PATIENCE = 60.0


class KilledError(Exception):
    """Raised in place of the end of the process."""


def opened(url: str) -> Store:
    store = Store(url, lock_wait=PATIENCE)
    store.register(ALL)
    return store


def folding(store: Store, blobs: BlobStore, **changed: object) -> Folding:
    return Folding(store, blobs, **{"horizon": HORIZON, "now": lambda: NOW, **changed})  # type: ignore[arg-type]  # a test names what differs


def at(step: FoldStep, time: int) -> Callable[[FoldStep], None]:
    """Return a callback that raises KilledError when a step is done for the ``time``-th time."""
    left = time

    def after(done: FoldStep) -> None:
        nonlocal left
        left -= done is step
        if done is step and left == 0:
            raise KilledError

    return after


def folded(folding: Folding) -> list[FoldReport]:
    return list(folding.fold(PATIENCE))


def emptied(blobs: Folder) -> bool:
    return blobs.names("segments") == blobs.names("runs") == []
