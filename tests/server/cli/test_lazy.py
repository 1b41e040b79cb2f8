"""Commands are imported when they are called: help and completion import next to nothing. Modules are counted, not
seconds."""

import json
import os
import subprocess
import sys

import click
import pytest

from dither_server.cli.main import cli
from dither_server.config.choices import FORMAT_NAMES
from dither_server.reading.exports import FORMATS

HEAVY = {"alembic", "flask", "matplotlib", "numpy", "prometheus_client", "scipy", "sqlalchemy", "waitress", "werkzeug"}
ASK = """
import json, sys
sys.argv[0] = sys.argv[1]
program = sys.argv.pop(1)
try:
    __import__(f"dither_{program}.__main__", fromlist=["main"]).main()
finally:
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def imported(program: str, *arguments: str, **variables: str) -> tuple[str, set[str]]:
    """What a program prints, and the packages that it has imported by then."""
    command = [sys.executable, "-c", ASK, program, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, set(json.loads(ended.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments", [[], ["token"], ["token", "create"], *([name] for name in cli.commands)], ids=" ".join
)
def test_help_imports_no_command(arguments: list[str]) -> None:
    told, packages = imported("server", *arguments, "--help")
    assert told.startswith("Usage: dither-server")
    assert not packages & HEAVY


def test_every_command_is_where_it_is_said_to_be() -> None:
    listed = imported("server", "--help")[0]
    for name, known in cli.commands.items():
        found, command, _ = cli.resolve_command(click.Context(cli), [name])
        assert (found, command and command.name) == (name, name)
        assert f"  {name} " in listed
        assert 10 < len(known.get_short_help_str(limit=60)) < 60


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("dither-server ", ["backup", "check", "compare", "config", "discover", "doctor", "estimate"]),
        ("dither-server tok", ["token"]),
        ("dither-server token ", ["create", "list", "revoke"]),
        ("dither-server trend --st", ["--step"]),
        ("dither-server trend --step ", ["day", "week"]),
    ],
)
def test_completion_lists_commands_and_their_options(words: str, expected: list[str]) -> None:
    variables = {"_DITHER_SERVER_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    told, packages = imported("server", **variables)
    assert [line.partition(",")[2] for line in told.splitlines()][: len(expected)] == expected
    assert not packages & HEAVY


def test_what_may_be_chosen_is_what_there_is() -> None:
    assert tuple(FORMATS) == FORMAT_NAMES
