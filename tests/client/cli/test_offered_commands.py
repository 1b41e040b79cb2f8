"""Commands offered by an app itself: its user need not know where definitions or state are stored."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from client.devices import Make
from dither.cli.users import USERS, run
from dither.state.state import MemoryState

APP = """\
import sys

import dither
from dither.cli.users import run


def main() -> None:
    telemetry = dither.Client("metrics.toml", endpoint="http://127.0.0.1:9", app="org.example.notes")
    if sys.argv[1:2] == ["telemetry"]:  # notes telemetry [status | preview | sent | ledger | on | local | off | forget]
        sys.exit(run(telemetry, sys.argv[2:], program="notes telemetry"))
    telemetry.record("theme", "dark")


main()
"""


@pytest.mark.parametrize("arguments", [[], ["status"]])
def test_offered_commands_default_to_status(
    arguments: list[str], make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(make(), arguments) == 0
    assert capsys.readouterr().out.startswith("telemetry is on (decided by the user's choice)\n")


def test_every_command_of_a_user_is_offered(make: Make, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client = make(folder)
    client.record("mobile", True)
    for name in USERS:
        assert run(client, [name, *(["--yes"] if name == "on" else [])]) == 0, name
    capsys.readouterr()
    assert run(make(folder, mode=None), ["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mode"] == "off"


def test_choice_by_command_applies_to_the_running_client(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    client = make(mode=None)
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


def test_an_app_of_ten_lines_offers_the_commands(tmp_path: Path) -> None:
    assert len([line for line in APP.splitlines() if line]) <= 12
    (tmp_path / "notes.py").write_text(APP)
    (tmp_path / "metrics.toml").write_text('[metrics.theme]\ntype = "choice"\nvalues = ["dark"]\nepsilon = 1.0\n')
    environ = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}

    def notes(*arguments: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "notes.py", *arguments],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    assert notes("telemetry")[1].startswith("telemetry is off (decided by default: the user has not been asked)")
    assert notes("telemetry", "on", "--yes")[0] == 0
    assert notes() == (0, "", "")
    assert '"metric":"theme"' in notes("telemetry", "preview")[1]
    assert notes("telemetry", "off")[0] == 0
    assert notes("telemetry", "of")[0] == 2


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
