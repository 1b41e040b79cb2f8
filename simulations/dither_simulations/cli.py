"""The command line ``dither-sim``."""

import click

from dither_server.cli.lazy import Later

from .options.common import Commands

_EPILOG = """Completion: eval "$(_DITHER_SIM_COMPLETE=bash_source dither-sim)", or zsh_source, or fish_source."""


_HERE = "dither_simulations.experiments"

_LATER = {
    "attack": Later(f"{_HERE}.attacks.command:attack", "Attack the randomizers, and compare with theory."),
    "audit": Later(f"{_HERE}.audit.command:audit", "Test whether a randomizer tells too much."),
    "compose": Later(f"{_HERE}.compose.command:compose", "Add up the reports of many days."),
    "demo": Later(f"{_HERE}.demo.command:demo", "Run devices, a collector, estimates once."),
    "error": Later(f"{_HERE}.error.command:error", "Measure how far estimates are off."),
    "plan": Later(f"{_HERE}.plan.command:plan", "Choose ε, mechanism and number of users."),
    "shuffle": Later(f"{_HERE}.shuffle.command:shuffle", "Say what shuffling reports is worth."),
}


@click.group(cls=Commands, later=_LATER, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
def main() -> None:
    """Simulate before you collect: find how many users it takes, at which ε, for which error."""
