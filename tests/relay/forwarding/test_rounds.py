"""Rounds against a collector that fails in every way: each report arrives once, or is kept."""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, time, timedelta
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dither_relay.forwarding import body_of, reports_per_body
from dither_relay.status import status_of
from dither_relay.store import PoolBatch, RelayStore
from dither_relay.store import store as relay_store
from dither_relay.store.store import drop_part
from dither_server.store import StoreError
from dither_shared.seal_key import SUITES
from dither_shared.sealed import Pool, SealedBatch
from relay.fake_collector import LOST, FakeCollector, collecting
from relay.relaying import (
    LAYOUT,
    LENGTH,
    LIMITS,
    LISTED,
    NOON,
    POOLS,
    THEME,
    TODAY,
    bytes_of,
    forward,
    hold,
    rounds,
    rows,
    stored,
    url_of,
    waiting,
)
from server.database import execute


@contextmanager
def full_disk_after(drops: int) -> Iterator[None]:
    """Let ``drops`` transactions drop something within the block, and fail the next one."""
    left = iter(range(drops))

    def limited(*arguments: Any) -> int:
        if next(left, None) is None:
            raise StoreError("database: database or disk is full")
        return drop_part(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relay_store, "drop_part", limited)
        yield


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RelayStore]:
    with stored(tmp_path) as store:
        store.list_pools(LISTED, LIMITS | {"batch_limit": 10})
        yield store


@pytest.fixture
def collector() -> Iterator[FakeCollector]:
    with collecting(POOLS, batch_limit=10) as collector:
        yield collector


def test_each_report_arrives_once_with_the_size_of_the_whole(store: RelayStore, collector: FakeCollector) -> None:
    some, few = rows(32), rows(4, 1)
    hold(store, some)
    hold(store, few, pool=2)
    one = rounds(store, collector.url)
    one.freeze()
    posted = one.post({})
    assert (posted.reports, posted.rejected, posted.is_over, posted.trouble) == (32, 0, True, "")
    assert collector.rows() == Counter(some)
    assert set(collector.totals.values()) == {32}
    assert sorted(map(len, collector.batches.values())) == [8, 8, 8, 8]
    assert waiting(store) == [(0, 0, 32, 0)] or waiting(store) == [(4, 0, 0, 0), (0, 0, 32, 0)]
    assert one.post({}).reports == 0
    assert len(collector.bodies) == 4


@pytest.mark.parametrize("answer", [LOST, 500, 503, 429, (503, {"Retry-After": "7"})])
def test_retried_body_has_the_same_bytes(
    store: RelayStore, collector: FakeCollector, answer: int | tuple[int, dict[str, str]]
) -> None:
    some = rows(32)
    hold(store, some)
    collector.answers.extend([202, answer])
    one = rounds(store, collector.url)
    one.freeze()
    posted = one.post({})
    assert (posted.reports, posted.is_over) == (8, False)
    assert posted.after == (7 if isinstance(answer, tuple) else None)
    assert store.state()["trouble"] == posted.trouble
    assert ("cannot be reached" if answer == LOST else "answered") in posted.trouble
    hold(store, rows(40, 7))  # which must not change the cut
    one.freeze()
    assert one.post({}).is_over
    assert collector.rows() == Counter(some + rows(40, 7))
    assert store.state()["trouble"] == ""
    if answer == LOST:
        assert collector.bodies[1] == collector.bodies[2]


def test_limits_that_change_do_not_change_the_cut(store: RelayStore, collector: FakeCollector) -> None:
    some = rows(32)
    hold(store, some)
    collector.answers.extend([LOST])
    one = rounds(store, collector.url)
    one.freeze()
    assert one.post({}).reports == 0
    store.list_pools(LISTED, LIMITS | {"batch_limit": 9})
    assert one.post({}).reports == 32
    assert collector.rows() == Counter(some)


@pytest.mark.parametrize("status", [400, 401, 413, 200, 307])
def test_rejected_body_is_kept_while_others_are_posted(
    store: RelayStore, collector: FakeCollector, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    some = rows(32)
    hold(store, some)
    collector.answers.extend([202, (status, {"Location": collector.url})])
    one, already = rounds(store, collector.url), dict[str, str]()
    one.freeze()
    posted = one.post(already)
    assert (posted.reports, posted.rejected, posted.is_over) == (24, 1, True)
    assert f"answered {status}" in posted.trouble or status == 200
    assert store.state()["trouble"] == posted.trouble
    assert "are kept for another day" in caplog.text
    assert one.post(already).reports == 0
    assert waiting(store) == [(0, 8, 24, 0)]
    assert rounds(store, collector.url, today=TODAY + timedelta(days=1)).post({}).reports == 8
    assert collector.rows() == Counter(some)


def test_bodies_never_taken_are_dropped_and_counted(store: RelayStore, collector: FakeCollector) -> None:
    hold(store, rows(32))
    collector.answers.extend([400] * 8)
    forward(store, collector.url)
    for days, left in ((14, 32), (15, 0)):
        rounds(store, collector.url, today=TODAY + timedelta(days=days)).tidy()
        assert waiting(store) == [(0, left, 0, 32 - left)]


@pytest.mark.parametrize("count", [1, 4])
def test_pool_below_the_least_batch_is_never_posted(store: RelayStore, collector: FakeCollector, count: int) -> None:
    hold(store, rows(count))
    for days in range(15):
        one = rounds(store, collector.url, today=TODAY + timedelta(days=days))
        one.freeze()
        one.post({})
        one.tidy()
        assert waiting(store) == [(count, 0, 0, 0)]
    one = rounds(store, collector.url, today=TODAY + timedelta(days=15))
    one.freeze()
    one.post({})
    one.tidy()
    assert waiting(store) == [(0, 0, 0, count)]
    assert collector.bodies == []


def test_relay_freezes_no_pool_before_it_knows_the_collectors_limits(tmp_path: Path, collector: FakeCollector) -> None:
    with stored(tmp_path) as store:
        hold(store, rows(9))
        store.list_pools(LISTED, {"body_limit": 80})
        rounds(store, collector.url).freeze()
        assert store.frozen() == []


def test_disk_full_of_reports_has_room_to_forward_them(
    store: RelayStore, collector: FakeCollector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Freezing, deleting and dropping write to the disk, too: a disk without any reserve would stay full."""
    some = rows(32)
    hold(store, some)
    log = tmp_path / "relay.db-wal"
    for free, is_enough in ((store.room - 1, False), (store.room, True)):
        usage = SimpleNamespace(free=free - log.stat().st_size, total=1 << 40)  # the log is written from its beginning
        monkeypatch.setattr(shutil, "disk_usage", lambda _, usage=usage: usage)
        with nullcontext() if is_enough else pytest.raises(StoreError, match="bytes are left on its disk"):
            hold(store, some[:3])
        assert (status_of(store, 5, time(3, tzinfo=UTC), NOON)["trouble"] is None) == is_enough
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0, total=1 << 40))
    one = rounds(store, collector.url)
    one.freeze()
    assert one.post({}).reports == 32
    one.tidy()
    monkeypatch.undo()
    hold(store, rows(1000, 5))
    store.drop(TODAY + timedelta(days=1))
    free = execute(url_of(tmp_path), "PRAGMA freelist_count")[0][0] * 8192
    assert free > 0
    for missing, is_enough in ((free + 8192, False), (free, True)):  # pages that are free in the file are room, too
        usage = SimpleNamespace(free=store.room - missing - log.stat().st_size, total=1 << 40)
        monkeypatch.setattr(shutil, "disk_usage", lambda _, usage=usage: usage)
        with nullcontext() if is_enough else pytest.raises(StoreError, match="bytes are left on its disk"):
            store.require_room()


def test_reports_are_dropped_body_by_body(store: RelayStore, collector: FakeCollector) -> None:
    """Dropping all at once would fill a disk, because deleted rows are overwritten. The rest must be cut as before."""
    hold(store, some := rows(32))
    one = rounds(store, collector.url)
    one.freeze()
    (batch,) = store.frozen()
    bodies: list[list[bytes]] = []
    after = b""
    while body := store.body(batch, after):
        bodies.append(list(body.values()))
        after = max(body)
    with full_disk_after(2), pytest.raises(StoreError, match="full"):
        store.drop(TODAY + timedelta(days=1))
    assert waiting(store) == [(0, 16, 0, 16)]
    assert one.post({}).reports == 16
    assert collector.rows() == Counter(row for body in bodies[2:] for row in body)
    assert {frozenset(rows) for rows in collector.batches.values()} == {frozenset(body) for body in bodies[2:]}
    assert len(some) == sum(map(len, bodies))


def test_no_ciphertext_is_left_when_all_are_posted(store: RelayStore, collector: FakeCollector, tmp_path: Path) -> None:
    some = rows(50)
    hold(store, some)
    forward(store, collector.url)
    left = bytes_of(tmp_path)
    assert not any(row[k : k + 16] in left for row in some for k in (0, 20, 35))


@pytest.mark.parametrize("counts", [(4, 0), (5, 1), (0, 1 << 39)])
def test_reports_that_a_receipt_does_not_mention_are_kept(
    store: RelayStore, collector: FakeCollector, counts: tuple[int, int]
) -> None:
    """An answer of 202 is that of a collector only if it accounts for each report."""
    some = rows(5)
    hold(store, some)
    one, rejected = rounds(store, collector.url), dict[str, str]()
    one.freeze()
    collector.receipt = dict(zip(("accepted", "refused"), counts, strict=True))
    posted = one.post(rejected)
    assert (posted.reports, posted.rejected, posted.is_over) == (0, 1, True)
    assert f"{counts[0]:,} accepted and {counts[1]:,} refused of 5 reports" in posted.trouble
    assert waiting(store) == [(0, 5, 0, 0)]
    collector.receipt = {"accepted": 3, "refused": 2}
    assert one.post({}).reports == 5
    assert waiting(store) == [(0, 0, 5, 0)]
    assert [held.unread for held in store.held() if held.forwarded] == [2]
    assert collector.rows() == Counter(some)


NARROW = PoolBatch(1, THEME, SUITES["x25519"], LENGTH, 0, 0)
WIDE = PoolBatch(1, Pool("theme", "0" * 16, "é" * 40), SUITES["xwing"], 5000, 0, 0)
KINDS = [NARROW, NARROW._replace(pool=LAYOUT), NARROW._replace(suite=SUITES["xwing"], length=1139), WIDE]


def test_no_body_is_above_the_limits() -> None:
    for kind, total, limit in product(KINDS, [1, 5, 99, 100, 101, 12_345], [8_000, 20_000, 100_001]):
        batch = kind._replace(total=total)
        share = reports_per_body(batch, 100, limit)
        assert share is not None
        body = body_of(batch, rows(share, length=batch.length))
        assert (share <= 100, len(body) <= limit) == (True, True), (batch, limit)
        assert SealedBatch.decode(body).total == total
        bodies = -(-total // share)
        assert bodies * share - total < bodies, (batch, limit)  # none is much smaller than the others


def test_bodies_fill_the_limits_of_the_collector() -> None:
    batch = NARROW._replace(total=10**9)
    share = reports_per_body(batch, 10**9, 100_000)
    assert share is not None
    assert len(body_of(batch, rows(share))) > 100_000 - 4 * 51


def test_reports_per_body_is_none_if_the_limit_is_below_one_report() -> None:
    assert reports_per_body(WIDE._replace(total=10), 100, 6_000) is None


def test_a_body_is_the_same_in_any_order() -> None:
    some, batch = rows(20), NARROW._replace(total=20)
    assert body_of(batch, some) == body_of(batch, some[::-1])
    assert SealedBatch.decode(body_of(batch, some)).split(3) == sorted(some)
