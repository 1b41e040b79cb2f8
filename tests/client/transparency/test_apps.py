"""``python -m dither status`` without an app: the state of all apps of this user, read and not changed."""

import json
import time
from pathlib import Path

import pytest

from client.devices import Make, Script
from dither import __main__ as program
from dither.state.folder import default_folder
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
