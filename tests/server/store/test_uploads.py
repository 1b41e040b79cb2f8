"""Commits: each batch counts once, and all of a commit or nothing."""

from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest
import sqlalchemy

from dither_server.store import Store, StoreError
from dither_server.store import uploads as module
from dither_server.store.definitions import disabled_among
from dither_server.tally.fold import Folded, fold
from dither_server.tally.tally import Tally
from dither_shared import Mechanism
from server.collecting import (
    COUNTED,
    LAYOUT,
    METRICS,
    MOBILE,
    THEME,
    TODAY,
    rows_of,
    same,
    upload,
)
from server.database import execute, url_of

SHARD = b"s" * 16


def test_retry_is_acknowledged_and_counts_nothing(store: Store) -> None:
    first = upload()
    assert store.commit([first], TODAY, SHARD) == [COUNTED]
    assert store.commit([first], TODAY + timedelta(days=1), b"t" * 16) == [COUNTED]
    assert same(store.tally(THEME), Tally.fold(THEME.mechanism, first.rows))


def test_id_counts_once_whatever_comes_under_it_later(store: Store) -> None:
    store.register([LAYOUT])
    first = upload()
    other_rows = upload(rows=first.rows + first.rows, name=first.batch)
    other_metric = upload(MOBILE, rows=first.rows, name=first.batch)
    other_stratum = upload(LAYOUT, first.rows, first.batch, stratum=1)
    assert store.commit([first, other_rows, first, other_metric, other_stratum], TODAY, SHARD) == [COUNTED] * 5
    assert store.commit([other_rows, other_stratum], TODAY + timedelta(days=1), SHARD) == [COUNTED] * 2
    assert store.tally(LAYOUT).total == 0
    assert store.tally(THEME).total == 3
    assert store.tally(MOBILE).total == 0


def test_a_failure_at_the_second_metric_leaves_nothing_of_the_first(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded: list[Mechanism] = []

    def fail_late(mechanism: Mechanism, rows: bytes) -> Folded:
        folded.append(mechanism)
        if len(folded) == 2:
            raise MemoryError
        return fold(mechanism, rows)

    monkeypatch.setattr(module, "fold", fail_late)
    with pytest.raises(MemoryError):
        store.commit([upload(), upload(MOBILE)], TODAY, SHARD)
    assert len(folded) == 2
    assert execute(url_of(tmp_path), "SELECT count(*) FROM tallies") == [(0,)]
    assert execute(url_of(tmp_path), "SELECT count(*) FROM batches") == [(0,)]


def test_a_writer_holds_its_lock_before_it_looks(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise another process could write between the read and the write, and the read would be stale."""
    interrupted: list[bool] = []
    with closing(Store(url_of(tmp_path), lock_wait=0.01)) as other:

        def interrupt(connection: sqlalchemy.Connection, versions: set[str]) -> set[str]:
            monkeypatch.setattr(module, "disabled_among", disabled_among)
            with pytest.raises(StoreError, match="locked"):
                other.commit([upload()], TODAY, b"t" * 16)
            interrupted.append(True)
            return disabled_among(connection, versions)

        monkeypatch.setattr(module, "disabled_among", interrupt)  # which is asked after the ids were looked up
        assert store.commit([upload()], TODAY, SHARD) == [COUNTED]
    assert interrupted
    assert store.tally(THEME).total == 3


def test_rows_are_counted_in_the_stratum_of_their_batch(store: Store) -> None:
    store.register([LAYOUT])
    parts = {place: rows_of(LAYOUT, 10 + place, bytes([place]), "tabs") for place in (0, 1, 5)}
    uploads = [upload(LAYOUT, rows, stratum=place) for place, rows in parts.items() for _ in range(2)]
    for day in (TODAY, TODAY + timedelta(days=1)):
        fresh = [upload(LAYOUT, sent.rows, stratum=sent.stratum) for sent in uploads]
        for group in (fresh[:3], fresh[3:]):
            assert store.commit(group, day, SHARD) == [COUNTED] * 3
    for place, rows in parts.items():
        assert same(store.tally(LAYOUT, places=(place,)), Tally.fold(LAYOUT.mechanism, rows * 4))
    assert same(store.tally(LAYOUT, places=(1, 5)), Tally.fold(LAYOUT.mechanism, (parts[1] + parts[5]) * 4))
    assert same(store.tally(LAYOUT, TODAY, TODAY, (1,)), Tally.fold(LAYOUT.mechanism, parts[1] * 2))
    assert same(store.tally(LAYOUT), Tally.fold(LAYOUT.mechanism, b"".join(parts.values()) * 4))
    assert store.tally(LAYOUT, places=(2,)).total == store.tally(LAYOUT, places=()).total == 0
    assert store.history(LAYOUT).strata() == {0: 40, 1: 44, 5: 60}
    assert store.history(LAYOUT, TODAY, TODAY).strata() == {0: 20, 1: 22, 5: 30}


def test_history_of_strata_has_their_days_alone(store: Store) -> None:
    store.register([LAYOUT])
    days = [TODAY + timedelta(days=number) for number in range(3)]
    for place, day in enumerate(days):
        store.commit([upload(LAYOUT, stratum=place)], day, SHARD)
    history = store.history(LAYOUT)
    assert history.slice(None, None).days == (days[0], days[2])
    assert history.slice(None, None, (0, 1)).days == (days[0], days[1])
    assert history.slice(None, None, (5,)).days == (None, None)
    assert list(store.reports_by_day(LAYOUT, (0, 2))) == [days[0], days[2]]
    assert store.reports_by_day(LAYOUT, (1,)) == {days[1]: 3}


def test_commit_of_many_batch_ids_counts_each_once(store: Store) -> None:
    """A group is looked up in one statement, however large it may be configured."""
    uploads = [upload(rows=b"\x00") for _ in range(3000)]
    assert store.commit(uploads, date(2026, 1, 1), SHARD) == [COUNTED] * 3000
    assert store.commit(uploads, date(2026, 1, 1), SHARD) == [COUNTED] * 3000
    assert store.tally(METRICS["theme"]).total == 3000
