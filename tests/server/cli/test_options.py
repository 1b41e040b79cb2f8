"""What a command says of a file that another user alone may look at."""

import errno
import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dither_relay.cli import cli as relay
from dither_server.cli.main import cli
from dither_server.cli.options import errors_as_lines
from server.collecting import environment


@click.group("dither-server")
def _programs() -> None:
    """Stand for the program, whose name the line begins with."""


@_programs.command("one")
@errors_as_lines()
def _one() -> None:
    raise PermissionError(errno.EACCES, "Permission denied", "/var/lib/dither/dither.db")


def test_file_of_another_user_is_named_in_one_line() -> None:
    result = CliRunner().invoke(_programs, ["one"])
    assert (result.exit_code, type(result.exception)) == (1, SystemExit)
    assert result.stderr == (
        "dither-server: /var/lib/dither/dither.db: Permission denied; run this as the user whose file it is\n"
    )


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize(
    "command",
    [
        ["estimate", "theme"],
        ["doctor"],
        ["doctor", "--before-start"],
        ["token", "list"],
        ["backup", "copy.db"],
        ["publish", "--out", "x"],
    ],
)
def test_command_names_a_folder_that_it_may_not_read(command: list[str], tmp_path: Path) -> None:
    shut = tmp_path / "shut"
    shut.mkdir(mode=0)
    url = f"sqlite:///{shut}/dither.db"
    result = CliRunner().invoke(cli, command, env={**environment(tmp_path), "DITHER_DB": url})
    assert isinstance(result.exception, SystemExit), result.output
    status = CliRunner().invoke(relay, ["status", "--db", url])
    assert (status.exit_code, status.stderr.count("\n")) == (1, 1)
