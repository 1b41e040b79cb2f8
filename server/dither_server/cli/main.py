"""The command line: the list of commands, each of which is imported when it is called."""

import click

from .lazy import Later, LazyGroup

_HERE = "dither_server.cli"

_LATER = {
    "backup": Later(f"{_HERE}.backup:backup", "Copy the database to a file, while collectors run."),
    "combine": Later(f"{_HERE}.analysis:combine", "Combine the versions of a metric."),
    "compare": Later(f"{_HERE}.analysis:compare", "Compare days, versions or metrics."),
    "discover": Later(f"{_HERE}.discover:discover", "Find strings that are not listed."),
    "doctor": Later(f"{_HERE}.doctor:doctor", "Examine a collector, or show its settings."),
    "estimate": Later(f"{_HERE}.analysis:estimate", "Estimate shares, or a mean and quantiles."),
    "export": Later(f"{_HERE}.export:export", "Write estimates as a table."),
    "fold": Later("dither_spool.command:fold", "Count what collectors have spooled."),
    "key": Later(f"{_HERE}.key:key", "Make, rotate and retire the keys of sealed reports."),
    "metric": Later(f"{_HERE}.metric:metric", "List and show metrics, disable and enable them."),
    "publish": Later(f"{_HERE}.publish:publish", "Write a public site of the answers."),
    "purge": Later(f"{_HERE}.purge:purge", "Remove whole days, versions or metrics."),
    "rappor-decode": Later(f"{_HERE}.rappor:rappor_decode", "Decode files of google/rappor."),
    "refresh": Later(f"{_HERE}.export:refresh_estimates", "Update the view daily_estimates."),
    "refusals": Later(f"{_HERE}.refusals:show_refusals", "Show which batches were refused, and why."),
    "restore": Later(f"{_HERE}.backup:restore", "Restore the database from a backup."),
    "run": Later(f"{_HERE}.run:run", "Run a collector. The first line on stdout is its URL."),
    "token": Later(f"{_HERE}.token:token", "Create, list and revoke tokens."),
    "trend": Later(f"{_HERE}.analysis:show_trend", "Show a metric over days or weeks."),
    "watch": Later(f"{_HERE}.watch:watch", "Test for a change, as often as you like."),
}


@click.group("dither-server", cls=LazyGroup, later=_LATER, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dither")
def cli() -> None:
    """Collect reports under local differential privacy, and estimate what they say."""
