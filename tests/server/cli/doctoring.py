"""Shared by the doctor's tests: a folder to examine, and its examination."""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result

from dither_server.access.tokens import Role, digest_of, draw_token
from dither_server.cli.examination import database
from dither_server.cli.examination.findings import CheckResult, Level
from dither_server.cli.main import cli
from dither_server.store import Store, StoredToken
from dither_shared.metrics.period import utc_today
from server.collecting import METRICS, METRICS_TOML, TODAY, environment, upload

SHARD = b"s" * 16


class Usage(NamedTuple):
    """The answer of ``shutil.disk_usage``."""

    total: float
    used: float
    free: float


def usual_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a usual machine, because the one that runs the tests is not under test."""
    monkeypatch.setattr(database, "fsync_times", lambda _: [0.001, 0.002, 0.004])
    monkeypatch.setattr(database, "file_system_of", lambda _: "ext4")
    usage = Usage(100e9, 50e9, 50e9)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)


def patient(tmp_path: Path) -> Path:
    """A folder where a collector has run today, and ended."""
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
        store.register(METRICS.values())
        store.commit([upload()], utc_today(), SHARD)
        for role in Role:
            store.tokens.add(StoredToken(digest_of(draw_token(role)), role.value, "", TODAY))
    return tmp_path


def doctor(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(cli, ["doctor", *options], env=environment(folder))


def found(result: Result, level: str) -> list[str]:
    return [line for line in result.stdout.splitlines() if line.startswith(level)]


def traces(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Everything that could change in a folder."""
    return {
        file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns, file.stat().st_ino)
        for file in folder.iterdir()
        if not file.name.endswith("-shm")  # readers write their marks into this file
    }


def levels(findings: Iterator[CheckResult], about: str = "") -> list[tuple[str, Level]]:
    return [(finding.text, finding.level) for finding in findings if not about or finding.about == about]
