"""``python -m dither status`` without an app: the state of all apps of this user, read and not changed."""

import errno
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from client.devices import Make, Script
from dither import __main__ as program
from dither.state.folder import default_folder
from dither.state.folder_journal import FORMAT
from dither.state.journal_records import Debit, Header, to_line
from dither.transparency.apps import apps_in, status_of


def contents(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return everything that reading could change."""
    paths = [folder, *folder.rglob("*")]
    before = {str(path): path.lstat() for path in paths}
    return {
        name: (status.st_mtime_ns, status.st_mode, Path(name).read_bytes() if Path(name).is_file() else b"")
        for name, status in before.items()
    }


def run(*arguments: str, environ: dict[str, str] | None = None) -> int:
    return program.main(list(arguments), environ={} if environ is None else environ)


def test_status_shows_one_line_per_app(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(used)
    assert run("status") == 0
    output = capsys.readouterr()
    lines = [line.split(maxsplit=5) for line in output.out.split("\n\n")[0].splitlines()]
    assert lines == [
        ["app", "mode", "waiting", "sent", "last", "report  decided by"],
        ["org.example.notes", "on", "2", "1", "2026-11-19", "the user's choice"],
        ["paint", "local", "0", "0", "2026-11-19", "the user's choice"],
        ["quiet", "off", "0", "0", "-", "the user's choice"],
    ]
    assert max(map(len, output.out.splitlines())) <= 80
    assert "status --app NAME" in output.out
    assert output.err == ""
    assert run("status", environ={"DITHER": "off"}) == 0
    assert capsys.readouterr().out.count("DITHER in the environment") == 3
    assert contents(used) == before


def test_status_without_any_app_creates_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("status") == 0
    assert str(home) in capsys.readouterr().out
    assert run("status", "--app", "notes") == 0
    assert "not there yet" in capsys.readouterr().out
    assert not home.exists()
    assert not home.parent.exists()


@pytest.mark.parametrize("command", ["status", "preview", "sent", "off", "forget"])
def test_misspelt_app_name_gets_a_suggestion(command: str, used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "--app", "org.example.note") == 0
    question = "dither: nothing is stored for org.example.note; did you mean 'org.example.notes'?\n"
    assert capsys.readouterr().err.startswith(question)
    for right in ("org.example.notes", "zzz"):
        assert run(command, "--app", right) == 0
        assert "did you mean" not in capsys.readouterr().err
    assert run(command, "--app", "org.example.note", "--state", str(used / "paint")) == 0
    assert "did you mean" not in capsys.readouterr().err


def test_without_a_home_a_command_reports_it_in_one_line(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", "relative")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert run("off", "--app", "notes") == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_status_of_all_apps_is_available_as_json(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("status", "--json") == 0
    status = json.loads(capsys.readouterr().out)
    assert status["folder"] == str(used)
    notes, paint, quiet = status["apps"]
    assert (notes["app"], notes["mode"], notes["waiting"], notes["sent"]) == ("org.example.notes", "on", 2, 1)
    assert [(metric["name"], metric["reports"], metric["last_day"]) for metric in notes["metrics"]] == [
        ("mobile", 2, "2026-11-19"),
        ("theme", 1, "2026-11-19"),
    ]
    assert notes["metrics"][0]["spent"] == pytest.approx(2.0)
    assert (paint["shown"], paint["waiting"], quiet["last_day"]) == (1, 0, None)


def test_status_of_one_app_is_shown_without_its_questions(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(used)
    assert run("status", "--app", "org.example.notes") == 0
    shown = capsys.readouterr().out
    assert "telemetry of org.example.notes is on (decided by the user's choice)" in shown
    assert str(used / "org.example.notes") in shown
    assert "2 waiting, 1 sent" in shown
    assert run("status", "--state", str(used / "paint"), "--json") == 0
    assert json.loads(capsys.readouterr().out)["app"] == "paint"
    assert contents(used) == before


def test_one_app_is_turned_off_without_its_questions(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("preview", "--app", "org.example.notes") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert run("off", "--app", "org.example.notes") == 0
    assert run("forget", "--app", "paint") == 0
    listed = {app.app: (app.mode, app.waiting, app.shown) for app in apps_in(used, {}).apps}
    assert listed == {"org.example.notes": ("off", 0, 0), "paint": ("off", 0, 0), "quiet": ("off", 0, 0)}


def test_commands_about_questions_require_an_app(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("status", "--metrics", "metrics.toml")
    assert ended.value.code == 2
    assert "--app NAME" in capsys.readouterr().err
    assert run("status", "--app", "../notes") == 2


def test_a_relative_xdg_state_home_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The XDG Base Directory Specification requires to ignore a relative path as invalid."""
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    for home, base in (("./state", ".local/state"), ("~/state", ".local/state"), (str(tmp_path / "state"), "state")):
        monkeypatch.setenv("XDG_STATE_HOME", home)
        assert Path(default_folder("notes")) == tmp_path / base / "dither/notes"


def test_failed_uploads_are_reported_without_the_questions(
    home: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    client = make(home / "notes", app="notes", transport=Script([202, 401]))
    client.record("mobile", True)
    assert client.flush(60)
    assert run("status", "--app", "notes") == 0
    assert "202: accepted\n" in capsys.readouterr().out
    client.record("theme", "dark")
    assert not client.flush(60)
    before = contents(home)
    assert run("status", "--app", "notes") == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("last upload: ")]
    assert "401: the collector requires a token" in line
    assert line.endswith("(1 attempt failed since the last success)")
    assert run("status", "--app", "notes", "--json") == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["failed_attempts"], status["last_attempt"]["accepted"]) == (1, False)
    assert run("status") == 0
    assert "\nthe last upload of notes failed\n" in capsys.readouterr().out
    assert contents(home) == before


@pytest.mark.parametrize(("age", "failures"), [(61, 1), (5, 0)])
def test_unfinished_upload_counts_as_failed_after_a_minute(home: Path, make: Make, age: int, failures: int) -> None:
    client = make(home / "notes", app="notes")
    client.record("mobile", True)
    (home / "notes" / "delivery").write_text(json.dumps({"begun": time.time() - age, "begun_to": "https://x.org"}))
    before = contents(home)
    status = status_of("notes", home / "notes", {})
    assert status.failed_attempts == failures
    assert (status.last_attempt is None) == (failures == 0)
    assert contents(home) == before


# Damaged, foreign or unreadable states are named and left unchanged, and the others are shown.

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
