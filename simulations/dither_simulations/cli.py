"""The command line ``dither-sim``."""

import click

from .attacks.command import attack
from .commands import audit, plan
from .demo.command import demo
from .error import error
from .options import Commands
from .peers.command import bench
from .report.command import report
from .reproduce import reproduce

__all__ = ["main"]

_EPILOG = """Completion: eval "$(_DITHER_SIM_COMPLETE=bash_source dither-sim)", or zsh_source, or fish_source."""


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
def main() -> None:
    """Simulate before you collect: how many users it takes, at which ε, for which error."""


for command in (attack, audit, bench, demo, error, plan, report, reproduce):
    main.add_command(command)
