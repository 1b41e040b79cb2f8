"""A collector that appends to a spool, from its socket to the segments: each acknowledged batch is in one of them."""

import re
import shutil
import signal
import threading
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
from server.cli.invoking import error_of, invoke
from server.collecting import METRICS_TOML, THEME, batch, by_kind, config, problem, rows_of, running
from server.ingest.posting import post as post_to
from server.test_process import PATIENCE, connect, tally
from spool.spooling import Row, ids_in, in_place
from torture.devices import post
from torture.trouble import can_fill, small_disk


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


def test_sigterm_makes_segments_of_open_journals(tmp_path: Path, layout: SpoolLayout) -> None:
    batches = [batch() for _ in range(20)]
    with running(tmp_path, "--spool", str(tmp_path / "spool")) as (url, process):
        for sent_batch in batches:
            response = post(url, sent_batch.encode())
            assert response is not None
            assert response.status == 202
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert f"reports are appended to {layout.blobs} by way of {layout.journals}; dither-server fold counts" in said
    assert contents(list(in_place(layout.blobs))) == {content_of(sent_batch) for sent_batch in batches}
    assert [path.name for path in layout.journals.iterdir()] == ["lock"]


def deliver(urls: Sequence[str], batches: Sequence[Batch], told_of: set[str], some: threading.Event) -> None:
    """Send batches to the first collector, and every third, or one without an answer, to the second, too."""
    for number, one in enumerate(batches):
        for url in (*urls, *urls):
            response = post(url, one.encode())
            if response is not None and response.status == 202:
                told_of.add(one.batch)
                if number % 3:
                    break
        if number == len(batches) // 2:
            some.set()


def test_acknowledged_batches_survive_kill_9_of_one_of_two_collectors(tmp_path: Path, layout: SpoolLayout) -> None:
    """One of two collectors at a spool is killed, and a third starts. Journals are small: some are just closed."""
    options = ("--spool", str(tmp_path / "spool"), "--spool-bytes", "1500")
    batches = [[batch(rows=rows_of(THEME, 1, b"%d %d" % (d, n))) for n in range(60)] for d in range(4)]
    told_of: set[str] = set()
    some = threading.Event()
    with running(tmp_path, *options) as (first, one), running(tmp_path, *options) as (second, other):
        ways = [(first, second), (second, first)] * 2
        devices = [
            threading.Thread(target=deliver, args=(urls, mine, told_of, some))
            for urls, mine in zip(ways, batches, strict=True)
        ]
        for device in devices:
            device.start()
        assert some.wait(PATIENCE)
        one.kill()
        with running(tmp_path, *options) as (_, third):
            for device in devices:
                device.join(10 * PATIENCE)
            for process in (other, third):
                process.terminate()
                process.communicate(timeout=PATIENCE)
    layout.close_abandoned()
    everything = {content_of(each) for mine in batches for each in mine}
    stored = in_place(layout.blobs)
    assert len(told_of) == 240
    assert {bytes.fromhex(name) for name in told_of} <= ids_in(stored)
    assert contents(list(stored)) <= everything
    assert layout.backlog()[:3] == (0, len(layout.blobs.names("segments")), 0)


@pytest.mark.skipif(can_fill() is not None, reason=can_fill() or "")
def test_full_disk_is_answered_503_and_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Batches are refused while it is full, and counted when they come again; all acknowledged ones are there."""
    with small_disk(tmp_path / "small", 2_600) as disk:
        (disk / "ballast").write_bytes(bytes(200_000))
        batches = [batch(rows=rows_of(THEME, 500)) for _ in range(8)]
        options = ("--spool", str(disk / "spool"), "--spool-bytes", "20000")
        taken: list[Batch] = []
        with running(tmp_path, *options) as (url, process):
            for _ in range(100):
                taken += batches
                statuses = [
                    None if (answer := post(url, sent_batch.encode())) is None else answer.status
                    for sent_batch in batches
                ]
                if 503 in statuses:
                    break
                batches = [batch(rows=rows_of(THEME, 500)) for _ in range(8)]
            assert set(statuses) <= {202, 503}
            connection = connect(url)
            connection.request("GET", "/readyz")
            assert connection.getresponse().status == 503
            connection.close()
            (disk / "ballast").unlink()
            for one, status in zip(batches, statuses, strict=True):
                if status == 503:
                    response = post(url, one.encode())
                    assert response is not None
                    assert response.status == 202
            process.terminate()
            process.communicate(timeout=PATIENCE)
        layout = SpoolLayout.at(str(disk / "spool"))
        layout.close_abandoned()
        assert contents(list(in_place(layout.blobs))) == {content_of(sent_batch) for sent_batch in taken}
        assert layout.backlog().damaged == 0


def test_doctor_shows_the_backlog_and_the_free_space_of_the_spool(
    tmp_path: Path, layout: SpoolLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    shown = invoke(tmp_path, "doctor", "--before-start", "--spool", str(tmp_path / "spool")).stdout
    assert f"warning  configuration: spool: {tmp_path}/spool is not a spool: a collector creates it" in shown
    assert "wait for dither-server fold" not in shown
    assert not (tmp_path / "spool").exists()
    claim(layout.blobs, "f" * 32)
    shown = invoke(tmp_path, "doctor", "--before-start", "--spool", str(tmp_path / "spool")).stdout
    assert "configuration: spool: 0 segments wait for dither-server fold, 0 bytes open; below 2,000 requests" in shown
    layout.make()
    (layout.journals / "a.damaged").write_text("")
    layout.blobs.put("segments", "f" * 32 + ".segment", b"")
    layout.blobs.put("segments", "notes.txt", b"not ours")
    monkeypatch.setenv("DITHER_SPOOL_BYTES", str(1 << 60))
    shown = invoke(tmp_path, "doctor", "--before-start", "--spool", str(tmp_path / "spool")).stdout
    assert "problem  configuration: spool: nearly full" in shown
    assert "warning  configuration: spool: 1 damaged file, or notice of one, in " in shown
    assert "ok       configuration: spool: 1 segment waits for dither-server fold" in shown
    assert "spool_bytes" not in shown
    monkeypatch.setenv("DITHER_SPOOL_BYTES", "999999")
    shown = invoke(tmp_path, "doctor", "--before-start", "--spool", str(tmp_path / "spool")).stdout
    assert "warning  configuration: spool_bytes: 999,999 make many files" in shown
    shutil.rmtree(tmp_path / "spool" / "segments")
    (tmp_path / "spool" / "segments").write_text("")
    refused = invoke(tmp_path, "doctor", "--before-start", "--spool", str(tmp_path / "spool"))
    assert refused.exit_code == 2
    assert "problem  configuration: spool: " in refused.stdout


@pytest.mark.usefixtures("one_day")
def test_doctor_warns_if_collectors_spool_and_count_at_once(tmp_path: Path) -> None:
    """One collector spools for a fold, and another counts at once."""
    spool, known = str(tmp_path / "spool"), "were counted both directly and from a spool"
    with running(tmp_path, "--spool", spool) as (first, _), running(tmp_path) as (second, _):
        assert all(post(url, batch().encode()) for url in (first, second))
        assert known not in invoke(tmp_path, "doctor", "--before-start").stdout
    assert invoke(tmp_path, "fold", "--spool", spool).exit_code == 0
    assert (
        f"warning  configuration: reports of {utc_today()} {known}"
        in invoke(tmp_path, "doctor", "--before-start").stdout
    )


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
        (("--spool", "nosuch://x"), "--spool: nosuch:// cannot be used"),
        (("--spool", "ftp://x"), "--spool: ftp://x is not on this machine; set spool_open"),
        (("--spool", "Memory://x", "--spool-open", "o"), "--spool: memory:// is in the memory of one"),
        (("--spool", "~/s"), "--spool: ~/s: ~ is not expanded here"),
        (("--spool", "s", "--spool-open", "~/s"), "--spool-open: ~/s: ~ is not expanded here"),
        (("--spool-open", "here"), "--spool-open: has no effect without spool"),
        (("--spool", "s", "--spool-seconds", "0"), "--spool-seconds: 0.0 is not positive"),
        (("--spool", "s", "--spool-bytes", "-1"), "--spool-bytes: -1 is not positive"),
    ],
)
def test_impossible_spool_settings_are_refused_in_one_line(tmp_path: Path, options: tuple[str, ...], why: str) -> None:
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    assert why in error_of(invoke(tmp_path, "run", *options))
