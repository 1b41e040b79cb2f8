"""``python -m dither status`` without an app: what is kept for this user, looked at and not touched."""

import errno
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from client.devices import Calendar, Make, Script, parts_on
from dither import __main__ as program
from dither.state.contents import FORMAT
from dither.state.journal_records import Debit, Header, to_line
from dither.state.places import apps_folder, default_folder
from dither.transparency.apps import apps_in, status_of

ROOT = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all apps of a user who has none yet."""
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "dither"


@pytest.fixture
def used(home: Path, make: Make, calendar: Calendar) -> Path:
    """The same with three apps: one that sent and has reports waiting, one that only shows, one that is off."""
    notes = make(home / "org.example.notes", app="org.example.notes", transport=Script())
    notes.record("mobile", True)
    assert notes.flush(5)
    calendar.pass_days(1)
    notes.record("mobile", True)
    notes.record("theme", "dark")
    make(home / "paint", app="paint", mode="local").record("theme", "dark")
    make(home / "quiet", app="quiet", mode="off")
    return home


def contents(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything that looking could change."""
    paths = [folder, *folder.rglob("*")]
    found = {str(path): path.lstat() for path in paths}
    return {
        name: (one.st_mtime_ns, one.st_mode, Path(name).read_bytes() if Path(name).is_file() else b"")
        for name, one in found.items()
    }


def run(*arguments: str, environ: dict[str, str] | None = None) -> int:
    return program.main(list(arguments), environ={} if environ is None else environ)


def test_every_app_has_its_line(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(used)
    assert run("status") == 0
    told = capsys.readouterr()
    lines = [line.split(maxsplit=5) for line in told.out.split("\n\n")[0].splitlines()]
    assert lines == [
        ["app", "mode", "waiting", "sent", "last", "report  decided by"],
        ["org.example.notes", "on", "2", "1", "2026-11-19", "the user's choice"],
        ["paint", "local", "0", "0", "2026-11-19", "the user's choice"],
        ["quiet", "off", "0", "0", "-", "the user's choice"],
    ]
    assert max(map(len, told.out.splitlines())) <= 80
    assert "status --app NAME" in told.out
    assert told.err == ""
    assert contents(used) == before


def test_whoever_decides_for_all_is_named_in_each_line(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("status", environ={"DITHER": "off"}) == 0
    assert capsys.readouterr().out.count("DITHER in the environment") == 3


def test_without_any_app_nothing_is_made(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("status") == 0
    assert str(home) in capsys.readouterr().out
    assert run("status", "--app", "notes") == 0
    assert "not there yet" in capsys.readouterr().out
    assert not home.exists()
    assert not home.parent.exists()


def test_the_listing_for_programs(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("status", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["folder"] == str(used)
    notes, paint, quiet = told["apps"]
    assert (notes["app"], notes["mode"], notes["waiting"], notes["sent"]) == ("org.example.notes", "on", 2, 1)
    assert [(one["name"], one["reports"], one["last_day"]) for one in notes["metrics"]] == [
        ("mobile", 2, "2026-11-19"),
        ("theme", 1, "2026-11-19"),
    ]
    assert notes["metrics"][0]["spent"] == pytest.approx(2.0)
    assert (paint["shown"], paint["waiting"], quiet["last_day"]) == (1, 0, None)


def test_one_app_without_its_questions(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    found = {one.app: (one.mode, one.waiting, one.shown) for one in apps_in(used, {}).apps}
    assert found == {"org.example.notes": ("off", 0, 0), "paint": ("off", 0, 0), "quiet": ("off", 0, 0)}


def test_the_questions_need_an_app(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("status", "--metrics", "metrics.toml")
    assert ended.value.code == 2
    assert "--app NAME" in capsys.readouterr().err
    assert run("status", "--app", "../notes") == 2


def damages(home: Path) -> Iterator[tuple[str, str]]:
    """Break apps in many ways; yield each one's name with a word of what is said of it."""
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


def test_what_is_damaged_or_foreign_is_named_and_the_rest_is_shown(
    used: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = dict(damages(used))
    (used / ".DS_Store").write_text("")
    (used / "elsewhere").symlink_to("/etc")
    (used / "empty").mkdir()
    before = contents(used)
    assert run("status") == 1
    told = capsys.readouterr()
    shown = {line.split()[0] for line in told.out.split("\n\n")[0].splitlines()}
    assert {"org.example.notes", "paint", "quiet"} <= shown
    for app, said in broken.items():
        assert app in shown
        lines = [line for line in told.err.splitlines() if line.startswith(f"dither: {app}: ")]
        assert lines, app
        assert str(used / app) in lines[0]
        assert said in " ".join(lines)
    left_out = [line for line in told.out.splitlines() if line.startswith("left out: ")]
    assert [line.rsplit("/", 1)[1].split("'")[0] for line in left_out] == [".DS_Store", "elsewhere", "empty"]
    assert contents(used) == before


@pytest.mark.parametrize("change", [{"charges": -1}, {"epsilon": float("nan")}, {"day": 10**30}, {"charges": 10**18}])
def test_whole_records_of_nonsense(used: Path, change: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    debit = Debit("theme", "0" * 16, 740_000, 1, 1, 1.0, 0.0)._replace(**change)
    (used / "odd").mkdir()
    (used / "odd" / "journal").write_bytes(to_line(Header(FORMAT, "0" * 16)) + to_line(debit))
    run("status")
    assert "org.example.notes" in capsys.readouterr().out


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def homeless(_: Path) -> NoReturn:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", homeless)
    assert run("status") == 2
    assert "set HOME or XDG_STATE_HOME" in capsys.readouterr().err


def test_damaged_records_are_counted_and_left(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    told = capsys.readouterr()
    assert "org.example.notes" in told.out
    assert told.err.count("dither: paint: ") == 2, "consent and journal"
    for name in ("consent", "journal"):
        assert f"PermissionError, Permission denied: '{used}/paint/{name}'" in told.err


@ROOT
@pytest.mark.parametrize("mode", [0o000, 0o100, 0o600])
def test_permission_denied_names_the_path(used: Path, mode: int, capsys: pytest.CaptureFixture[str]) -> None:
    (used / "paint").chmod(mode)
    try:
        status = run("status")
    finally:
        (used / "paint").chmod(0o700)
    told = capsys.readouterr()
    assert "org.example.notes" in told.out
    if mode != 0o100:  # in which a file of a known name can still be opened
        assert status == 1
        assert f"Permission denied: '{used}/paint" in told.err


@ROOT
def test_a_home_that_cannot_be_read(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    used.chmod(0)
    try:
        assert run("status") == 1
    finally:
        used.chmod(0o700)
    assert f"dither: '{used}': Permission denied" in capsys.readouterr().err


def test_names_that_a_terminal_would_obey(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a\x1b]0;owned\x07", "b\n\u202ec", os.fsdecode(b"d\xff")):
        (home / name).mkdir(parents=True)
        (home / name / "consent").write_text("")
    assert run("status") == 0
    shown = capsys.readouterr().out
    assert all(line.isprintable() for line in shown.splitlines())
    assert len(shown.split("\n\n")[0].splitlines()) == 4
    assert run("status", "--json") == 0
    assert capsys.readouterr().out.isascii()


def test_hundreds_of_apps(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = (used / "org.example.notes" / "journal").read_bytes()
    for number in range(500):
        folder = used / f"app{number:03}"
        folder.mkdir()
        (folder / "journal").write_bytes(journal)
    assert run("status") == 0
    assert sum(line.startswith("app") and " 2 " in line for line in capsys.readouterr().out.splitlines()) == 500


def test_what_another_process_is_writing_is_no_trouble(used: Path) -> None:
    with parts_on(used / "org.example.notes").journal.transaction():  # which holds the lock
        assert status_of("org.example.notes", used / "org.example.notes", {}).trouble == ()


def test_a_relative_xdg_state_home_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The XDG Base Directory Specification: a relative path is to be considered invalid and ignored."""
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    for given in ("state", "./state", "../state", "~/state", ""):
        monkeypatch.setenv("XDG_STATE_HOME", given)
        assert default_folder("notes") == tmp_path / ".local/state/dither/notes"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert default_folder("notes") == tmp_path / "state/dither/notes"
    assert apps_folder() == tmp_path / "state/dither"


def test_uploads_that_fail_are_told_without_the_questions(
    home: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    client = make(home / "notes", app="notes", transport=Script([202, 401]))
    client.record("mobile", True)
    assert client.flush(5)
    assert run("status", "--app", "notes") == 0
    assert "202: accepted\n" in capsys.readouterr().out
    client.record("theme", "dark")
    assert not client.flush(5)
    before = contents(home)
    assert run("status", "--app", "notes") == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("last upload: ")]
    assert "401: the collector asks for another token" in line
    assert line.endswith("(1 attempt failed since the last success)")
    assert run("status", "--app", "notes", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["failed_attempts"], told["last_attempt"]["accepted"]) == (1, False)
    assert run("status") == 0
    assert "\nthe last upload of notes failed\n" in capsys.readouterr().out
    assert contents(home) == before


@pytest.mark.parametrize(("age", "failures"), [(61, 1), (5, 0)])
def test_an_upload_without_an_end_is_told_once_it_is_none_any_more(
    home: Path, make: Make, age: int, failures: int
) -> None:
    client = make(home / "notes", app="notes")
    client.record("mobile", True)
    (home / "notes" / "delivery").write_text(json.dumps({"begun": time.time() - age, "begun_to": "https://x.org"}))
    before = contents(home)
    found = status_of("notes", home / "notes", {})
    assert found.failed_attempts == failures
    assert (found.last_attempt is None) == (failures == 0)
    assert contents(home) == before


def test_a_pipe_in_the_place_of_what_delivery_remembers_is_not_waited_for(home: Path, make: Make) -> None:
    make(home / "notes", app="notes").record("mobile", True)
    os.mkfifo(home / "notes" / "delivery")
    assert status_of("notes", home / "notes", {}).last_attempt is None
