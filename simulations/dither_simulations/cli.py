"""The command line ``dither-sim``."""

import click

from dither_server.commands.lazy import Later

from .options import Commands

__all__ = ["main"]

_EPILOG = """Completion: eval "$(_DITHER_SIM_COMPLETE=bash_source dither-sim)", or zsh_source, or fish_source."""


_HERE = "dither_simulations"

_LATER = {
    "attack": Later(f"{_HERE}.attacks.command:attack", "How well attacks do, beside theory."),
    "audit": Later(f"{_HERE}.commands:audit", "Whether a randomizer tells too much."),
    "bench": Later(f"{_HERE}.peers.command:bench", "Other libraries, side by side."),
    "demo": Later(f"{_HERE}.demo.command:demo", "Devices, a collector, estimates: all once."),
    "error": Later(f"{_HERE}.error:error", "How far estimates are from the truth."),
    "plan": Later(f"{_HERE}.commands:plan", "Which ε, which mechanism, how many users."),
    "report": Later(f"{_HERE}.report.command:report", "Every figure, on one HTML page."),
    "reproduce": Later(f"{_HERE}.reproduce:reproduce", "Published numbers beside ours."),
}


@click.group(cls=Commands, later=_LATER, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
def main() -> None:
    """Simulate before you collect: how many users it takes, at which ε, for which error."""
