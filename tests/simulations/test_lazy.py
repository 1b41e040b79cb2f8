"""The list of commands is shown before any of them is imported."""

import click

from dither_simulations.cli import main
from server.test_lazy import HEAVY, imported


def test_help_and_completion_import_no_command() -> None:
    told, packages = imported("simulations", "--help")
    assert all(f"  {name} " in told for name in main.commands)
    assert not packages & (HEAVY | {"tqdm", "jinja2"})
    variables = {"_DITHER_SIM_COMPLETE": "bash_complete", "COMP_WORDS": "dither-sim a", "COMP_CWORD": "1"}
    told, packages = imported("simulations", **variables)
    assert told.splitlines() == ["plain,attack", "plain,audit"]
    assert not packages & HEAVY


def test_every_command_is_where_it_is_said_to_be() -> None:
    for name in main.commands:
        found, command, _ = main.resolve_command(click.Context(main), [name])
        assert (found, command and command.name) == (name, name)
