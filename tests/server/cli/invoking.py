"""Call the command line in this process."""

from pathlib import Path

from click.testing import CliRunner, Result

from dither_server.cli.main import cli
from server.collecting import environment


def invoke(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, env=environment(folder))


def told(result: Result, status: int = 2) -> str:
    """The one line that a mistake gets."""
    assert result.exit_code == status, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr
