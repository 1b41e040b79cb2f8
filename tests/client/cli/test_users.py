"""``python -m dither``: what a user sees and decides, and what a developer checks."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from client.devices import Make
from dither import __main__ as program
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


def test_a_closed_pipe_ends_a_command_without_a_traceback(arguments: list[str]) -> None:
    program = f"{sys.executable} -m dither status {' '.join(arguments)} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode in {0, 1}, "in either order"


def test_a_choice_is_kept_and_shown(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for mode in ("on", "local", "off"):
        assert main([mode, *(["--yes"] if mode == "on" else []), *arguments]) == 0
        assert f"telemetry is {mode} (decided by the user's choice)" in capsys.readouterr().out
        main(["status", *arguments])
        assert f"telemetry is {mode} " in capsys.readouterr().out


@pytest.mark.parametrize("epsilon", ["0", "1e-17", "1e-300", "-1.0", "nan", "inf", "1e5"])
def test_a_mistake_in_the_definitions_is_named(
    epsilon: str, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    definition = f'[metrics.theme]\ntype = "choice"\nvalues = ["a", "b"]\nepsilon = {epsilon}\n'
    (tmp_path / "metrics.toml").write_text(definition)
    assert main(["status", *arguments]) == 2
    assert "metrics.theme.epsilon" in capsys.readouterr().err


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
    assert (theme["name"], theme["state"], theme["permanent_epsilon"], theme["expires"]) == (
        "theme",
        "collected",
        None,
        None,
    )
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
    Path(arguments[1]).write_text(
        '[metrics.theme]\ndescription = "d"\nwhy = "w"\nowner = "o"\ntier = "technical"\nexpires = 9999-12-31\n'
        'type = "choice"\nvalues = ["light", "dark"]\nepsilon = 1.0\ncap = 9\n'
    )
    assert main(["lint", *arguments[:2]]) == 1
    assert "two years" in capsys.readouterr().out
    assert main(["catalogue", *arguments[:2]]) == 0
    assert "## theme" in capsys.readouterr().out


def test_an_audit_of_definitions_has_a_row_per_metric(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *arguments[:2], "--draws", "1000"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in table] == ["metric", "theme", "browser"]
    assert all(row.endswith("ok") for row in table[1:])


def test_an_audit_that_finds_more_than_is_declared_fails(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def leak(self: RandomizedResponse, item: Item, *_: object) -> bytes:
        return self.row_format.symbol(item)  # type: ignore[arg-type]

    monkeypatch.setattr(RandomizedResponse, "randomize", leak)
    assert main(["audit", *arguments[:2], "--draws", "1000"]) == 1
    assert capsys.readouterr().out.count("VIOLATION") == 1


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--mechanism", "symmetric-unary", "--epsilon", "1", "--size", "8"], 0),
        (["--mechanism", "optimized-unary", "--epsilon", "1", "--size", "8", "--permanent-epsilon", "2"], 0),
        (["--mechanism", "rappor", "--epsilon", "1", "--permanent-epsilon", "2", "--reports", "4"], 0),
        (["--mechanism", "dithered-response", "--epsilon", "1", "--permanent-epsilon", "2", "--reports", "4"], 0),
        (["--mechanism", "discrete-laplace", "--epsilon", "1"], 0),
        (["--mechanism", "discrete-gaussian", "--epsilon", "4", "--delta", "1e-3"], 0),
        (["--mechanism", "discrete-gaussian", "--epsilon", "4"], 2),
        (["--mechanism", "discrete-laplace", "--epsilon", "1", "--delta", "1e-3"], 2),
        (["--mechanism", "discrete-laplace", "--epsilon", "1", "--size", "8"], 2),
        (["--mechanism", "magic"], 2),
        (["--mechanism", "local-hashing", "--epsilon", "1e-17", "--size", "8"], 2),
        (["--mechanism", "local-hashing", "--epsilon", "1", "--size", "8", "--permanent-epsilon", "nan"], 2),
        (["--mechanism", "symmetric-unary", "--size", "8"], 2),
        (["--mechanism", "symmetric-unary", "--epsilon", "1", "--size", "8", "--permanent-epsilon", "2"], 2),
        (["--metrics", "m.toml", "--mechanism", "rappor"], 2),
        (["--mechanism", "rappor", "--epsilon", "1", "--reports", "2000"], 2),
        (["--mechanism", "privset", "--epsilon", "1", "--size", "8", "--at-most", "2"], 0),
        (["--mechanism", "privset", "--epsilon", "1", "--size", "8"], 2),
        (["--mechanism", "privset", "--epsilon", "1", "--at-most", "2"], 2),
        ([], 2),
    ],
)
def test_an_audit_of_one_mechanism_checks_its_options(
    arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", *arguments, "--draws", "1000"]) == status
    printed = capsys.readouterr()
    assert ("ok" in printed.out, bool(printed.err)) == (status == 0, status == 2)


BROKEN: dict[str, Callable[[Path], object]] = {
    "missing": Path.exists,
    "folder": Path.mkdir,
    "binary": lambda path: path.write_bytes(b"\x7fELF\x02\x01\x00" + bytes(range(256)) * 10),
    "zeros": lambda path: path.write_bytes(bytes(1000)),
    "empty": lambda path: path.write_bytes(b""),
    "a page": lambda path: path.write_text("<!DOCTYPE html>\n<html>"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_definitions_that_cannot_be_read_get_one_line(
    what: str, tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "metrics.toml"
    BROKEN[what](path)
    for command in ("status", "on", "preview", "lint", "catalogue", "audit"):
        options = ["--app", "tests", "--state", str(folder)] if command in {"status", "on", "preview"} else []
        assert main([command, "--metrics", str(path), *options]) == 2, command
        printed = capsys.readouterr()
        assert printed.out == "", command
        assert len(printed.err.splitlines()) == 1, command
        assert printed.err.startswith(f"dither: {path}: "), command
        assert not folder.exists(), command
