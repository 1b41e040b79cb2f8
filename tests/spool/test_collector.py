"""A collector that appends to a spool, from its socket to the segments: each acknowledged batch is in one of them."""

import re
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of, create_app
from dither_server.store import Store
from dither_shared import Batch
from dither_shared.metrics.period import utc_today
from dither_spool.layout import SpoolLayout, claim
from relay.relaying import ask
from server.cli.invoking import error_of, invoke
from server.collecting import METRICS, METRICS_TOML, MOBILE, THEME, batch, by_kind, config, problem, rows_of, running
from server.ingest.posting import post as post_to
from server.postgresql import WHY_NOT, Own, fresh, own
from server.test_process import PATIENCE, tally
from spool.spooling import Row, ids_in, in_place
from torture.devices import post


@pytest.fixture
def layout(tmp_path: Path) -> SpoolLayout:
    return SpoolLayout.at(str(tmp_path / "spool"))


@pytest.fixture
def spooling(tmp_path: Path) -> Iterator[Flask]:
    app = create_app(config(tmp_path, spool=str(tmp_path / "spool"), spool_bytes=10_000))
    yield app
    collector_of(app).close()


@pytest.fixture
def door(spooling: Flask) -> FlaskClient:
    return spooling.test_client()


def content_of(one: Batch) -> tuple[bytes, bytes, bytes]:
    return bytes.fromhex(one.batch), bytes.fromhex(one.version), one.reports


def contents(found: Sequence[Row]) -> set[tuple[bytes, bytes, bytes]]:
    return {(identifier, version, rows) for identifier, version, _, _, rows in found}


def test_batches_are_appended_and_not_counted(
    door: FlaskClient, spooling: Flask, tmp_path: Path, layout: SpoolLayout
) -> None:
    batches = [batch() for _ in range(5)]
    for sent_batch in [*batches, batches[0]]:
        response = post_to(door, sent_batch.encode())
        assert (response.status_code, response.json) == (202, {"accepted": 3})
    other = batch(rows=rows_of(THEME, 9), name=batches[0].batch)
    assert post_to(door, other.encode()).status_code == 202  # a fold will say that this is a conflict
    assert problem(post_to(door, b"no batch")) == (400, "malformed")
    collector_of(spooling).close()
    stored = in_place(layout.blobs)
    assert contents(list(stored)) == {content_of(sent_batch) for sent_batch in [*batches, other]}
    assert tally(tmp_path, THEME).total == 0
    assert by_kind(collector_of(spooling).store, "") == {"malformed": 1}


def test_metrics_and_readyz_show_the_state_of_the_spool(
    door: FlaskClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert post_to(door, batch().encode()).status_code == 202
    assert door.get("/readyz").json == {"status": "ready"}
    told_of = dict(re.findall(r"^dither_spool_(\w+) (\S+)$", door.get("/metrics").text, re.MULTILINE))
    assert float(told_of.pop("free_bytes")) > 0
    assert float(told_of.pop("open_bytes")) > 29
    assert told_of == {"up": "1.0", "segments": "0.0", "damaged_files": "0.0"}

    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.pwrite", fail)
        response = post_to(door, batch().encode())
        assert problem(response) == (503, "unavailable")
        assert "the spool cannot be written now, or is full; send the same batch again later" in response.text
        assert int(response.headers["Retry-After"]) > 0
        assert problem(ready := door.get("/readyz")) == (503, "unavailable")
        assert "the spool cannot be written now, or is full" in ready.text
    assert post_to(door, batch().encode()).status_code == 202
    assert door.get("/readyz").status_code == 200


def test_collector_without_a_spool_exports_no_spool_metrics(tmp_path: Path) -> None:
    app = create_app(config(tmp_path))
    assert "dither_spool" not in app.test_client().get("/metrics").text
    collector_of(app).close()


def test_doctor_shows_the_backlog_and_the_free_space_of_the_spool(
    tmp_path: Path, layout: SpoolLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown() -> str:
        return invoke(tmp_path, "doctor", "--before-start", "--spool", str(tmp_path / "spool")).stdout

    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    assert f"warning  configuration: spool: {tmp_path}/spool is not a spool: a collector creates it" in shown()
    assert not (tmp_path / "spool").exists()
    claim(layout.blobs, "f" * 32)
    assert "spool: 0 segments wait for dither-server fold, 0 bytes open; below 2,000 requests" in shown()
    layout.make()
    (layout.journals / "a.damaged").write_text("")
    layout.blobs.put("segments", "f" * 32 + ".segment", b"")
    layout.blobs.put("segments", "notes.txt", b"not ours")
    monkeypatch.setenv("DITHER_SPOOL_BYTES", str(1 << 60))
    found = shown()
    assert "problem  configuration: spool: nearly full" in found
    assert "warning  configuration: spool: 1 damaged file, or notice of one, in " in found
    assert "ok       configuration: spool: 1 segment waits for dither-server fold" in found
    assert "spool_bytes:" not in found
    monkeypatch.setenv("DITHER_SPOOL_BYTES", "999999")
    assert "warning  configuration: spool_bytes: 999,999 make many files" in shown()
    shutil.rmtree(tmp_path / "spool" / "segments")
    (tmp_path / "spool" / "segments").write_text("")
    assert "problem  configuration: spool: " in shown()


@pytest.mark.usefixtures("one_day")
def test_doctor_warns_if_collectors_spool_and_count_at_once(tmp_path: Path) -> None:
    """One collector spools for a fold, and another counts at once."""
    spool, known = str(tmp_path / "spool"), "were counted both directly and from a spool"
    with running(tmp_path, "--spool", spool) as (first, _), running(tmp_path) as (second, _):
        assert all(post(url, batch().encode()) for url in (first, second))
        assert known not in invoke(tmp_path, "doctor", "--before-start").stdout
    assert invoke(tmp_path, "fold", "--spool", spool).exit_code == 0
    shown = invoke(tmp_path, "doctor", "--spool", spool).stdout
    assert f"warning  configuration: reports of {utc_today()} {known}" in shown
    assert re.search(r"fold: the last began .*\n(.*\n)*.*spool: every journal belongs to a running process", shown)


def test_collector_refuses_the_spool_of_another_database(tmp_path: Path, layout: SpoolLayout, store: Store) -> None:
    """A starting collector claims the spool, also one of an earlier version; one on another database does not start."""
    layout.make()
    spool = ("--spool", str(layout.blobs))
    with running(tmp_path, *spool), running(tmp_path, *spool) as (url, _):
        assert url.startswith("http://")
    assert "belongs to" not in invoke(tmp_path, "doctor", "--before-start", *spool).stdout
    other = f"sqlite:///{tmp_path}/other.db"
    line = error_of(invoke(tmp_path, "run", "--port", "0", *spool, "--db", other))
    with closing(Store(other)) as stranger:
        both = f"belongs to the database {store.identity()}, and db is {stranger.identity()}; name the database"
        assert stranger.definitions.registered() == []
    assert both in line
    checked = invoke(tmp_path, "doctor", "--before-start", *spool, "--db", other)
    assert f"problem  configuration: spool: {layout.blobs} {both}" in checked.stdout
    assert checked.exit_code == 2


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("--spool nosuch://x", "--spool: nosuch:// cannot be used"),
        ("--spool ftp://x", "--spool: ftp://x is not on this machine; set spool_open"),
        ("--spool Memory://x --spool-open o", "--spool: memory:// is in the memory of one"),
        ("--spool s --spool-open ~/s", "--spool-open: ~/s: ~ is not expanded here"),
        ("--spool-open here", "--spool-open: has no effect without spool"),
        ("--spool s --spool-seconds 0", "--spool-seconds: 0.0 is not positive"),
        ("--spool s --spool-bytes -1", "--spool-bytes: -1 is not positive"),
    ],
)
def test_impossible_spool_settings_are_refused_in_one_line(tmp_path: Path, options: str, why: str) -> None:
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    assert why in error_of(invoke(tmp_path, "run", *options.split()))


@pytest.fixture
def postgresql() -> Iterator[Own]:
    with own() as found:
        if found is None:
            pytest.skip(WHY_NOT)
        yield found


def status(url: str, body: bytes) -> int:
    response = post(url, body)
    assert response is not None
    return response.status


def got(url: str, path: str) -> tuple[int, str]:
    status, body = ask(url, "GET", path)
    return status, body.decode()


def test_collector_takes_reports_while_postgresql_is_gone(tmp_path: Path, postgresql: Own, layout: SpoolLayout) -> None:
    """Enabled metrics are taken, disabled ones refused; the refusals are counted when the database is back."""
    database = fresh(postgresql.url)
    with closing(Store(database)) as store:
        store.register(METRICS.values())
        store.definitions.disable(MOBILE.name, None, utc_today())
    batches = [batch(THEME, rows_of(THEME, 1)) for _ in range(40)]
    disabled = batch(MOBILE, rows_of(MOBILE, 1, value=True)).encode()
    with running(tmp_path, "--spool", str(tmp_path / "spool"), "--db", database) as (url, process):
        assert status(url, batches[0].encode()) == 202
        assert status(url, disabled) == 410
        postgresql.stop()
        assert [status(url, sent_batch.encode()) for sent_batch in batches[1:20]] == [202] * 19
        assert status(url, disabled) == 410
        assert status(url, b"no batch") == 400
        assert got(url, "/readyz")[0] == 200
        assert re.search(r"^dither_database_up 0.0$", got(url, "/metrics")[1], re.MULTILINE)
        assert got(url, "/v1/metrics/theme/estimate")[0] == 503
        postgresql.start()
        assert [status(url, sent_batch.encode()) for sent_batch in batches[20:]] == [202] * 20
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    assert "Traceback" not in log
    assert log.count("the database is gone") <= 1
    assert ids_in(in_place(layout.blobs)) == {bytes.fromhex(sent_batch.batch) for sent_batch in batches}
    with closing(Store(database)) as store:
        assert by_kind(store, "") == {"malformed": 1}
        assert by_kind(store, MOBILE.name) == {"metric-disabled": 2}
