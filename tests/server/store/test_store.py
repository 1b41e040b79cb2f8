"""The database returns counts by metric version, day, shard and stratum, also after reopening; and what came sealed."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import sqlalchemy

from dither_server.store import Refusal, Sealed, Sealing, Store, StoredToken, StoreError, Upload
from dither_server.store.batch_ids import LEAST
from dither_server.store.definitions import register
from dither_server.store.engine import RacedError
from dither_server.store.removal import removals
from dither_server.store.uploads import count
from dither_server.tally.tally import Tally
from dither_shared import parse_metrics
from server.collecting import (
    COUNTED,
    DISABLED,
    EMPTY,
    LAYOUT,
    METRICS,
    MOBILE,
    SHARD,
    STRATA,
    THEME,
    TODAY,
    VERSION,
    ago,
    rows_of,
    same,
    sealed_upload,
    upload,
)
from server.database import execute, full_disk, listening, url_of


def test_counts_are_what_was_sent_after_reopening(store: Store, tmp_path: Path) -> None:
    for metric in (THEME, MOBILE, VERSION):
        for part in range(3):
            store.commit([upload(metric, rows_of(metric, 50, bytes([part])))], TODAY, SHARD)
    store.close()
    with closing(Store(url_of(tmp_path), create=False)) as again:
        for metric in (THEME, MOBILE, VERSION):
            sent = b"".join(rows_of(metric, 50, bytes([part])) for part in range(3))
            assert upload(metric, sent).reports == 150
            assert same(again.tally(metric), Tally.fold(metric.mechanism, sent))


def test_shards_and_days_add_up(store: Store) -> None:
    for day in range(5):
        for shard in (b"a" * 16, b"b" * 16):
            store.commit([upload(rows=rows_of(THEME, day + 1))], TODAY + timedelta(days=day), shard)
    assert store.tally(THEME).total == 2 * (1 + 2 + 3 + 4 + 5)
    middle = store.tally(THEME, TODAY + timedelta(days=1), TODAY + timedelta(days=3))
    assert middle.total == 2 * (2 + 3 + 4)
    assert store.tally(THEME, until=TODAY).total == 2
    assert store.tally(THEME, since=TODAY + timedelta(days=5)).total == 0
    days = [(TODAY + timedelta(days=day), 2 * (day + 1)) for day in range(5)]
    assert store.reports_by_day(THEME) == dict(days)
    assert store.days.by_version() == {THEME.version: (days[0][0], days[4][0])}
    history = store.history(THEME)
    assert history.slice(days[1][0], days[2][0]).reports == tuple(days[1:3])
    assert history.slice(days[3][0], None).reports == tuple(days[3:])
    assert history.slice(None, days[0][0]).reports == tuple(days[:1])
    assert history.slice(None, None).days == (days[0][0], days[4][0])
    assert history.slice(None, TODAY + timedelta(days=9)).days == (days[0][0], TODAY + timedelta(days=9))
    assert history.slice(ago(9), days[2][0]).days == (ago(9), days[2][0])
    assert store.reports_by_day(MOBILE) == {}


@pytest.mark.parametrize("races", [4, 5])
def test_commit_that_another_process_overtakes_is_tried_five_times(
    store: Store, monkeypatch: pytest.MonkeyPatch, races: int
) -> None:
    overtaken = [RacedError("another was first")] * races

    def raced(*arguments: Any) -> Any:
        if overtaken:
            raise overtaken.pop()
        return count(*arguments)

    monkeypatch.setattr("dither_server.store.store.count", raced)
    if races == 5:
        with pytest.raises(RacedError):
            store.commit([upload()], TODAY, SHARD)
    else:
        assert store.commit([upload()], TODAY, SHARD) == [COUNTED]


def test_commit_on_a_full_disk_fails_and_succeeds_when_there_is_room(store: Store, tmp_path: Path) -> None:
    store.commit([upload()], TODAY, SHARD)
    wide = parse_metrics('[metrics.wide]\ntype = "string"\nepsilon = 2.0\n')["wide"]
    store.register([wide])
    big = upload(wide, rows_of(wide, 2000))
    with full_disk(url_of(tmp_path)), pytest.raises(StoreError, match=r"^database: database or disk is full$"):
        store.commit([big], TODAY, SHARD)
    assert store.tally(wide).total == 0
    assert store.commit([big], TODAY, SHARD) == [COUNTED]
    assert store.tally(wide).total == 2000


def test_commit_on_a_locked_database_fails_and_succeeds_later(store: Store, tmp_path: Path) -> None:
    first = upload()
    with closing(sqlite3.connect(tmp_path / "dither.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            store.commit([first], TODAY, SHARD)
        assert store.tally(THEME).total == 0  # readers go on
    assert store.commit([first], TODAY, SHARD) == [COUNTED]
    assert store.tally(THEME).total == 3


def test_database_keeps_no_time_finer_than_a_day(store: Store, tmp_path: Path) -> None:
    store.commit([upload()], TODAY, SHARD)
    days = "SELECT day FROM batches UNION SELECT day FROM batch_days UNION SELECT day FROM tallies"
    assert execute(url_of(tmp_path), days) == [("2026-11-20",)]


def test_versions_of_a_metric_are_counted_separately(store: Store) -> None:
    newer = parse_metrics(
        '[metrics.theme]\ntype = "choice"\nmechanism = "randomized-response"\nvalues = ["dark", "b"]\nepsilon = 2.0\n'
    )["theme"]
    store.register([newer])
    store.commit([upload(), upload(newer, rows_of(newer, 5))], TODAY, SHARD)
    assert store.definitions.versions("theme") == sorted([THEME.version, newer.version])
    assert [store.definitions.read("theme", metric.version) for metric in (newer, THEME)] == [newer, THEME]
    assert (store.tally(THEME).total, store.tally(newer).total) == (3, 5)
    assert store.definitions.versions("nothing") == []
    assert store.definitions.read("mobile", THEME.version) is None


def test_registering_a_version_again_updates_its_labels(store: Store) -> None:
    text = '[metrics.version]\ntype = "string"\nepsilon = 2.0\nbits = 20\ncohorts = 3\ncandidates = ["3.0"]\n'
    metric = parse_metrics(text)["version"]
    assert (metric.version, metric.labels) == (VERSION.version, ("3.0",))
    store.register([metric])
    assert store.definitions.read("version", VERSION.version) == metric


def test_id_counts_once_whatever_comes_under_it_later(store: Store) -> None:
    store.register([LAYOUT])
    first = upload()
    other_rows = upload(rows=first.rows + first.rows, name=first.batch)
    other_metric = upload(MOBILE, rows=first.rows, name=first.batch)
    other_stratum = upload(LAYOUT, first.rows, first.batch, stratum=1)
    assert store.commit([first, other_rows, first, other_metric, other_stratum], TODAY, SHARD) == [COUNTED] * 5
    assert store.commit([other_rows, other_stratum], TODAY + timedelta(days=1), b"t" * 16) == [COUNTED] * 2
    assert same(store.tally(THEME), Tally.fold(THEME.mechanism, first.rows))
    assert (store.tally(LAYOUT).total, store.tally(MOBILE).total) == (0, 0)


def test_rows_are_counted_in_the_stratum_of_their_batch_and_stay_there_when_the_day_is_closed(store: Store) -> None:
    store.register([LAYOUT])
    parts = {place: rows_of(LAYOUT, 10 + place, bytes([place]), "tabs") for place in (0, 1, 5)}
    for day, places in ((ago(1), (0, 1)), (TODAY, (0, 1, 5))):
        for _ in range(2):
            fresh = [upload(LAYOUT, parts[place], stratum=place) for place in (*places, *places)]
            assert store.commit(fresh, day, SHARD) == [COUNTED] * len(fresh)
    for closed in ([], [ago(1)], [TODAY]):
        for day in closed:
            store.days.close(LAYOUT, day)
        for place, times in ((0, 8), (1, 8), (5, 4)):
            assert same(store.tally(LAYOUT, places=(place,)), Tally.fold(LAYOUT.mechanism, parts[place] * times))
        both = Tally.fold(LAYOUT.mechanism, parts[1] * 8 + parts[5] * 4)
        assert same(store.tally(LAYOUT, places=(1, 5)), both)
        assert same(store.tally(LAYOUT), both + Tally.fold(LAYOUT.mechanism, parts[0] * 8))
        assert same(store.tally(LAYOUT, TODAY, TODAY, (1,)), Tally.fold(LAYOUT.mechanism, parts[1] * 4))
        assert store.tally(LAYOUT, places=(2,)).total == store.tally(LAYOUT, places=()).total == 0
        assert store.history(LAYOUT).strata() == {0: 80, 1: 88, 5: 60}
        assert store.history(LAYOUT, TODAY, TODAY).strata() == {0: 40, 1: 44, 5: 60}
        assert store.history(LAYOUT).slice(None, None, (2, 5)).days == (TODAY, TODAY)
        assert store.history(LAYOUT).slice(None, None, (2,)).days == (None, None)
        assert store.reports_by_day(LAYOUT, (1, 5)) == {ago(1): 44, TODAY: 104}


def test_last_day_with_reports_is_found_for_a_single_version(tmp_path: Path) -> None:
    with closing(Store(url_of(tmp_path))) as store:
        store.register([THEME])
        store.commit([upload()], ago(1), SHARD)
        assert (store.days.last_before(TODAY), store.days.last_before(ago(1))) == (ago(1), None)


def test_upload_that_names_no_stratum_is_in_the_only_one(store: Store) -> None:
    store.commit([Upload(bytes(16), THEME, rows_of(THEME, 3))], TODAY, SHARD)
    assert store.history(THEME).strata() == {0: 3}


def test_disabled_version_is_refused_from_the_next_commit_on(store: Store, tmp_path: Path) -> None:
    before, after, other = upload(), upload(), upload(MOBILE, b"\x00")
    assert store.commit([before], TODAY, SHARD) == [COUNTED]
    with closing(Store(url_of(tmp_path), create=False)) as operator:
        assert operator.definitions.disable("theme", None, TODAY) == [THEME.version]
        assert operator.definitions.disable("theme", THEME.version, TODAY) == []
        assert operator.definitions.disabled() == {THEME.version: TODAY}
    assert store.commit([before, after, other], TODAY, SHARD) == [COUNTED, DISABLED, COUNTED]
    assert (store.tally(THEME).total, store.tally(MOBILE).total) == (3, 1)
    store.register(METRICS.values())  # a restart enables nothing
    assert store.definitions.enable("theme", None) == [THEME.version]
    assert store.definitions.enable("theme", None) == []
    assert store.commit([after], TODAY, SHARD) == [COUNTED]
    assert store.definitions.disable("nothing", None, TODAY) == []
    assert store.definitions.disable("theme", MOBILE.version, TODAY) == []


def test_many_cohorts_take_little_more_room_than_their_reports(store: Store, tmp_path: Path) -> None:
    """Each report of a cohort of its own touches a block of its own; wide blocks took 54 bytes for one of reports."""
    text = '[metrics.many]\ntype = "string"\nepsilon = 2.0\nbits = 128\ncohorts = 65536\n'
    many = parse_metrics(text)["many"]
    random = np.random.default_rng(0)
    rows = random.integers(0, 256, (2_000, many.mechanism.row_bytes), dtype=np.uint8).tobytes()
    store.register([many])
    store.commit([upload(many, rows)], TODAY, SHARD)
    ((kept,),) = execute(url_of(tmp_path), "SELECT sum(length(counts)) FROM tallies")
    assert kept < 1.5 * len(rows)
    assert same(store.tally(many), Tally.fold(many.mechanism, rows))


def test_condition_of_sqlite_counts_file_and_log_and_names_its_version(store: Store, tmp_path: Path) -> None:
    store.commit([upload(THEME, rows_of(THEME, 50))], TODAY, SHARD)
    found = store.condition()
    wal = (tmp_path / "dither.db-wal").stat().st_size
    assert wal > 0
    assert found.engine == f"sqlite {sqlite3.sqlite_version}"
    assert (found.size, found.wal) == ((tmp_path / "dither.db").stat().st_size + wal, wal)
    assert (found.ids, found.disk is None) == (1, False)


def test_store_waits_five_seconds_for_another_writer(tmp_path: Path) -> None:
    waits: set[object] = set()

    def note(connection: sqlalchemy.Connection, *_: object) -> None:
        driver = cast("sqlite3.Connection", connection.connection.driver_connection)
        waits.update(driver.execute("PRAGMA busy_timeout").fetchone())

    for read_only in (False, True):
        with closing(Store(url_of(tmp_path), read_only=read_only)) as store, listening("before_cursor_execute", note):
            assert store.condition().engine.startswith("sqlite 3")  # even if there is no log
    assert waits == {5000}


def test_every_writing_transaction_begins_immediate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that read and then write SQLite lets one fail at once, however long it may wait."""
    begun: list[list[str]] = []

    def note(_c: object, _k: object, statement: str, *_: object) -> None:
        if statement.startswith("BEGIN"):
            begun.append([])
        begun[-1].append(statement)

    races: list[RacedError] = []

    def raced(*arguments: Any) -> None:
        if races:
            raise races.pop()
        register(*arguments)

    monkeypatch.setattr("dither_server.store.store.register", raced)
    with closing(Store(url_of(tmp_path))) as store, listening("before_cursor_execute", note):
        token, fresh = (StoredToken(digest, "read", digest.hex(), TODAY) for digest in (b"1" * 32, b"2" * 32))
        store.register([THEME])
        races.append(RacedError("another was first"))
        store.register(METRICS.values())
        store.commit([upload()], TODAY, SHARD)
        store.definitions.disable("theme", None, TODAY)
        store.definitions.enable("theme", None)
        store.days.close(THEME, TODAY)
        store.days.purge(THEME.version, TODAY)
        store.add_refusals({Refusal("theme", TODAY, "malformed", ""): 1}, SHARD)
        store.refusals.purge("theme")
        store.tokens.add(token)
        store.tokens.note_uses([token.digest], TODAY)
        store.tokens.rotate(token.digest, fresh, TODAY)
        assert [store.tokens.delete(fresh.digest) for _ in range(2)] == [True, False]
        for day in range(LEAST + 1):
            store.note_day(TODAY + timedelta(days=day))
        assert store.forget(TODAY + timedelta(days=1))
        row = dict.fromkeys(("frequency", "noise_error", "standard_error", "low", "high"), 0.0) | {"value": "dark"}
        store.estimates.write(THEME.version, TODAY, (3, b"labels"), "shares", [row])
    reads = ("BEGIN", "SELECT", "WITH")
    written = [steps[0] for steps in begun if not all(step.startswith(reads) for step in steps)]
    assert (len(written) >= 12, set(written)) == (True, {"BEGIN IMMEDIATE"})


OTHER = b"o" * 16
YESTERDAY = ago(1)


def test_sealed_reports_are_added_up_by_day_and_stratum(store: Store) -> None:
    store.register(STRATA.values())
    for day, shard, sent in (
        (YESTERDAY, SHARD, sealed_upload(total=900, refused=2)),
        (TODAY, SHARD, sealed_upload(total=800, refused=1)),
        (TODAY, SHARD, sealed_upload(total=850)),
        (TODAY, OTHER, sealed_upload(total=700)),
        (TODAY, OTHER, sealed_upload(MOBILE, total=5, rows=rows_of(MOBILE, 9))),
        (TODAY, OTHER, sealed_upload(LAYOUT, total=6, stratum=1)),
        (TODAY, OTHER, sealed_upload(LAYOUT, total=4, stratum=3)),
    ):
        assert store.commit([sent, upload()], day, shard) == [COUNTED, COUNTED]
    assert store.sealed(THEME) == Sealed(4, 12, 700, 3)
    assert store.sealed(THEME, until=YESTERDAY) == Sealed(1, 3, 900, 2)
    assert store.sealed(THEME, since=TODAY) == Sealed(3, 9, 700, 1)
    assert store.sealed(THEME, since=date(2027, 1, 1)) is None
    assert store.sealed(MOBILE) == Sealed(1, 9, 5, 0)
    assert store.sealed(LAYOUT) == Sealed(2, 6, 4, 0)
    assert (store.sealed(LAYOUT, places=(1,)), store.sealed(LAYOUT, places=(0,))) == (Sealed(1, 3, 6, 0), None)


def test_sealed_batches_of_one_commit_are_added_up(store: Store) -> None:
    sent = [sealed_upload(total=total, refused=1) for total in (30, 20, 40)]
    assert store.commit([*sent, sent[1]], TODAY, SHARD) == [COUNTED] * 4
    assert store.sealed(THEME) == Sealed(3, 9, 20, 3)


def test_each_row_counts_once_in_whichever_batch_it_comes(store: Store) -> None:
    """A relay can post one row with any others, and as many times as it likes."""
    first, other, more = (
        sealed_upload(total=total, refused=refused) for total, refused in ((500, 0), (40, 0), (30, 2))
    )
    assert store.commit([first], TODAY, SHARD) == [COUNTED]
    mixed, both = joined(more, first), joined(other, first)
    assert store.commit([mixed, both, mixed], TODAY, OTHER) == [COUNTED] * 3
    assert store.commit([both, joined(both, mixed)], YESTERDAY, SHARD) == [COUNTED] * 2
    assert same(store.tally(THEME), Tally.fold(THEME.mechanism, first.rows + other.rows + more.rows))
    assert store.sealed(THEME) == Sealed(3, 9, 30, 2 + 6)  # rows that were counted before hide nobody


def joined(*uploads: Upload) -> Upload:
    """One upload of the rows of several; it has the total of the first."""
    sealings = [sent.sealing for sent in uploads if sent.sealing is not None]
    ids = tuple(name for sent in sealings for name in sent.ids)
    return replace(uploads[0], rows=b"".join(sent.rows for sent in uploads), sealing=sealings[0]._replace(ids=ids))


def test_sealed_batch_that_no_longer_opens_is_known_by_one_of_its_rows(store: Store) -> None:
    first, never = sealed_upload(refused=1), sealed_upload(rows=b"")
    assert first.sealing is not None
    strange = tuple(bytes([number]) * 16 for number in range(9))
    none, lost = (
        replace(first, rows=b"", sealing=Sealing(ids, 500, 9)) for ids in ((*strange, *first.sealing.ids), strange)
    )
    assert store.commit([none], TODAY, SHARD) == [EMPTY]
    assert store.commit([none, first, none, lost, never], TODAY, SHARD) == [COUNTED, COUNTED, COUNTED, EMPTY, EMPTY]
    assert store.commit([none, lost], TODAY, OTHER) == [COUNTED, EMPTY]
    store.definitions.disable("theme", None, TODAY)
    assert store.commit([none, first, lost, sealed_upload()], TODAY, SHARD) == [COUNTED, COUNTED, DISABLED, DISABLED]
    assert store.commit([joined(first, sealed_upload())], TODAY, SHARD) == [DISABLED]  # some of it was never counted
    assert (store.sealed(THEME), store.tally(THEME).total) == (Sealed(1, 3, 500, 1), 3)


def test_batch_under_the_id_of_a_sealed_row_keeps_neither_from_counting(store: Store) -> None:
    first, other = sealed_upload(), sealed_upload()
    assert first.sealing is not None
    assert other.sealing is not None
    assert store.commit([first, upload(name=first.sealing.ids[0])], TODAY, SHARD) == [COUNTED, COUNTED]
    assert store.commit([upload(name=other.sealing.ids[0]), other], TODAY, SHARD) == [COUNTED, COUNTED]
    assert (store.tally(THEME).total, store.sealed(THEME)) == (4 * 3, Sealed(2, 6, 500, 0))


def test_sealed_counts_are_purged_with_their_day(store: Store) -> None:
    for day in (YESTERDAY, TODAY):
        store.commit([sealed_upload()], day, SHARD)
    for removal in removals(store, "theme", None, TODAY):
        assert removal.days == (YESTERDAY,)
        assert removal.rows == 3  # two blocks of tallies, and what came sealed
        removal.carry_out(store)
    assert store.sealed(THEME) == Sealed(1, 3, 500, 0)
