"""Deliveries to collectors, the segments of a spool that they make, and what one database counts of them."""

import random
import secrets
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dither_server.store import Store, Upload
from dither_server.store.spool.places import Place
from dither_server.store.spool.records import Records, number_of
from dither_server.store.spool.segment import write_segment
from dither_server.tally.tally import Tally
from dither_shared import Metric
from server.collecting import LAYOUT, METRICS, THEME, TODAY, VERSION, rows_of, same, upload

FILLED = (0, 1, 2, 3, 90, 91, 128, 129, 200, 201, 254, 255)
"""Buckets in which all ids are: each costs a commit."""

ALL = (*METRICS.values(), LAYOUT)


class Delivery(NamedTuple):
    """An upload, and the day on which it came."""

    upload: Upload
    day: date = TODAY


def put(place: Place, deliveries: Sequence[Delivery]) -> str:
    """Write deliveries as a segment; return its name."""
    versions = sorted({one.upload.metric.version for one in deliveries})
    placed = sorted(deliveries, key=lambda one: one.upload.batch)
    records = Records(
        np.frombuffer(b"".join(one.upload.batch for one in placed), np.uint8).reshape(-1, 16),
        [bytes.fromhex(version) for version in versions],
        np.array([versions.index(one.upload.metric.version) for one in placed], np.uint16),
        np.array([number_of(one.day) for one in placed], np.uint16),
        np.array([one.upload.stratum for one in placed], np.uint8),
        np.array([len(one.upload.rows) for one in placed], np.uint32),
        b"".join(one.upload.rows for one in placed),
    )
    name = f"{secrets.token_hex(16)}.segment"
    place.put("segments", name, write_segment(records))
    return name


def some(count: int, seed: int) -> list[Delivery]:
    """Uploads of three metrics over two days, some of many rows."""
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


def deliver(place: Place, deliveries: Sequence[Delivery], seed: int, segments: int = 3) -> None:
    """Spool all, a third of it twice, at another collector and perhaps on the day after."""
    dice = random.Random(seed)
    parts: list[list[Delivery]] = [[] for _ in range(segments)]
    for one in deliveries:
        first = dice.randrange(segments)
        parts[first].append(one)
        if dice.random() < 1 / 3:
            parts[(first + 1) % segments].append(one._replace(day=one.day + timedelta(days=dice.randrange(2))))
    for part in parts:
        if part:
            put(place, part)


def counted_once(folder: Path, deliveries: Iterable[Delivery]) -> Store:
    """A SQLite database that got every delivery once. The caller closes it."""
    store = Store(f"sqlite:///{folder}/{secrets.token_hex(4)}.db")
    store.register(ALL)
    by_day: dict[date, list[Upload]] = {}
    for one in deliveries:
        by_day.setdefault(one.day, []).append(one.upload)
    for day, uploads in by_day.items():
        store.commit(uploads, day, b"s" * 16)
    return store


def tables(store: Store) -> dict[tuple[str, date, int], Tally]:
    """All tallies of a database that are not empty, by metric, day and stratum."""
    return {
        (metric.name, day, place): tally
        for metric in ALL
        for day in store.reports_by_day(metric)
        for place in store.reports_by_stratum(metric)
        if (tally := store.tally(metric, day, day, (place,))).total
    }


def assert_same(store: Store, folder: Path, deliveries: Iterable[Delivery]) -> None:
    """Assert that a database holds what one that got every delivery once does, bit for bit."""
    with closing(counted_once(folder, deliveries)) as once:
        found, right = tables(store), tables(once)
    assert found.keys() == right.keys()
    assert all(same(found[key], right[key]) for key in right)
