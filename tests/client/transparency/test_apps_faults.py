"""Damaged, foreign or unreadable states are named and left unchanged, and the others are shown."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from client.devices import Make
from client.transparency.test_apps import contents, run
from dither.state.folder_journal import FORMAT
from dither.state.journal_records import Debit, Header, to_line
from dither.transparency.apps import status_of

NO_PIPES = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")


def damages(home: Path) -> Iterator[tuple[str, str]]:
    """Damage apps in many ways; yield the name of each with words of its message."""
    for name in ("journal", "consent"):
        for app, damage, said in (
            (f"folder-{name}", Path.mkdir, "is not a plain file"),
            (f"pipe-{name}", os.mkfifo, "is not a plain file"),
            (f"link-{name}", lambda path: path.symlink_to("/etc/passwd"), "is not a plain file"),
            (f"loop-{name}", lambda path: path.symlink_to(path), "is not a plain file"),
        ):
            (home / app).mkdir()
            damage(home / app / name)
            yield app, said
    for app, name, text, said in (
        ("garbage", "journal", b"\x00\xff" * 1000, "lost its beginning"),
        ("future", "journal", to_line(Header(99, "0" * 16)), "format that this version does not know"),
        ("no-journal", "secret", b"x", "No such file or directory"),
    ):
        (home / app).mkdir()
        (home / app / name).write_bytes(text)
        yield app, said


@NO_PIPES
def test_status_names_damaged_and_foreign_folders_and_shows_the_others(
    used: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = dict(damages(used))
    (used / ".DS_Store").write_text("")
    (used / "elsewhere").symlink_to("/etc")
    (used / "empty").mkdir()
    before = contents(used)
    assert run("status") == 1
    output = capsys.readouterr()
    shown = {line.split()[0] for line in output.out.split("\n\n")[0].splitlines()}
    assert {"org.example.notes", "paint", "quiet"} <= shown
    for app, said in broken.items():
        assert app in shown
        lines = [line for line in output.err.splitlines() if line.startswith(f"dither: {app}: ")]
        assert lines, app
        assert str(used / app) in lines[0]
        assert said in " ".join(lines)
    left_out = [line for line in output.out.splitlines() if line.startswith("left out: ")]
    assert [line.rsplit("/", 1)[1].split("'")[0] for line in left_out] == [".DS_Store", "elsewhere", "empty"]
    assert contents(used) == before


@pytest.mark.parametrize("change", [{"charges": -1}, {"epsilon": float("nan")}, {"day": 10**30}, {"charges": 10**18}])
def test_nonsense_in_valid_records_hides_no_other_app(
    used: Path, change: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    debit = Debit("theme", "0" * 16, 740_000, 1, 1, 1.0, 0.0)._replace(**change)
    (used / "odd").mkdir()
    (used / "odd" / "journal").write_bytes(to_line(Header(FORMAT, "0" * 16)) + to_line(debit))
    run("status")
    assert "org.example.notes" in capsys.readouterr().out


def test_a_user_without_home_gets_advice(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as it does if the home is unknown
    assert run("status") == 2
    assert "set HOME or XDG_STATE_HOME" in capsys.readouterr().err


def test_damaged_records_are_counted_and_left_unchanged(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = used / "org.example.notes" / "journal"
    data = journal.read_bytes()
    journal.write_bytes(data.replace(b"debit theme", b"debit thema"))
    before = contents(used)
    assert run("status", "--app", "org.example.notes") == 1
    assert f"{str(journal)!r}: 1 of its records are damaged" in capsys.readouterr().err
    journal.write_bytes(data[:-5])
    assert run("status", "--app", "org.example.notes") == 0, "another process may be writing just now"
    journal.write_bytes(before[str(journal)][2])


@pytest.mark.parametrize("call", ["open", "lstat"])
def test_an_unreadable_file_is_named(
    used: Path, call: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(os, call)

    def denied(path: str, *more: object, **named: object) -> object:
        if str(path).startswith(str(used / "paint")):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *more, **named)

    monkeypatch.setattr(f"os.{call}", denied)
    assert run("status") == 1
    output = capsys.readouterr()
    assert "org.example.notes" in output.out
    assert output.err.count("dither: paint: ") == 2, "consent and journal"
    for name in ("consent", "journal"):
        assert f"PermissionError, Permission denied: '{used}/paint/{name}'" in output.err


def test_a_home_that_cannot_be_read_is_named(
    used: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: str) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("os.listdir", denied)
    assert run("status") == 1
    assert f"dither: '{used}': Permission denied" in capsys.readouterr().err


def test_control_characters_in_names_are_escaped(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a\x1b]0;owned\x07", "b\n\u202ec", os.fsdecode(b"d\xff")):
        (home / name).mkdir(parents=True)
        (home / name / "consent").write_text("")
    assert run("status") == 0
    shown = capsys.readouterr().out
    assert all(line.isprintable() for line in shown.splitlines())
    assert len(shown.split("\n\n")[0].splitlines()) == 4
    assert run("status", "--json") == 0
    assert capsys.readouterr().out.isascii()


@NO_PIPES
def test_pipe_in_place_of_the_delivery_file_does_not_block(home: Path, make: Make) -> None:
    make(home / "notes", app="notes").record("mobile", True)
    os.mkfifo(home / "notes" / "delivery")
    assert status_of("notes", home / "notes", {}).last_attempt is None
