"""The command ``dither-sim audit``."""

import click

from dither_shared import MECHANISMS

from ...limits import MAX_SIZE
from ...options.common import confidence_of, reports_of
from ...options.mechanism import epsilon_option, mechanism_option, permanent_option
from ...options.run import Run, run_options
from ...trials.mechanism_by_name import DISCOVERING, NAMES, NUMERIC, SETTLED, named

__all__ = ["audit"]


@click.command()
@mechanism_option((*NAMES, *NUMERIC, *SETTLED, *DISCOVERING), "Attack this; repeatable.  [default: every mechanism]")
@epsilon_option
@click.option(
    "-k",
    "--size",
    type=click.IntRange(2, MAX_SIZE),
    default=16,
    show_default=True,
    help="Number of values; a set of them that is limited has at most half.",
)
@permanent_option
@click.option(
    "--draws",
    type=click.IntRange(100, 10**9),
    default=1_000_000,
    show_default=True,
    help="Draw so many reports of each of two inputs.",
)
@click.option(
    "--reports", callback=reports_of, default="1", show_default=True, help="Reports of one device, or a list."
)
@click.option(
    "--confidence", callback=confidence_of, default="0.999", show_default=True, help="Confidence level of each bound."
)
@click.option(
    "--system", is_flag=True, help="Draw noise from the operating system, as devices do, and not from --seed."
)
@run_options
@click.pass_context
def audit(
    context: click.Context,
    run: Run,
    names: tuple[str, ...],
    epsilon: float,
    size: int,
    permanent_epsilon: float | None,
    draws: int,
    reports: tuple[int, ...],
    confidence: float,
    system: bool,
) -> None:
    """Attack the installed randomizers: measure what their reports tell, and compare it with what they declare.

    Ends with status 1 if one tells more than it declares.
    """
    from tqdm import tqdm

    from .audit import Audit, perform, table

    chosen = tuple(dict.fromkeys(names or tuple(MECHANISMS)))
    audits = [
        Audit(mechanism, count, draws, confidence, None if system else run.seed)
        for name in chosen
        for mechanism in [named(name, size, epsilon, permanent_epsilon, at_most=size // 2)]
        for count in reports
    ]
    with run.workers() as spread:
        rows = list(tqdm(spread(perform, audits), total=len(audits), unit="audit", disable=None, leave=False))
    run.tell(rows, lambda: table(rows))
    if not all(row.passed for row in rows):
        context.exit(1)
