"""The command ``fold`` on what collectors have spooled."""

import json
import re
import signal
import subprocess
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dither_server.store import Store
from dither_shared.metrics.period import utc_today
from dither_spool.blobs import Folder
from dither_spool.command import _seconds
from dither_spool.fold import Folding, FoldStep
from dither_spool.journal import SpoolJournal
from dither_spool.layout import claim
from forkserver import run, start
from server.cli.invoking import error_of, invoke
from server.collecting import METRICS_TOML, THEME, batch, environment, rows_of, running, upload
from server.dask import cluster_of
from server.database import execute, url_of
from server.test_process import PATIENCE
from spool.spooling import ALL, HORIZON, Delivery, KilledError, assert_same, at, deliver, put, some
from torture.devices import post

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTHING = {"batches": 0, "rows": 0, "repeated": 0, "conflicts": 0, "damaged": 0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with metrics, and with a database and a spool that collectors have made."""
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    with closing(Store(url_of(tmp_path))) as store:
        store.register(ALL)
        claim(Folder(tmp_path / "spool"), store.identity())
    return tmp_path


@pytest.fixture
def spool(folder: Path) -> Folder:
    return Folder(folder / "spool")


def lines(output: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.splitlines()]


def test_spooled_reports_are_estimated_after_a_fold(tmp_path: Path) -> None:
    """Two collectors get the same batch; one is killed, and the fold takes what it left."""
    spool = tmp_path / "spool"
    both, alone = batch(THEME, rows_of(THEME, 30)).encode(), batch(THEME, rows_of(THEME, 12)).encode()
    with running(tmp_path, "--spool", str(spool)) as (one, killed), running(tmp_path, "--spool", str(spool)) as two:
        answers = [post(url, body) for url, body in ((one, both), (one, alone), (two[0], both))]
        assert [answer and answer.status for answer in answers] == [202] * 3
        killed.kill()
        killed.wait()
        two[1].send_signal(signal.SIGTERM)
        _, log = two[1].communicate(timeout=PATIENCE)
    assert f"reports are appended to {spool} by way of {spool}/open; dither-server fold counts" in log
    assert len(list((spool / "segments").iterdir())) == 1, "the journal of the collector that was asked to end"
    assert json.loads(invoke(tmp_path, "estimate", "theme", "--json").stdout)["reports"] == 0
    result = invoke(tmp_path, "fold", "--spool", str(spool), "--json")
    assert result.exit_code == 0, result.output
    (line,) = lines(result.stdout)
    assert line | {"batches": 2, "rows": 42, "repeated": 1, "segments": 2, "resumed": False} == line
    assert json.loads(invoke(tmp_path, "estimate", "theme", "--json").stdout)["reports"] == 42


def test_report_in_words_marks_a_resumed_run(folder: Path, spool: Folder) -> None:
    put(spool, [Delivery(upload(THEME, b"\x00"))])
    with closing(Store(url_of(folder))) as store, pytest.raises(KilledError):
        list(Folding(store, spool, HORIZON, after=at(FoldStep.ADDED, 1)).fold(PATIENCE))
    first, second = invoke(folder, "fold", "--spool", str(spool)).stdout.splitlines()
    assert first.startswith("fold of ")
    assert first.endswith("UTC, begun before and ended now: 1 batch of 1 report from 1 file; 0 repeated, 0 in conflict")
    assert second.endswith("UTC: 0 batches of 0 reports from 0 files; 0 repeated, 0 in conflict")


def test_conflicts_are_shown_among_the_refusals(folder: Path, spool: Folder) -> None:
    one = Delivery(upload(THEME, b"\x00"), utc_today())
    other = one._replace(upload=upload(THEME, b"\x01", one.upload.batch))
    put(spool, [one, other, Delivery(upload(THEME, b"\x09"))])
    result = invoke(folder, "fold", "--spool", str(spool))
    assert "1 in conflict" in result.stdout
    assert "1 batch held reports that no device could have sent, not counted" in result.stderr
    invoke(folder, "fold", "--spool", str(spool))
    (line,) = json.loads(invoke(folder, "refusals", "--json").stdout)["refused"]
    about = {"reason": "batch-conflict", "metric": "theme", "version": THEME.version, "registered": True}
    assert line == {"day": None, "batches": 1, **about}


def test_skip_command_prints_the_bytes_of_the_damaged_segment(folder: Path, spool: Folder) -> None:
    put(spool, sent := some(20, 8))
    name, cut = put(spool, held := some(30, 9)), put(spool, held)
    path, other = spool.folder / "segments" / name, spool.folder / "segments" / cut
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-1])
    other.write_bytes(b"")
    here = ("fold", "--spool", str(spool))
    failed = invoke(folder, *here)
    assert (failed.exit_code, "or skip the damage with fold --skip" in failed.stderr) == (1, True)
    assert "segments holds no" in error_of(invoke(folder, *here, "--skip", "f" * 32 + ".segment"))
    result = invoke(folder, *here, "--skip", str(path), "--skip", cut)
    assert result.exit_code == 0, result.output
    skipped = re.search(rf"{name} is damaged: skipped ([0-9,]+) of {size:,} bytes\n", result.stderr)
    assert skipped is not None
    assert 16 < int(skipped[1].replace(",", "")) < size / 4
    assert f"{cut} is damaged: skipped 0 of 0 bytes\n" in result.stderr
    assert len(spool.names("damaged")) == 2
    assert invoke(folder, *here, "--skip", name, "--json").stderr == ""
    with closing(Store(url_of(folder))) as store:
        assert_same(store, folder, sent + [delivery for delivery in held if delivery.upload.batch[0] != 255])


def test_dry_run_of_fold_changes_nothing(folder: Path, spool: Folder) -> None:
    deliver(spool, some(40, 2), 2)

    def state() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    before = state()
    (line,) = lines(invoke(folder, "fold", "--spool", str(spool), "--dry-run", "--json").stdout)
    assert line | {"batches": 40, "dry_run": True, "segments": 3, "run": None} == line
    assert "UTC would count 40 batches of" in invoke(folder, "fold", "--spool", str(spool), "--dry-run").stdout
    assert state() == before


def test_fold_with_jobs_counts_the_same(folder: Path, spool: Folder) -> None:
    deliver(spool, sent := some(60, 3), 3)
    command = ["-m", "dither_server", "fold", "--spool", str(spool), "--jobs", "2", "--json"]
    done = run(*command, env=environment(folder), check=True)
    assert lines(done.stdout)[0]["batches"] == 60
    with closing(Store(url_of(folder))) as store:
        assert_same(store, folder, sent)


@pytest.fixture
def again(folder: Path, spool: Folder) -> "Iterator[subprocess.Popen[str]]":
    """Run a fold every second, and end it with SIGTERM."""
    command = ["-m", "dither_server", "fold", "--spool", str(spool), "--every", "1s", "--json"]
    pipe = subprocess.PIPE
    with start(*command, env=environment(folder), stdout=pipe, stderr=pipe) as process:
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 128 + signal.SIGTERM
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


@pytest.mark.usefixtures("one_day")
def test_every_repeats_the_fold_and_survives_a_failure(
    folder: Path, spool: Folder, again: "subprocess.Popen[str]"
) -> None:
    assert again.stdout is not None
    assert again.stderr is not None
    assert NOTHING.items() <= json.loads(again.stdout.readline()).items()
    put(spool, sent := some(20, 4))
    while (line := json.loads(again.stdout.readline()))["batches"] == 0:
        pass
    assert line["batches"] == 20
    execute(url_of(folder), "ALTER TABLE folds RENAME TO away")
    failed = again.stderr.readline()
    assert failed.startswith(f"dither-server: {utc_today().year}-")
    assert " UTC: database: no such table: folds" in failed  # and goes on
    execute(url_of(folder), "ALTER TABLE away RENAME TO folds")
    put(spool, sent[:5])
    while (line := json.loads(again.stdout.readline()))["repeated"] == 0:
        pass
    assert line["repeated"] == 5


def test_signal_ends_a_fold_at_once_and_the_next_resumes(folder: Path, spool: Folder) -> None:
    """The signal comes while the fold waits for a cluster without workers; ``again`` ends a fold by SIGTERM."""
    deliver(spool, sent := some(20, 7), 7)
    from distributed import SchedulerPlugin  # noqa: PLC0415  # a second, for this test alone

    submitted = threading.Event()

    class Watch(SchedulerPlugin):
        def transition(self, *_: object, **__: object) -> None:
            submitted.set()

    with cluster_of(0) as cluster:
        assert cluster.scheduler is not None
        cluster.scheduler.add_plugin(Watch())
        options = ("--spool", str(spool), "--scheduler", cluster.scheduler_address)
        command = ["-m", "dither_server", "fold", *options]
        with start(*command, env=environment(folder), stderr=subprocess.PIPE) as process:
            assert submitted.wait(PATIENCE)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 128 + signal.SIGINT
            assert process.stderr is not None
            assert "Traceback" not in process.stderr.read()
    assert len(spool.names("runs")) == 1
    result = invoke(folder, "fold", "--spool", str(spool), "--json")
    assert [line["batches"] for line in lines(result.stdout)] == [20, 0]
    with closing(Store(url_of(folder))) as store:
        assert_same(store, folder, sent)


def test_second_fold_waits_for_lock_wait_and_exits_with_1(folder: Path, spool: Folder) -> None:
    with closing(Store(url_of(folder))) as store, store.folds.exclusive_lock(1.0):
        result = invoke(folder, "fold", "--spool", str(spool), "--lock-wait", "0.01")
    assert "database: another fold is under way on this database; try again when" in error_of(result, 1)


def test_wrong_arguments_of_fold_get_one_line_each(
    folder: Path, spool: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dither_spool.workers._PATIENCE", 0.1)
    assert "DITHER_SPOOL: not set" in error_of(invoke(folder, "fold"))
    (folder / "empty").mkdir()
    for options, why in (
        (["--spool", f"{folder}/no"], f"spool: {folder}/no is not a spool: a collector creates it when it starts"),
        (["--spool", f"local://{folder}/empty"], "is not a spool: a collector creates it when it starts"),
        (["--db", "sqlite:///no.db"], "does not exist; a collector has not run on it yet"),
        (["--scheduler", "tcp://127.0.0.1:9"], "--scheduler: no Dask scheduler answers"),
        (["--scheduler", "tcp://127.0.0.1:9", "--jobs", "2"], "--jobs: cannot be used with --scheduler"),
        (["--horizon", "30"], "horizon: 30 is not above 30"),
        (["--dry-run", "--every", "1s"], "--every: cannot be used with --dry-run"),
        (["--dry-run", "--skip", "x"], "--skip: cannot be used with --dry-run"),
        *((["--every", span], "invalid interval") for span in ("10", "m", "0m", "1d", "-1s", "10 m")),
    ):
        assert why in error_of(invoke(folder, "fold", "--spool", str(spool), *options)), options
    assert not list((folder / "spool").rglob("*.json"))


def test_fold_refuses_the_spool_of_another_database(folder: Path, spool: Folder) -> None:
    """This holds for every option, and for abandoned journals."""
    name = put(spool, [Delivery(upload())])
    journal = SpoolJournal.create(spool.folder / "open")
    journal.append([upload()], utc_today())
    journal.release()
    with closing(Store(f"sqlite:///{folder}/other.db")) as store:
        store.register(ALL)
        other = store.identity()
    for options in ((), ("--dry-run",), ("--skip", name)):
        here = ("fold", "--spool", str(spool), "--db", f"sqlite:///{folder}/other.db")
        assert f"{spool} belongs to the database " in (line := error_of(invoke(folder, *here, *options)))
        assert f", and db is {other}" in line
    assert (spool.names("segments"), journal.path.exists()) == ([name], True)


def test_intervals_are_seconds_minutes_or_hours() -> None:
    assert [_seconds(span) for span in ("30s", "10m", "2h")] == [30, 600, 7200]
