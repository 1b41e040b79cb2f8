"""The command ``dither-sim reproduce``."""

import click

from ...choices import PAPER_NAMES, Paper
from ...options.run import Run, run_options

__all__ = ["reproduce"]


@click.command()
@click.argument("papers", nargs=-1, type=click.Choice(PAPER_NAMES), metavar=f"[{'|'.join(PAPER_NAMES)}]...")
@click.option(
    "--repeats", type=click.IntRange(2, 10**5), default=100, show_default=True, help="Number of trials for each number."
)
@run_options
def reproduce(run: Run, papers: tuple[Paper, ...], repeats: int) -> None:
    """Put published numbers beside ours, with the deviation; for all papers unless some are named."""
    from .published import Reproduction
    from .table import reproduction_table

    rows = run.sweep(Reproduction(tuple(dict.fromkeys(papers or PAPER_NAMES)), repeats, run.seed))
    run.tell(rows, lambda: reproduction_table(rows))
