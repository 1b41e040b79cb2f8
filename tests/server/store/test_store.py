"""The database: exactly once, all or nothing, and the same after it is opened again."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext

from dither_server.store import Refusal, Store, StoredToken, StoreError
from dither_server.store import uploads as module
from dither_server.store.errors import RacedError
from dither_server.store.tables.definitions import to_json
from dither_server.store.tables.schema import HEAD, SCHEMA
from dither_server.tally.blocks import Blocks, to_blocks
from dither_server.tally.fold import fold
from dither_server.tally.tally import Tally
from dither_shared import Metric, ParameterError, parse_metrics
from server.collecting import (
    CONFLICT,
    COUNTED,
    DISABLED,
    METRICS,
    MOBILE,
    THEME,
    TODAY,
    VERSION,
    full_disk,
    rows_of,
    same,
    upload,
)

SHARD = b"s" * 16


def raw(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "dither.db")) as connection, connection:
        return connection.execute(sql).fetchall()


def test_counts_are_what_was_sent_after_reopening(store: Store, tmp_path: Path) -> None:
    for metric in (THEME, MOBILE, VERSION):
        for part in range(3):
            store.commit([upload(metric, rows_of(metric, 50, bytes([part])))], TODAY, SHARD)
    store.close()
    with closing(Store(f"sqlite:///{tmp_path}/dither.db", create=False)) as again:
        for metric in (THEME, MOBILE, VERSION):
            sent = b"".join(rows_of(metric, 50, bytes([part])) for part in range(3))
            assert same(again.tally(metric), Tally.fold(metric.mechanism, sent))


def test_a_retry_counts_nothing_and_is_still_true(store: Store) -> None:
    one = upload()
    assert store.commit([one], TODAY, SHARD) == [COUNTED]
    assert store.commit([one], TODAY + timedelta(days=1), b"t" * 16) == [COUNTED]
    assert same(store.tally(THEME), Tally.fold(THEME.mechanism, one.rows))


def test_duplicates_and_conflicts_within_one_group(store: Store) -> None:
    one = upload()
    other_rows = upload(rows=one.rows + one.rows, name=one.batch)
    other_metric = upload(MOBILE, rows=one.rows, name=one.batch)
    assert store.commit([one, other_rows, one, other_metric], TODAY, SHARD) == [COUNTED, CONFLICT, COUNTED, CONFLICT]
    assert store.tally(THEME).total == 3
    assert store.tally(MOBILE).total == 0


def test_a_conflict_is_still_one_a_day_later(store: Store) -> None:
    one = upload()
    store.commit([one], TODAY, SHARD)
    assert store.commit([upload(rows=one.rows * 2, name=one.batch)], TODAY + timedelta(days=1), SHARD) == [CONFLICT]
    assert store.tally(THEME).total == 3


def test_a_failure_between_ids_and_counts_leaves_neither(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    one = upload()

    def fail(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(module, "_add", fail)
        with pytest.raises(MemoryError):
            store.commit([one], TODAY, SHARD)
    assert store.tally(THEME).total == 0
    assert store.commit([one], TODAY, SHARD) == [COUNTED]
    assert store.tally(THEME).total == 3


def test_a_failure_at_the_second_metric_leaves_nothing_of_the_first(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = module._sums

    def fail_late(uploads: list[module.Upload]) -> Iterator[tuple[Metric, Blocks]]:
        yield next(sums(uploads))
        raise MemoryError

    monkeypatch.setattr(module, "_sums", fail_late)
    with pytest.raises(MemoryError):
        store.commit([upload(), upload(MOBILE)], TODAY, SHARD)
    assert raw(tmp_path, "SELECT count(*) FROM tallies") == [(0,)]
    assert raw(tmp_path, "SELECT count(*) FROM batch_journal") == [(0,)]


def test_shards_and_days_add_up(store: Store) -> None:
    for day in range(5):
        for shard in (b"a" * 16, b"b" * 16):
            store.commit([upload(rows=rows_of(THEME, day + 1))], TODAY + timedelta(days=day), shard)
    assert store.tally(THEME).total == 2 * (1 + 2 + 3 + 4 + 5)
    middle = store.tally(THEME, TODAY + timedelta(days=1), TODAY + timedelta(days=3))
    assert middle.total == 2 * (2 + 3 + 4)
    assert store.tally(THEME, until=TODAY).total == 2
    assert store.tally(THEME, since=TODAY + timedelta(days=5)).total == 0
    assert store.days(THEME) == (TODAY, TODAY + timedelta(days=4))
    assert store.days(MOBILE) is None


def test_when_another_process_takes_the_id_first_it_is_seen_and_not_counted_twice(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a database that lets two writers in, the second finds the id only when it inserts it."""
    one = upload()
    store.commit([one], TODAY, SHARD)
    known, looks = store._ids.known, []

    def blind_once(connection: sqlalchemy.Connection, batches: set[bytes]) -> dict[bytes, bytes]:
        looks.append(batches)
        if len(looks) == 1:
            raise RacedError("the id was inserted meanwhile")
        return known(connection, batches)

    monkeypatch.setattr(store._ids, "known", blind_once)
    other = upload()
    assert store.commit([one, other], TODAY, b"t" * 16) == [COUNTED, COUNTED]
    assert len(looks) == 2
    assert store.tally(THEME).total == 6


def test_a_full_disk_refuses_and_then_recovers(store: Store) -> None:
    store.commit([upload()], TODAY, SHARD)
    wide = parse_metrics('[metrics.wide]\ntype = "string"\nepsilon = 2.0\n')["wide"]
    store.register([wide])
    big = upload(wide, rows_of(wide, 2000))
    with full_disk(store), pytest.raises(StoreError, match="full"):
        store.commit([big], TODAY, SHARD)
    assert store.tally(wide).total == 0
    assert store.commit([big], TODAY, SHARD) == [COUNTED]
    assert store.tally(wide).total == 2000


def test_a_locked_database_refuses_and_then_recovers(store: Store, tmp_path: Path) -> None:
    one = upload()
    with closing(sqlite3.connect(tmp_path / "dither.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            store.commit([one], TODAY, SHARD)
        assert store.tally(THEME).total == 0  # readers go on
    assert store.commit([one], TODAY, SHARD) == [COUNTED]
    assert store.tally(THEME).total == 3


def test_a_writer_holds_its_lock_before_it_looks(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else another could write between the look and the write, and what was looked at would be stale."""
    known = store._ids.known
    with closing(Store(f"sqlite:///{tmp_path}/dither.db", lock_wait=0.01)) as other:

        def interrupted(connection: sqlalchemy.Connection, batches: set[bytes]) -> dict[bytes, bytes]:
            found = known(connection, batches)
            monkeypatch.setattr(store._ids, "known", known)
            with pytest.raises(StoreError, match="locked"):
                other.commit([upload()], TODAY, b"t" * 16)
            return found

        monkeypatch.setattr(store._ids, "known", interrupted)
        assert store.commit([upload()], TODAY, SHARD) == [COUNTED]
    assert store.tally(THEME).total == 3


def test_sqlite_is_durable(store: Store) -> None:
    with store._transaction() as connection:
        for pragma, value in (("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1)):
            assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == value


def test_nothing_finer_than_a_day_is_kept(store: Store, tmp_path: Path) -> None:
    store.commit([upload()], TODAY, SHARD)
    assert raw(tmp_path, "SELECT DISTINCT day FROM batch_journal UNION SELECT day FROM tallies") == [("2026-11-20",)]


def test_equal_rows_of_two_batches_have_unequal_digests() -> None:
    assert upload().rows == upload().rows
    assert upload().digest != upload().digest


def test_versions_live_side_by_side(store: Store) -> None:
    newer = parse_metrics(
        '[metrics.theme]\ntype = "choice"\nmechanism = "randomized-response"\nvalues = ["dark", "b"]\nepsilon = 2.0\n'
    )["theme"]
    store.register([newer])
    store.commit([upload(), upload(newer, rows_of(newer, 5))], TODAY, SHARD)
    assert store.versions("theme") == sorted([THEME.version, newer.version])
    assert (store.metric("theme", newer.version), store.metric("theme", THEME.version)) == (newer, THEME)
    assert (store.tally(THEME).total, store.tally(newer).total) == (3, 5)
    assert store.versions("nothing") == []
    assert store.metric("mobile", THEME.version) is None


def test_registering_again_takes_what_the_numbers_do_not_depend_on(store: Store) -> None:
    text = '[metrics.version]\ntype = "string"\nepsilon = 2.0\nbits = 20\ncohorts = 3\ncandidates = ["3.0"]\n'
    asked = parse_metrics(text)["version"]
    assert (asked.version, asked.labels) == (VERSION.version, ("3.0",))
    store.register([asked])
    assert store.metric("version", VERSION.version) == asked


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("nonsense", "not a database URL"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("unheard-of://host/db", "not a database URL"),
        ("sqlite:////nowhere/at/all/dither.db", "folder does not exist"),
    ],
)
def test_urls_that_cannot_be_used_are_told(url: str, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        Store(url)


def test_reading_makes_no_database(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="does not exist"):
        Store(f"sqlite:///{tmp_path}/missing.db", create=False)
    assert not (tmp_path / "missing.db").exists()
    (tmp_path / "empty.db").touch()
    with pytest.raises(ParameterError, match="no dither tables"):
        Store(f"sqlite:///{tmp_path}/empty.db", create=False)


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "dither.db").write_bytes(b"certainly not SQLite\n" * 100)
    with pytest.raises(StoreError, match="not a database"):
        Store(f"sqlite:///{tmp_path}/dither.db")


def test_many_ids_at_once(store: Store) -> None:
    """A group is looked up in one statement, however large it may be configured."""
    uploads = [upload(rows=b"\x00") for _ in range(3000)]
    assert store.commit(uploads, date(2026, 1, 1), SHARD) == [COUNTED] * 3000
    assert store.commit(uploads, date(2026, 1, 1), SHARD) == [COUNTED] * 3000
    assert store.tally(METRICS["theme"]).total == 3000


def test_the_migrations_make_what_the_schema_says(store: Store) -> None:
    with store._transaction() as connection:
        assert compare_metadata(MigrationContext.configure(connection), SCHEMA) == []
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() == HEAD


def test_a_schema_of_a_newer_program_is_told_to_everyone(store: Store, tmp_path: Path) -> None:
    with store._transaction(write=True) as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    for create in (True, False):
        with pytest.raises(ParameterError, match=f"has schema 9999 of a newer dither, this program {HEAD}; install"):
            Store(f"sqlite:///{tmp_path}/dither.db", create=create)


def test_a_schema_of_another_program_is_told_to_a_reader(store: Store, tmp_path: Path) -> None:
    with store._transaction(write=True) as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0000'")
    with pytest.raises(ParameterError, match=f"has schema 0000, this program {HEAD}"):
        Store(f"sqlite:///{tmp_path}/dither.db", create=False)


def test_what_is_disabled_counts_no_more_at_the_very_next_commit(store: Store, tmp_path: Path) -> None:
    before, after, other = upload(), upload(), upload(MOBILE, b"\x00")
    assert store.commit([before], TODAY, SHARD) == [COUNTED]
    with closing(Store(f"sqlite:///{tmp_path}/dither.db", create=False)) as operator:
        assert operator.disable("theme", None, TODAY) == [THEME.version]
        assert operator.disable("theme", THEME.version, TODAY) == []
        assert operator.disabled() == {THEME.version: TODAY}
    stolen = upload(rows=before.rows * 2, name=before.batch)
    assert store.commit([before, after, other, stolen], TODAY, SHARD) == [COUNTED, DISABLED, COUNTED, CONFLICT]
    assert (store.tally(THEME).total, store.tally(MOBILE).total) == (3, 1)
    store.register(METRICS.values())  # a restart enables nothing
    assert store.enable("theme", None) == [THEME.version]
    assert store.enable("theme", None) == []
    assert store.commit([after], TODAY, SHARD) == [COUNTED]
    assert store.disable("nothing", None, TODAY) == store.disable("theme", MOBILE.version, TODAY) == []


def test_an_old_database_is_upgraded_with_all_that_is_in_it(tmp_path: Path) -> None:
    """As one of the first collectors left it."""
    url = f"sqlite:///{tmp_path}/dither.db"
    one = upload()
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        alembic = Config()
        alembic.set_main_option("script_location", "dither_server.store:migrations")
        alembic.attributes["connection"] = connection
        command.upgrade(alembic, "0002")
        connection.commit()
    engine.dispose()
    metric = (THEME.version, "theme", to_json(THEME))
    blocks = to_blocks(THEME.mechanism, fold(THEME.mechanism, one.rows))
    with closing(sqlite3.connect(tmp_path / "dither.db")) as old, old:
        old.execute("INSERT INTO tokens VALUES (?, 'read', 'for Ann', ?)", (b"d" * 32, TODAY.isoformat()))
        old.execute("INSERT INTO metrics (version, name, definition) VALUES (?, ?, ?)", metric)
        old.execute("INSERT INTO batches VALUES (?, ?, ?)", (one.batch, one.digest, TODAY.isoformat()))
        for number, counts in zip(blocks.numbers, blocks.counts, strict=True):
            row = (THEME.version, TODAY.isoformat(), SHARD, int(number), counts.astype("<i8").tobytes())
            old.execute("INSERT INTO tallies VALUES (?, ?, ?, ?, ?)", row)
        old.execute("INSERT INTO refusals VALUES ('theme', ?, 'malformed', ?, 7)", (TODAY.isoformat(), SHARD))
    with pytest.raises(ParameterError, match="has schema 0002"):
        Store(url, create=False)
    with closing(Store(url)) as upgraded:
        assert same(upgraded.tally(THEME), Tally.fold(THEME.mechanism, one.rows))
        assert upgraded.commit([one], TODAY, SHARD) == [COUNTED]
        assert upgraded.tally(THEME).total == 3
        assert upgraded.tokens() == [StoredToken(b"d" * 32, "read", "for Ann", TODAY)]  # it does not expire
        upgraded.add_refusals({Refusal("theme", TODAY, "malformed", THEME.version): 2}, SHARD)
        assert upgraded.refusals("theme") == {"malformed": 9}


def test_many_cohorts_take_little_more_room_than_their_reports(store: Store) -> None:
    """Each report of a cohort of its own touches a block of its own; wide blocks took 54 bytes for one of reports."""
    text = '[metrics.many]\ntype = "string"\nepsilon = 2.0\nbits = 128\ncohorts = 65536\n'
    many = parse_metrics(text)["many"]
    random = np.random.default_rng(0)
    rows = random.integers(0, 256, (20_000, many.mechanism.row_bytes), dtype=np.uint8).tobytes()
    store.register([many])
    store.commit([upload(many, rows)], TODAY, SHARD)
    with store._transaction() as connection:
        kept = connection.exec_driver_sql("SELECT sum(length(counts)) FROM tallies").scalar()
    assert kept is not None
    assert kept < 1.5 * len(rows)
    assert same(store.tally(many), Tally.fold(many.mechanism, rows))
