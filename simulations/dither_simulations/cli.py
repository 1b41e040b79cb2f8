"""The command line ``dither-sim``."""

import click

from dither_server.cli.main import Later

from .options import Commands

_EPILOG = """Completion: eval "$(_DITHER_SIM_COMPLETE=bash_source dither-sim)", or zsh_source, or fish_source."""


_HERE = "dither_simulations.experiments"

_LATER = {
    "attack": Later(f"{_HERE}.attacks:attack", "Attack mechanisms, compared with theory."),
    "audit": Later(f"{_HERE}.audit:audit", "Test whether a mechanism leaks too much."),
    "compose": Later(f"{_HERE}.compose:compose", "Compose the privacy loss of many days."),
    "demo": Later(f"{_HERE}.demo:demo", "Run devices and a collector once."),
    "error": Later(f"{_HERE}.error:error", "Measure the error of estimates."),
    "plan": Later(f"{_HERE}.plan:plan", "Choose ε, mechanism and number of users."),
    "shuffle": Later(f"{_HERE}.shuffle:shuffle", "Compute what shuffling adds to privacy."),
}


@click.group(cls=Commands, later=_LATER, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
def main() -> None:
    """Simulate before you collect: compute how many users are needed, for which ε and which error."""
