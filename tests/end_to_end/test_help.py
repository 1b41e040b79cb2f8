"""Walks the help of every command: each option says what it does."""

from collections.abc import Iterator

import click
import pytest

from dither_relay.cli import cli as relay
from dither_server.cli.main import cli as server
from dither_simulations.cli import main as simulations


def commands(name: str, group: click.Group) -> Iterator[tuple[str, click.Command]]:
    """Yield every command below a group, imported, by its full name."""
    for key in sorted(group.commands):
        _, command, _ = group.resolve_command(click.Context(group), [key])
        assert command
        yield f"{name} {key}", command
        if isinstance(command, click.Group):
            yield from commands(f"{name} {key}", command)


ALL = dict([*commands("dither-server", server), *commands("dither-relay", relay), *commands("dither-sim", simulations)])


@pytest.mark.parametrize("name", ALL)
def test_each_option_says_what_it_does(name: str) -> None:
    """A help text begins with a verb or a noun and a capital, and ends with a full stop."""
    command = ALL[name]
    assert command.help
    for option in command.params:
        if isinstance(option, click.Option):
            text = option.help
            assert text, f"{name} {option.opts[0]} has no help"
            assert not text.startswith(("Of ", "In ", "With ", "From ", "Repeatable", "How ")), (
                f"{option.opts[0]}: {text}"
            )
            assert text[0].isupper(), f"{option.opts[0]}: {text}"
            assert text.endswith((".", "]")), f"{option.opts[0]}: {text}"


def test_all_commands_are_walked() -> None:
    assert {"dither-server run", "dither-server token create", "dither-sim attack poisoning"} <= ALL.keys()
