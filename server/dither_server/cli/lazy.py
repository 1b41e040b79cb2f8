"""Import a command only when it is called, so that ``--help`` and completion of the whole program are quick."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click


class Later(NamedTuple):
    """Where a command is, as ``package.module:name``, and one line about it for the list of all commands."""

    place: str
    short_help: str


class LazyGroup(click.Group):
    """A group that knows some commands by name and a line of help, and imports the one that is called."""

    def __init__(self, *arguments: Any, later: Mapping[str, Later] | None = None, **extra: Any) -> None:
        super().__init__(*arguments, **extra)
        self._later = dict(later or {})
        for name, one in self._later.items():
            self.add_command(click.Command(name, short_help=one.short_help))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is asked for, and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in self._later:
            command = self.load(name)
        return name, command, rest

    def load(self, name: str) -> click.Command:
        """Import one of the commands."""
        module, _, attribute = self._later[name].place.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command
