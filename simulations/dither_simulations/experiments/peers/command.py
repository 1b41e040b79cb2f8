"""The command ``dither-sim bench``."""

from pathlib import Path

import click

from dither_shared import ParameterError

from ...options.run import Run, run_options

__all__ = ["bench"]


@click.command()
@click.option("--quick", is_flag=True, help="Measure fewer cells in shorter runs: about two minutes.")
@click.option(
    "--envs", type=click.Path(file_okay=False, path_type=Path), help="Keep the peers' environments in this folder."
)
@click.option("--markdown", is_flag=True, help="Print the tables as markdown.")
@run_options
def bench(run: Run, quick: bool, envs: Path | None, markdown: bool) -> None:
    """Measure dither, pure-ldp and multi-freq-ldpy side by side: errors, speed, leaks.

    Each peer runs in an environment of its own, which pip builds. Rates are measured first, one library after the
    other; all else --jobs libraries at a time. There is no --scheduler: one machine's speed is compared.
    """
    if run.scheduler is not None:
        raise ParameterError("--scheduler", "goes without bench, which compares speed on one machine")
    from .telling import measure_and_tell

    measure_and_tell(run, envs, quick=quick, markdown=markdown)
