"""The list of commands is shown before any of them is imported."""

import subprocess
import sys

import click

from dither_simulations.cli import main
from server.cli.test_lazy import HEAVY, imported

HEAVY_HERE = HEAVY | {"dither", "distributed", "jinja2", "multiprocessing", "tqdm"}


def test_help_and_completion_import_no_command() -> None:
    ((told, packages),) = imported("simulations", ["--help"])
    assert all(f"  {name} " in told for name in main.commands)
    assert not packages & HEAVY_HERE
    variables = {"_DITHER_SIM_COMPLETE": "bash_complete", "COMP_WORDS": "dither-sim a", "COMP_CWORD": "1"}
    ((told, packages),) = imported("simulations", [], **variables)
    assert told.splitlines() == ["plain,attack", "plain,audit"]
    assert not packages & HEAVY


HELP = f"""
import sys
from dither_simulations.cli import main
for words in (*([name] for name in main.commands), ["attack", "poisoning"]):
    main([*words, "--help"], standalone_mode=False)
    heavy = {{name.partition(".")[0] for name in sys.modules}} & {HEAVY_HERE!r}
    assert not heavy, (words, heavy)
"""


def test_help_of_no_command_imports_what_computes() -> None:
    """In one process, for what one command imports the others have, too."""
    ended = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("Usage: ") == len(main.commands) + 1


def test_every_command_is_where_it_is_said_to_be() -> None:
    for name in main.commands:
        found, command, _ = main.resolve_command(click.Context(main), [name])
        assert (found, command and command.name) == (name, name)
