"""Commands of the laboratory, run in this process."""

import json
import shlex
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from dither_simulations.cli import main


def lab(command: str, *more: str | Path) -> Result:
    """Run ``dither-sim`` with the words of ``command``, and with more arguments."""
    return CliRunner().invoke(main, [*shlex.split(command), *map(str, more)])


def rows_of(command: str, *more: str | Path) -> list[dict[str, Any]]:
    """Return the rows that a command prints as JSON."""
    result = lab(command, *more, "--json")
    assert result.exit_code == 0, result.output
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    return rows
