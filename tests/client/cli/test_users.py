"""``python -m dither``: what a user sees and decides, and what a developer checks."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from client.devices import Make
from dither import __main__ as program
from dither.cli.users import run
from dither.state.state import MemoryState
from dither_shared import RandomizedResponse
from dither_shared.mechanism import Item


def main(arguments: list[str]) -> int:
    return program.main(arguments, environ={})


@pytest.fixture
def arguments(tmp_path: Path, folder: Path) -> list[str]:
    path = tmp_path / "metrics.toml"
    path.write_text(
        '[metrics.theme]\ndescription = "Which theme?"\ntype = "choice"\nvalues = ["light", "dark"]\nepsilon = 1.0\n'
        '[metrics.browser]\ntype = "string"\nepsilon = 2.0\n'
    )
    return ["--metrics", str(path), "--app", "tests", "--state", str(folder)]


def test_status_preview_and_sent_commands_write_nothing(
    arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", *arguments]) == 0
    shown = capsys.readouterr().out
    assert "telemetry is off" in shown
    assert "Which theme?" in shown
    off = "telemetry is off (decided by default: the user has not been asked), so nothing is collected or sent"
    for command, said in (("preview", off), ("sent", "nothing was sent yet")):
        assert main([command, *arguments]) == 0
        assert capsys.readouterr() == ("", f"dither: {said}\n")
    assert not folder.exists()


@pytest.mark.parametrize("command", ["on", "local", "off", "forget"])
def test_failure_to_store_a_choice_is_reported_once(
    command: str, arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.write_text("a file, where the state's folder should be")
    assert main([command, *(["--yes"] if command == "on" else []), *arguments]) == 1
    output = capsys.readouterr()
    assert "telemetry is" not in output.out
    assert "failed" in output.err
    assert len(output.err.splitlines()) <= 2


def test_a_choice_is_kept_and_shown(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for mode in ("on", "local", "off"):
        assert main([mode, *(["--yes"] if mode == "on" else []), *arguments]) == 0
        assert f"telemetry is {mode} (decided by the user's choice)" in capsys.readouterr().out
        main(["status", *arguments])
        assert f"telemetry is {mode} " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "mode"), [("y\n", "on"), ("Yes\n", "on"), ("n\n", "off"), ("\n", "off"), ("", "off")]
)
def test_on_asks_before_it_agrees(
    typed: str, mode: str, arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert main(["on", *arguments]) == (mode == "off")
    shown = capsys.readouterr().out
    assert shown.index("would like to ask") < shown.index("Send these reports? [y/N]")
    assert (f"telemetry is {mode}" if mode == "on" else "Nothing was changed") in shown
    assert main(["status", *arguments]) == 0
    assert f"telemetry is {mode}" in capsys.readouterr().out


def test_the_status_names_a_survey(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text("".join(f'[metrics.{name}]\ntype="boolean"\nepsilon=1\none_of="looks"\n' for name in "ab"))
    assert main(["status", "--metrics", str(path), "--app", "tests", "--state", str(folder)]) == 0
    assert capsys.readouterr().out.count("reported at most once a day, one of 2 questions (a, b)\n") == 2


def test_status_is_available_as_json(arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["on", "--yes", *arguments])
    capsys.readouterr()
    assert main(["status", "--json", *arguments]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["mode"], status["decided_by"], status["sent"]) == ("on", "the user's choice", 0)
    theme, browser = status["metrics"]
    assert (theme["name"], theme["state"], theme["permanent_epsilon"]) == ("theme", "collected", None)
    assert theme["since"] is not None
    assert browser["epsilon_after"].keys() == {"10", "100"}


def test_the_ledger_is_printed_as_table_and_json(
    arguments: list[str], folder: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    make(folder, metrics=arguments[1]).record("theme", "dark")
    assert main(["ledger", *arguments]) == 0
    header, theme, browser = capsys.readouterr().out.splitlines()
    assert header.split() == ["metric", "version", "reports", "epsilon", "spent", "cap"]
    assert [theme.split()[index] for index in (0, 2, 3)] == ["theme", "1", "1"]
    assert [browser.split()[index] for index in (0, 2, 3)] == ["browser", "0", "0"]
    assert main(["ledger", "--json", *arguments]) == 0
    assert [row["reports"] for row in json.loads(capsys.readouterr().out)] == [1, 0]


def test_sent_command_prints_the_bytes(
    arguments: list[str], folder: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    client = make(folder, metrics=arguments[1])
    client.record("theme", "dark")
    assert client.flush(60)
    assert main(["sent", *arguments]) == 0
    assert capsys.readouterr().out.encode().splitlines() == client.sent() != []
    assert main(["status", *arguments]) == 0
    assert re.search(r"\nlast upload: .* to http://127\.0\.0\.1:9: 202: accepted\n?", capsys.readouterr().out)


def test_forget_says_that_sent_reports_cannot_be_recalled(
    arguments: list[str], folder: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    make(folder, metrics=arguments[1]).record("theme", "dark")
    assert main(["forget", *arguments]) == 0
    said = capsys.readouterr().out
    assert "carry no identity" in said
    assert "cannot be recalled" in said
    assert not (folder / "secret").exists()
    (folder / "lock").unlink()
    (folder / "lock").mkdir()
    assert main(["forget", *arguments]) == 1
    assert "forget failed" in capsys.readouterr().err


def test_lint_and_catalogue_print_to_standard_output(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", *arguments[:2]]) == 1
    assert f"{arguments[1]}: metrics.theme.why: missing" in capsys.readouterr().out
    assert main(["catalogue", *arguments[:2]]) == 0
    assert "## theme" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--mechanism", "rappor", "--epsilon", "1", "--permanent-epsilon", "2", "--reports", "4"], 0),
        (["--mechanism", "discrete-gaussian", "--epsilon", "4", "--delta", "1e-3"], 0),
        (["--mechanism", "privset", "--epsilon", "1", "--size", "8", "--at-most", "2"], 0),
        (["--mechanism", "discrete-laplace", "--epsilon", "1", "--delta", "1e-3"], 2),
        (["--mechanism", "magic"], 2),
        (["--mechanism", "local-hashing", "--epsilon", "1e-17", "--size", "8"], 2),
        (["--metrics", "m.toml", "--mechanism", "rappor"], 2),
        (["--mechanism", "rappor", "--epsilon", "1", "--reports", "2000"], 2),
        ([], 2),
    ],
)
def test_an_audit_of_one_mechanism_checks_its_options(
    arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", *arguments, "--draws", "1000"]) == status
    printed = capsys.readouterr()
    assert ("ok" in printed.out, bool(printed.err)) == (status == 0, status == 2)


def test_an_audit_of_definitions_has_a_row_per_metric_and_fails_if_one_leaks(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def leak(self: RandomizedResponse, item: Item, *_: object) -> bytes:
        return self.row_format.symbol(item)  # type: ignore[arg-type]

    Path(arguments[1]).write_text(
        '[metrics.a]\ntype = "boolean"\nepsilon = 1.0\n[metrics.b]\ntype = "boolean"\ntruth = 0.7\n'
    )
    for verdict, status in (("ok", 0), ("VIOLATION", 1)):
        assert main(["audit", *arguments[:2], "--draws", "1000"]) == status
        table = capsys.readouterr().out.splitlines()
        assert [row.split()[0] for row in table] == ["metric", "a", "b"]
        assert all(row.endswith(verdict) for row in table[1:])
        monkeypatch.setattr(RandomizedResponse, "randomize", leak)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, ""),
        (b"\x7fELF\x02\x01\x00", ""),
        (b"", ""),
        (b"<!DOCTYPE html>\n<html>", ""),
        (b'[metrics.theme]\ntype = "boolean"\nepsilon = 1e-17\n', "metrics.theme.epsilon"),
    ],
)
def test_definitions_that_cannot_be_used_get_one_line(
    content: bytes | None, said: str, tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "metrics.toml"
    if content is not None:
        path.write_bytes(content)
    for command in ("status", "on", "preview", "lint", "catalogue", "audit"):
        options = ["--app", "tests", "--state", str(folder)] if command in {"status", "on", "preview"} else []
        assert main([command, "--metrics", str(path), *options]) == 2, command
        printed = capsys.readouterr()
        assert (printed.out, len(printed.err.splitlines())) == ("", 1), command
        assert printed.err.startswith(f"dither: {path}: {said}"), command
        assert not folder.exists(), command


# Commands that an app offers itself: its user need not know where definitions or state are stored.


def test_choice_by_command_applies_to_the_running_client(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    client = make(mode=None)
    assert run(client) == 0
    assert capsys.readouterr().out.startswith("telemetry is off (decided by default")
    assert run(client, ["on", "--yes"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("would like to ask 6 questions") < shown.index("telemetry is on")
    client.record("mobile", True)
    assert run(client, ["preview"]) == 0
    assert capsys.readouterr().out.encode().splitlines() == client.preview() != []
    assert run(client, ["off"]) == 0
    assert "would like" not in capsys.readouterr().out
    assert client.preview() == []


@pytest.mark.parametrize(
    ("arguments", "status"), [(["explode"], 2), (["--nothing"], 2), (["--help"], 0), (["on", "--help"], 0)]
)
def test_a_usage_error_names_the_app_and_does_not_exit(
    arguments: list[str], status: int, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(make(), arguments, program="notes telemetry") == status
    output = capsys.readouterr()
    assert "usage: notes telemetry" in output.out + output.err
    assert "--metrics" not in output.out, "nor --app: the app supplies both"


def test_commands_of_an_invalid_client_print_its_error(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = make(MemoryState(), metrics=tmp_path / "missing.toml", strict=False, mode=None)
    assert run(client, ["on", "--yes"]) == 1
    assert "telemetry is disabled" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="there are no shell's pipes of this kind")
def test_a_closed_pipe_ends_an_app_without_a_traceback(folder: Path) -> None:
    """If the pipe is closed before the first byte, the program exits with 1 and prints no traceback."""
    read, write = os.pipe()
    os.close(read)
    app = (
        "import sys, dither\nfrom dither.cli.users import run\n"
        f"client = dither.Client({{}}, 'http://127.0.0.1:9', 'tests', {str(folder)!r}, background=False)\n"
        "sys.exit(run(client, ['status']))\n"
    )
    done = subprocess.run([sys.executable, "-c", app], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")
