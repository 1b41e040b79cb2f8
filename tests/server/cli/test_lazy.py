"""Commands are imported when they are called: help and completion import next to nothing. Modules are counted, not
seconds."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

import click
import pytest

from dither_server.cli.main import cli
from dither_server.reading.exports import FORMATS
from dither_server.reading.query import FORMAT_NAMES

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="each command runs in a fork of one interpreter")
HEAVY = {"flask", "matplotlib", "numpy", "prometheus_client", "scipy", "sqlalchemy", "waitress", "werkzeug"}
ASK = """
import importlib, json, os, sys

def answer(program, arguments, output):
    os.dup2(output, 1)
    sys.argv = [program, *arguments]
    try:
        __import__(f"dither_{program}.__main__", fromlist=["main"]).main()
    finally:
        sys.stdout.flush()
        os.write(output, json.dumps(sorted({name.partition(".")[0] for name in sys.modules})).encode())

commands = importlib.import_module(f"dither_{sys.argv[1]}.cli")
if hasattr(commands, "__path__"):
    importlib.import_module(f"{commands.__name__}.main")  # what all of them import
for arguments in json.loads(sys.argv[2]):
    ours, theirs = os.pipe()
    if os.fork() == 0:  # a fork of an interpreter that has imported no command yet
        os.close(ours)
        answer(sys.argv[1], arguments, theirs)
        sys.exit()
    os.close(theirs)
    *output, imported = open(ours, encoding="utf-8").read().splitlines()
    print(json.dumps([arguments, os.wait()[1], output, imported]), flush=True)
"""


def imported(program: str, *commands: Sequence[str], **variables: str) -> Iterator[tuple[str, set[str]]]:
    """Of each list of arguments what the program prints, and the packages that it has imported by then."""
    command = [sys.executable, "-c", ASK, program, json.dumps(commands)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})
    assert ended.returncode == 0, ended.stderr
    for line in ended.stdout.splitlines():
        arguments, status, output, packages = json.loads(line)
        assert status == 0, (arguments, ended.stderr)
        yield "\n".join(output), set(json.loads(packages))


def test_help_imports_no_command() -> None:
    asked = [[], ["token"], ["token", "create"], *([name] for name in cli.commands)]
    answers = list(imported("server", *([*words, "--help"] for words in asked)))
    assert len(answers) == len(asked)
    assert not answers[0][1] & {"dataclasses", "fractions", "tomllib"}, "the list of commands waits for no room of ours"
    wrong = [
        (words, output, packages & HEAVY)
        for words, (output, packages) in zip(asked, answers, strict=True)
        if packages & HEAVY or not output.startswith("Usage: dither-server")
    ]
    assert not wrong


def test_collector_starts_without_importing_the_libraries_of_estimates() -> None:
    block = "import sys, dither_server.app; print(*(one for one in sys.modules if one.startswith('scipy.')))"
    ended = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=True)
    assert {"scipy.special", "scipy.linalg", "scipy.interpolate"}.isdisjoint(ended.stdout.split())


def test_every_command_is_where_it_is_said_to_be() -> None:
    for name, known in cli.commands.items():
        resolved, command, _ = cli.resolve_command(click.Context(cli), [name])
        assert (resolved, command and command.name) == (name, name)
        assert 10 < len(known.get_short_help_str(limit=60)) < 60
    assert tuple(FORMATS) == FORMAT_NAMES, "completion offers the formats that there are"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("dither-server tok", ["token"]),
        ("dither-server token ", ["create", "list", "revoke"]),
        ("dither-server trend --ste", ["--step"]),
        ("dither-server trend --step ", ["day", "week"]),
    ],
)
def test_completion_lists_commands_options_and_choices(words: str, expected: list[str]) -> None:
    variables = {"_DITHER_SERVER_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    ((output, packages),) = imported("server", [], **variables)
    assert [line.partition(",")[2] for line in output.splitlines()][: len(expected)] == expected
    assert not packages & HEAVY
