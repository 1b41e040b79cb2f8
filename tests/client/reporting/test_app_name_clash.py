"""Two apps of one name share consent and outbox: a clash is reported where it shows, and an update is no clash."""

import dataclasses
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

from client.devices import MOBILE, THEME, WEEKLY, Calendar, Make
from dither import Client
from dither import __main__ as program
from dither.cli.lint import lint
from dither.reporting.app_name_clash import is_about_app_name_clash, noted
from dither_shared import Metric, RandomizedResponse

OURS = {"mobile": MOBILE, "theme": THEME}
THEIRS = {"mobile": dataclasses.replace(MOBILE, mechanism=RandomizedResponse.calibrate(2, 2.0))}


def warned(trouble: Mapping[str, int]) -> int:
    return sum(count for message, count in trouble.items() if is_about_app_name_clash(message))


def started(make: Make, folder: Path, metrics: dict[str, Metric], **other: object) -> Client:
    """Return the client of a starting program on a device whose user consented to all metrics."""
    return make(folder, metrics=metrics, background=True, spread=1e6, mode=None, environ={"DITHER": "on"}, **other)


@pytest.mark.parametrize("background", [True, False])
def test_version_that_returns_reveals_another_app_of_the_same_name(
    make: Make, calendar: Calendar, tmp_path: Path, caplog: pytest.LogCaptureFixture, background: bool
) -> None:
    """Neither an update nor programs of one app with different metrics are a clash."""
    metrics = {"o": OURS, "t": THEIRS, "w": {"weekly": WEEKLY}}
    known_after = {"ooo": False, "ootttt": False, "oto": True, "otot": True, "too": False, "ow": False, "owow": False}
    for apps, known in known_after.items():
        for app in apps:
            settings = {"background": background, "environ": {"DITHER": "on"}, "mode": None, "spread": 1e6}
            client = make(tmp_path / apps, metrics=metrics[app], **settings)
            for name in metrics[app]:
                client.record(name, True)  # a client without a thread notes its versions with its first report
            calendar.pass_days(1)
        reader = make(tmp_path / apps, metrics=metrics[apps[-1]], mode=None)
        assert warned(client.status().trouble) == warned(reader.status().trouble) == known, apps
        others = make(tmp_path / apps, metrics={"theme": THEME}, mode=None)
        assert not warned(others.status().trouble), "a clash of other metrics does not concern this client"
        calendar.pass_days(15)
        assert not warned(make(tmp_path / apps, metrics=metrics[apps[-1]], mode=None).status().trouble), apps
    assert len(caplog.messages) == 5, "one per start"
    assert "mobile alternates between two versions; give each app its own name" in caplog.text


def test_program_that_is_off_or_only_reads_writes_no_version_note(make: Make, folder: Path) -> None:
    started(make, folder, OURS)
    for mode in ("off", "on"):
        make(folder, metrics=THEIRS, background=mode == "off", environ={"DITHER": mode}).status()
    for _ in range(2):
        assert started(make, folder, OURS).status().trouble == {}


@pytest.mark.parametrize("damage", [b"", b"mobile 1", b"\xff"])
def test_damaged_version_notes_count_as_none(make: Make, folder: Path, damage: bytes) -> None:
    for app in (OURS, THEIRS):
        started(make, folder, app)
    (folder / "versions").write_bytes(damage)
    for app, known in ((OURS, False), (THEIRS, False), (OURS, True)):
        assert bool(warned(started(make, folder, app).status().trouble)) is known


def test_version_notes_that_cannot_be_written_do_no_harm(make: Make, folder: Path) -> None:
    make(folder)
    (folder / "versions").mkdir()
    client = started(make, folder, OURS)
    client.record("mobile", True)
    assert client.flush(60)
    assert client.status().trouble == {}


def test_version_notes_are_bounded(make: Make, folder: Path) -> None:
    for number in range(20):
        named = {f"metric_{number}_{place:03}": dataclasses.replace(MOBILE, name=f"m{place}") for place in range(200)}
        notes = noted((folder / "versions").read_bytes() if number else b"", named, 739000 + number)
        folder.mkdir(exist_ok=True)
        (folder / "versions").write_bytes(notes or b"")
    assert (folder / "versions").stat().st_size < 30_000
    assert noted((folder / "versions").read_bytes(), named, 740000) is None


def test_lint_advises_a_unique_app_name() -> None:
    today = date(2026, 11, 18)
    (finding,) = lint([], today, "notes")
    assert finding.startswith("app: 'notes' may also be the name of another app")
    assert lint([], today, "org.example.notes") == lint([], today) == []


def test_app_name_warning_does_not_stop_a_command(
    make: Make, calendar: Calendar, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calendar.day = date.today()  # noqa: DTZ011 - the command has no calendar of its own
    calendar.pass_days(-3)
    for app in (OURS, THEIRS, OURS):
        make(folder, metrics=app).record("mobile", True)
        calendar.pass_days(1)
    (path := tmp_path / "metrics.toml").write_text('[metrics.mobile]\ntype = "boolean"\nepsilon = 1.0\n')
    assert program.main(["off", "--metrics", str(path), "--app", "tests", "--state", str(folder)], environ={}) == 0
    assert "two apps, or two versions of one" in capsys.readouterr().err
