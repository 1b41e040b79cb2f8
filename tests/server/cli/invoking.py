"""Call the command line in this process."""

from pathlib import Path

from click.testing import CliRunner, Result

from dither_server.cli.main import cli
from server.collecting import environment


def invoke(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, env=environment(folder))


def error_of(result: Result, status: int = 2) -> str:
    """Return the one line that a command writes to stderr about a mistake."""
    assert result.exit_code == status, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr
