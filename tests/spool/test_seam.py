"""The findings of the doctor about a spool, and the seam that the collector declares."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dither_server.cli.examination.findings import Level
from dither_server.config.settings import Config
from dither_server.store import Store
from dither_server.store.sink import SpoolPackage, spool_package
from dither_spool import seam
from dither_spool.journal import SpoolJournal
from dither_spool.layout import SpoolLayout
from dither_spool.seam import findings, findings_of_folds
from server.cli.doctoring import levels, usual_disk
from server.collecting import TODAY, config, upload

NOW = datetime(2026, 11, 20, 14, 5, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _usual_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    usual_disk(monkeypatch)
    monkeypatch.setattr(seam, "file_system_of", lambda _: "ext4")


@pytest.fixture
def spooling(tmp_path: Path) -> Config:
    return config(tmp_path, spool=str(tmp_path / "spool"))


def layout_of(spooling: Config) -> SpoolLayout:
    return SpoolLayout.at(spooling.spool, spooling.spool_open)


def journal(spooling: Config, seconds: float) -> SpoolJournal:
    """A journal to which something was appended this many seconds ago."""
    made = SpoolJournal.create(layout_of(spooling).journals)
    made.append([upload()], TODAY)
    os.utime(made.path, (0, time.time() - seconds))
    return made


def test_seam_is_what_the_collector_declares() -> None:
    package: SpoolPackage = seam  # mypy compares the signatures
    assert spool_package() is package


def test_spool_is_not_made_by_examining_it(spooling: Config, tmp_path: Path) -> None:
    ((text, level),) = levels(findings(spooling))
    assert (text, level) == (f"{tmp_path}/spool/open is made when a collector starts", Level.OK)
    assert not (tmp_path / "spool").exists()


def test_journals_that_no_process_closes_are_counted(spooling: Config) -> None:
    layout_of(spooling).make()
    journal(spooling, 599)  # which a collector of this machine would find within 300 seconds, and those after it
    assert levels(findings(spooling), "spool") == [("every journal belongs to a running process", Level.OK)]
    for seconds in (601, 86400):
        journal(spooling, seconds)
    ((text, level),) = levels(findings(spooling), "spool")
    assert (text.split(" in ")[0], level) == ("2 of the journals", Level.WARNING)
    assert text.endswith(" belong to no running process")
    assert levels(findings(spooling), "fsync")[0][1] is Level.OK


def test_journals_on_an_unsafe_file_system_are_a_problem(spooling: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    layout_of(spooling).make()
    for kind, said in (("nfs4", "loses their locks"), ("tmpfs", "loses acknowledged reports")):
        monkeypatch.setattr(seam, "file_system_of", lambda _, kind=kind: kind)
        text, level = levels(findings(spooling), "spool")[0]
        assert (level, said in text) == (Level.PROBLEM, True), text


def test_late_fold_is_a_warning_while_segments_wait(spooling: Config, store: Store) -> None:
    def state_of_fold(now: datetime) -> tuple[str, Level]:
        (finding,) = levels(findings_of_folds(spooling, store, now))
        return finding

    assert state_of_fold(NOW) == ("none has ended yet", Level.OK)
    waiting = journal(spooling, 0)
    waiting.seal(layout_of(spooling).blobs)
    assert state_of_fold(NOW) == ("none has ended yet, and 1 segment waits", Level.WARNING)
    store.folds.begin(b"r" * 16, NOW)
    store.folds.finish(b"r" * 16)
    assert state_of_fold(NOW + timedelta(hours=23)) == ("the last began 2026-11-20 14:05 UTC", Level.OK)
    late = ("the last began 2026-11-20 14:05 UTC, and 1 segment waits", Level.WARNING)
    assert state_of_fold(NOW + timedelta(hours=25)) == late
    (name,) = layout_of(spooling).blobs.names("segments")
    layout_of(spooling).blobs.delete("segments", name)
    assert state_of_fold(NOW + timedelta(hours=25))[1] is Level.OK
