"""What the doctor reports about disks, clocks and the reports of devices."""

import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dither_server.cli.examination import database
from dither_server.cli.examination.database import compared, file_system_of, fsync_times, in_field, on_machine
from dither_server.cli.examination.findings import Level
from dither_server.store import Refusal, Store
from server.cli.doctoring import Usage, levels, usual_disk
from server.collecting import THEME, TODAY, upload

SHARD = b"s" * 16


@pytest.fixture(autouse=True)
def _usual_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    usual_disk(monkeypatch)


def test_full_disks_slow_disks_and_unsafe_file_systems_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok, warning, problem = Level
    for free, level in ((50e9, ok), (9e9, warning), (0.9e9, problem), (0, problem)):
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "disk_usage", lambda _, free=free: Usage(100e9, 100e9 - free, free))
            assert levels(on_machine(tmp_path), "disk")[0][1] is level, free
    for name, expected in (("ext4", []), ("", []), ("tmpfs", [problem]), ("nfs4", [problem]), ("overlay", [warning])):
        with monkeypatch.context() as patch:
            patch.setattr(database, "file_system_of", lambda _, name=name: name)
            assert [level for _, level in levels(on_machine(tmp_path), "disk")][1:] == expected, name
    for seconds, level in ((4e-7, warning), (1e-4, ok), (4e-3, ok), (0.1, warning)):
        with monkeypatch.context() as patch:
            patch.setattr(database, "fsync_times", lambda _, seconds=seconds: [seconds] * 10 + [1.0])
            assert levels(on_machine(tmp_path), "fsync")[0][1] is level, seconds


def test_file_system_is_that_of_the_innermost_mount(tmp_path: Path) -> None:
    for name in ("a b", "a c"):
        (tmp_path / name).mkdir()
    spaced = str(tmp_path / "a b").replace(" ", "\\040")
    lines = [
        "1 0 254:0 / / rw - ext4 /dev/a rw",
        f"2 1 0:21 / {spaced} rw,relatime shared:1 - tmpfs t rw",
        f"3 1 0:22 / {spaced}/c rw - nfs n rw",
    ]
    (tmp_path / "mountinfo").write_text("\n".join(lines), encoding="utf-8")
    mounts = tmp_path / "mountinfo"
    found = {name: file_system_of(tmp_path / name, mounts) for name in ("a b", "a c", "a b/d", "a b/c")}
    assert found == {"a b": "tmpfs", "a c": "ext4", "a b/d": "tmpfs", "a b/c": "nfs"}
    assert file_system_of(tmp_path, tmp_path / "nothing") == ""


def test_measuring_fsync_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    when = tmp_path.stat().st_mtime_ns
    assert [duration > 0 for duration in fsync_times(tmp_path)] == [True] * 20
    assert list(tmp_path.iterdir()) == []
    assert tmp_path.stat().st_mtime_ns == when
    assert file_system_of(tmp_path) != ""
    monkeypatch.setattr(tempfile, "TemporaryFile", _denied)
    assert levels(on_machine(tmp_path), "fsync")[0][1] is Level.WARNING


def _denied(**_: object) -> None:
    raise PermissionError(13, "Permission denied")


def test_clocks_that_differ_are_named_with_their_difference() -> None:
    now = datetime.now(UTC)
    for apart, said, level in (
        (timedelta(), "agrees", Level.OK),
        (timedelta(seconds=-5), "agrees", Level.OK),
        (timedelta(seconds=31), " seconds ahead of", Level.WARNING),
        (timedelta(minutes=-40), "40 minutes behind", Level.WARNING),
        (timedelta(days=400), "400 days ahead of", Level.PROBLEM),
    ):
        finding = compared("it", (now + apart).replace(microsecond=0), now - timedelta(seconds=0.1), now)
        assert (finding.level, said in finding.text) == (level, True), finding


def test_reports_refusals_and_unknown_versions_are_named(store: Store) -> None:
    assert levels(in_field(store, TODAY, 0.05)) == [
        ("none have come yet", Level.OK),
        ("nothing in the last 7 days", Level.OK),
    ]
    store.commit([upload()], TODAY, SHARD)
    assert levels(in_field(store, TODAY, 0.05), "reports") == [(f"the last came on {TODAY}", Level.OK)]
    assert levels(in_field(store, TODAY + timedelta(days=1), 0.05), "reports")[0][1] is Level.OK
    assert levels(in_field(store, TODAY + timedelta(days=2), 0.05), "reports")[0][1] is Level.WARNING
    assert levels(in_field(store, TODAY - timedelta(days=1), 0.05), "clock")[0][1] is Level.PROBLEM
    conflicts = {THEME.version: 1000, "": 7} | {f"{number:016x}": 100 - number for number in range(8)}
    refused = {Refusal("theme", TODAY, "version-conflict", version): many for version, many in conflicts.items()}
    refused |= {Refusal("", TODAY, "malformed"): 3, Refusal("", TODAY - timedelta(days=7), "malformed"): 9999}
    store.add_refusals(refused, SHARD)
    findings = levels(in_field(store, TODAY, 0.05))
    assert "1,782 batches (version-conflict 1,779, malformed 3) in the last 7 days" in findings[1][0]
    store.add_refusals({Refusal("theme", TODAY, "sealed", THEME.version): 1}, SHARD)
    ((among, _),) = levels(in_field(store, TODAY, 0.05), "refused")
    assert "malformed 3) and 1 sealed report that did not open in the last 7 days; see dither-server refusals" in among
    assert (findings[2][1], "has been registered since" in findings[2][0]) == (Level.OK, True)
    assert [level for _, level in findings[3:]] == [Level.WARNING] * 5
    assert findings[3][0].startswith("apps send theme in version 0000000000000000, 100 batches")
    assert findings[-1][0].startswith(f"{96 + 95 + 94 + 93 + 7} batches more")
