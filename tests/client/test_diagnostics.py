"""Failures of the state name the path in log, status and commands, and never quote a value."""

import errno
import os
from pathlib import Path

import pytest

from client.devices import Make
from dither import __main__ as program
from dither.diagnostics import described
from dither.state.state import BusyError, StateError
from dither_shared import SystemEntropy

DENIED = "PermissionError, Permission denied"
FOLDER = Path("/home/someone/.local/state/dither/notes")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(errno.EACCES, "x", str(FOLDER / "journal")), f"{DENIED}: '{FOLDER}/journal'"),
        (PermissionError(errno.EACCES, "x", str(FOLDER)), f"{DENIED}: '{FOLDER}'"),
        (OSError(errno.EROFS, "x", "/home/someone/.local"), "OSError, Read-only file system: '/home/someone/.local'"),
        (OSError(errno.ENOSPC, "x"), f"OSError, No space left on device: '{FOLDER}'"),
        (StateError("the journal is lost"), f"StateError, the journal is lost: '{FOLDER}'"),
        (BusyError("held"), "BusyError"),
        (PermissionError(errno.EACCES, "x", "/home/someone/diary"), DENIED),
        (PermissionError(errno.EACCES, "x", f"{FOLDER}-2/diary"), DENIED),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Very-Secret"), "ConnectionRefusedError, Connection refused"),
        (OSError("Very-Secret"), "OSError"),
        (ValueError("Very-Secret"), "ValueError"),
    ],
)  # fmt: skip
def test_error_text_contains_only_paths_of_the_state_folder(error: Exception, words: str) -> None:
    assert described(error, FOLDER) == words
    forged = Path("/home/a\nWARNING forged\x1b[2J")
    assert described(PermissionError(errno.EACCES, "x", str(forged / "journal")), forged).isprintable()


def test_error_outside_the_state_folder_shows_no_path(make: Make, folder: Path) -> None:
    class Diary(SystemEntropy):
        def take(self, count: int) -> bytes:
            raise PermissionError(errno.EACCES, "Permission denied", "/home/someone/Very-Secret")

    client = make(folder, entropy=Diary(), strict=False)
    client.record("browser", "x")
    assert "Very-Secret" not in str(client.status().trouble)
    assert client.status().trouble


@pytest.mark.parametrize("command", ["on", "forget"])
def test_failed_command_names_the_path(
    command: str, definitions: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("where a folder should be")
    options = ["--metrics", definitions, "--app", "tests", "--state", str(tmp_path / "file" / "state")]
    assert program.main([command, *options, *(["--yes"] if command == "on" else [])], environ={}) == 1
    printed = capsys.readouterr()
    assert f"Not a directory: '{tmp_path}/file" in printed.err
    assert os.linesep + "Traceback" not in printed.err
