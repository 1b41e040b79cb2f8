"""The command line: the list of commands, each imported when it is called, so that ``--help`` is quick."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click


class Later(NamedTuple):
    """The place of a command, as ``package.module:name``, and its line in the list of commands."""

    place: str
    short_help: str


class LazyGroup(click.Group):
    """A click group that lists commands by name and one line of help, and imports only the one that is called."""

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


_HERE = "dither_server.cli"

_LATER = {
    "active": Later(f"{_HERE}.analysis:show_active", "Count the devices that reported per day, week or month."),
    "backup": Later(f"{_HERE}.database:backup", "Copy the database to a file, while collectors run."),
    "combine": Later(f"{_HERE}.analysis:combine", "Combine the versions of a metric."),
    "compare": Later(f"{_HERE}.analysis:compare", "Compare days, versions or metrics."),
    "discover": Later(f"{_HERE}.analysis:discover", "Find strings that are not listed."),
    "doctor": Later(f"{_HERE}.doctor:doctor", "Examine a collector, or show its settings."),
    "estimate": Later(f"{_HERE}.analysis:estimate", "Estimate shares, or a mean and quantiles."),
    "export": Later(f"{_HERE}.export:export", "Write estimates as a table."),
    "fold": Later("dither_spool.command:fold", "Count what collectors have spooled."),
    "key": Later(f"{_HERE}.key:key", "Make, rotate and retire the keys of sealed reports."),
    "metric": Later(f"{_HERE}.metric:metric", "List and show metrics, disable and enable them."),
    "publish": Later(f"{_HERE}.publish:publish", "Write a public site of the answers."),
    "purge": Later(f"{_HERE}.database:purge", "Remove whole days, versions or metrics."),
    "rappor-decode": Later(f"{_HERE}.analysis:rappor_decode", "Decode files of google/rappor."),
    "refresh": Later(f"{_HERE}.export:refresh_estimates", "Update the view daily_estimates."),
    "refusals": Later(f"{_HERE}.refusals:show_refusals", "Show which batches were refused, and why."),
    "restore": Later(f"{_HERE}.database:restore", "Restore the database from a backup."),
    "retention": Later(f"{_HERE}.analysis:show_retention", "Estimate how many devices are still in use, week by week."),
    "run": Later(f"{_HERE}.run:run", "Run a collector. The first line on stdout is its URL."),
    "token": Later(f"{_HERE}.token:token", "Create, list and revoke tokens."),
    "trend": Later(f"{_HERE}.analysis:show_trend", "Show a metric over days or weeks."),
    "watch": Later(f"{_HERE}.watch:watch", "Test for a change, as often as you like."),
}


@click.group("dither-server", cls=LazyGroup, later=_LATER, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dither")
def cli() -> None:
    """Collect reports under local differential privacy, and estimate what they say."""
