"""The same store on a real PostgreSQL server."""

import random
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import psycopg
import pytest
from flask import Flask
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from dither_server.cli.examination.database import in_database
from dither_server.cli.examination.findings import Level
from dither_server.reading.exports import refresh
from dither_server.store import Refusal, Sealed, Sealing, Store, StoreError, Upload, UploadOutcome
from dither_server.tally.tally import Tally
from dither_shared import BooleanQuestion, LocalHashing, Metric
from server.collecting import (
    COUNTED,
    DISABLED,
    EMPTY,
    METRICS,
    SHARD,
    THEME,
    TODAY,
    VERSION,
    ago,
    at_once,
    batch,
    rows_of,
    same,
    sealed_upload,
    upload,
)
from server.ingest.posting import post
from server.reading.test_materialize import SELECT, expected, recipes
from server.tally.test_tally import random_rows
from server.test_prometheus import samples


def test_collectors_that_start_together_all_register(postgresql_url: str) -> None:
    class Raced(list[Metric]):
        def __iter__(self) -> Iterator[Metric]:
            with closing(Store(postgresql_url)) as other:
                other.register(list(METRICS.values()))
            return super().__iter__()

    with closing(Store(postgresql_url)) as store:
        store.register(Raced(METRICS.values()))
        assert store.definitions.registered() == sorted((metric.name, metric.version) for metric in METRICS.values())


def test_postgresql_counts_once_and_keeps_days_and_refusals(pg: Store) -> None:
    first, rows = upload(), rows_of(VERSION, 200)
    other = upload(rows=first.rows * 2, name=first.batch)
    assert pg.commit([first, other, first, upload(VERSION, rows)], TODAY, SHARD) == [COUNTED] * 4
    assert pg.commit([first], ago(1), b"t" * 16) == [COUNTED]
    assert pg.tally(THEME).total == 3
    assert same(pg.tally(VERSION), Tally.fold(VERSION.mechanism, rows))
    assert list(pg.reports_by_day(VERSION)) == [TODAY]
    assert pg.definitions.versions("theme") == [THEME.version]
    assert pg.doubts() == []
    for _ in range(2):
        pg.add_refusals({Refusal("theme", TODAY, "malformed", THEME.version): 3}, SHARD)
    assert pg.refusals.read() == {Refusal("theme", TODAY, "malformed", THEME.version): 6}
    assert pg.definitions.disable("theme", None, TODAY) == [THEME.version]
    assert pg.commit([upload()], TODAY, SHARD) == [DISABLED]
    assert pg.definitions.enable("theme", THEME.version) == [THEME.version]


def test_postgresql_counts_sealed_rows_once(pg: Store) -> None:
    first, other = sealed_upload(total=700, refused=2), sealed_upload(total=600)
    unopened = replace(first, rows=b"")
    assert pg.commit([unopened], TODAY, SHARD) == [EMPTY]
    assert pg.commit([first, unopened, other], TODAY, SHARD) == [COUNTED] * 3
    assert pg.commit([first, sealed_upload(total=800)], TODAY, b"t" * 16) == [COUNTED] * 2
    assert (pg.sealed(THEME), pg.tally(THEME).total) == (Sealed(3, 9, 600, 2), 9)
    assert pg.days.purge(THEME.version, TODAY) > 0
    assert pg.sealed(THEME) is None


def test_doctor_reads_postgresql_and_cannot_write(pg: Store, postgresql_url: str) -> None:
    pg.commit([upload()], TODAY, SHARD)
    with closing(Store(postgresql_url, create=False, read_only=True)) as store:
        database, clock = in_database(store, thorough=True)
        assert re.match(r"postgresql [0-9.]+, schema [0-9]{4}, .* MB, about 1 batch id", database.text), database
        assert (clock.level, "the database's clock agrees" in clock.text) == (Level.OK, True)
        assert store.doubts() == []
        with pytest.raises(StoreError, match="read-only transaction"):
            store.commit([upload()], TODAY, SHARD)
    assert pg.tally(THEME).total == 3


def test_collectors_start_at_the_same_time_on_an_empty_database(postgresql_url: str) -> None:
    started: list[str] = []

    def start(_: int) -> None:
        with closing(Store(postgresql_url)) as store:
            started.append(store.identity())

    at_once(start, *range(4))
    assert (len(started), len(set(started))) == (4, 1)


def test_concurrent_collectors_count_each_batch_and_each_sealed_row_once(pg: Store, postgresql_url: str) -> None:
    """Four processes get the same batches and bodies that share rows, in different orders and groups."""
    plain = [upload(rows=rows_of(THEME, 2, bytes([200 + number]))) for number in range(40)]
    rows = {bytes([number]) * 16: rows_of(THEME, 1, bytes([number])) for number in range(120)}
    outcomes: list[UploadOutcome] = []
    troubles: list[str] = []

    def body(chance: random.Random) -> Upload:
        ids = chance.sample(sorted(rows), 30)
        return Upload(chance.randbytes(16), THEME, b"".join(map(rows.__getitem__, ids)), 0, Sealing(tuple(ids), 30, 0))

    def write(turn: int) -> None:
        chance = random.Random(turn)
        sent = [*(body(chance) for _ in range(25)), *plain]
        chance.shuffle(sent)
        with closing(Store(postgresql_url)) as store:
            while sent:
                size = chance.randint(1, 8)
                try:
                    outcomes.extend(store.commit(sent[:size], TODAY, bytes([turn]) * 16))
                    del sent[:size]
                except StoreError as error:  # it lost the race too often; a device or relay would retry
                    troubles.append(str(error))

    at_once(write, *range(4))
    assert outcomes == [COUNTED] * 4 * 65
    whole = Tally.fold(THEME.mechanism, b"".join([*rows.values(), *(sent.rows for sent in plain)]))
    assert same(pg.tally(THEME), whole)
    sealed = pg.sealed(THEME)
    assert sealed is not None
    assert sealed.reports == 120
    assert not any("deadlock" in trouble for trouble in troubles)


def test_lost_connection_is_replaced_at_the_next_commit(pg: Store, postgresql_url: str) -> None:
    pg.commit([upload()], TODAY, SHARD)
    with psycopg.connect(postgresql_url, autocommit=True) as connection:
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = "
        connection.execute(cut.encode() + b"current_database()")
    assert pg.commit([upload()], TODAY, SHARD) == [COUNTED]
    assert pg.tally(THEME).total == 6


def test_a_connection_that_fails_in_any_way_when_tried_out_is_replaced(
    pg: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut off just then, psycopg says that it cannot change autocommit."""
    pg.commit([upload()], TODAY, SHARD)
    tried: list[object] = []

    def fail(_: PGDialect_psycopg, connection: object) -> bool:
        tried.append(connection)
        raise psycopg.ProgrammingError("can't change 'autocommit' now: connection in transaction status ACTIVE")

    monkeypatch.setattr(PGDialect_psycopg, "do_ping", fail)
    assert pg.commit([upload()], TODAY, SHARD) == [COUNTED]
    assert tried


def test_a_commit_of_more_blocks_than_a_statement_takes(pg: Store) -> None:
    metric = Metric("wide", BooleanQuestion(), LocalHashing.calibrate(100_000, 3.0))
    rows = random_rows(metric.mechanism, 1, 6_000)
    pg.register([metric])
    for part in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
        assert pg.commit([upload(metric, part)], TODAY, SHARD) == [COUNTED]
    assert same(pg.tally(metric), Tally.fold(metric.mechanism, rows))


def test_another_program_reads_daily_estimates(pg: Store, postgresql_url: str) -> None:
    """It may see nothing but the view."""
    pg.commit([upload(THEME, rows_of(THEME, 300))], TODAY, SHARD)
    assert list(refresh(pg, THEME)) == [TODAY]
    assert list(refresh(pg, THEME)) == []
    with psycopg.connect(postgresql_url, autocommit=True) as owner:
        owner.execute("DROP ROLE IF EXISTS dither_reader")
        owner.execute("CREATE ROLE dither_reader LOGIN")
        owner.execute("GRANT SELECT ON daily_estimates TO dither_reader")
    with psycopg.connect(postgresql_url.replace("dither@", "dither_reader@")) as reader:
        rows = reader.execute(SELECT.encode()).fetchall()
        grafana = recipes()[1].replace("$__timeFilter(day)", "day BETWEEN '2026-11-01' AND '2026-11-30'")
        drawn = reader.execute(grafana.encode()).fetchall()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute("SELECT * FROM tallies")
    assert {(time.date(), value) for time, value, _ in drawn} == {(TODAY, value) for value in THEME.labels}
    assert [row[0] for row in rows] == [TODAY] * 4
    assert sorted(row[1:] for row in rows) == [pytest.approx(row) for row in sorted(expected(pg, TODAY))]


def test_collector_on_postgresql_answers_its_routes(postgresql_url: str, make_app: Callable[..., Flask]) -> None:
    client = make_app(db=postgresql_url).test_client()
    for _ in range(2):
        assert post(client, batch(name="ab" * 16).encode()).status_code == 202
    assert client.get("/v1/metrics/theme/estimate").json["reports"] == 3  # type: ignore[index]
    assert client.get("/readyz").status_code == 200
    sealed = samples(client.get("/metrics").text)
    assert (sealed["dither_database_up"], sealed["dither_batch_ids"]) == (1, 1)
    assert sealed["dither_database_bytes"] > 1_000_000
    assert any('database="postgresql ' in name for name in sealed)
    assert not any(name.startswith("dither_disk") for name in sealed)  # its disk is that of another machine
