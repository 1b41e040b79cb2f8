"""The command ``dither-sim reproduce``."""

from collections.abc import Sequence

import click

from .published import PAPERS, Paper, Reproduction, ReproductionRow
from .runs import Run, run_options
from .tables import number, render

__all__ = ["reproduce", "reproduction_table"]


@click.command()
@click.argument("papers", nargs=-1, type=click.Choice(tuple(PAPERS)), metavar=f"[{'|'.join(PAPERS)}]...")
@click.option(
    "--repeats", type=click.IntRange(2, 10**5), default=100, show_default=True, help="Number of trials for each number."
)
@run_options
def reproduce(run: Run, papers: tuple[Paper, ...], repeats: int) -> None:
    """Put published numbers beside ours, with the deviation; for all papers unless some are named."""
    rows = run.sweep(Reproduction(tuple(dict.fromkeys(papers or tuple(PAPERS))), repeats, run.seed))
    run.tell(rows, lambda: reproduction_table(rows))


def reproduction_table(rows: Sequence[ReproductionRow]) -> str:
    """Return published numbers beside ours: one table for each paper."""
    return "\n\n".join(
        f"{paper}\n\n{_table([row for row in rows if row.paper == paper])}"
        for paper in dict.fromkeys(row.paper for row in rows)
    )


def _table(rows: Sequence[ReproductionRow]) -> str:
    header = ("mechanism", "what", "k", "ε", "n", "published", "our law", "deviation", "measured", "deviation")
    cells = [
        (
            row.mechanism,
            row.what,
            f"{row.size:,}",
            f"{row.epsilon:g}",
            f"{row.users:,}",
            _range(row.published_low, row.published_high),
            f"{row.theory:.5g}",
            f"{100 * row.theory_deviation:+.2f} %",
            number(row.measured, row.measured_se, ".4g" if row.measured < 1e4 else ".0f"),
            f"{100 * row.deviation:+.2f} %",
        )
        for row in rows
    ]
    return render(header, cells, words=2)


def _range(low: float, high: float) -> str:
    return f"{low:.5g}" if low == high else f"{low:.4g} to {high:.4g}" if high < 1e4 else f"{low:.0f} to {high:.0f}"
