"""The command ``dither-sim shuffle``."""

from pathlib import Path

import click

from dither_server.analysis.shuffling import MOST_OWN, MOST_REPORTS

from .. import options
from ..mechanism_by_name import AUTO, DISCOVERING, NAMES, NUMERIC, SET_MECHANISMS, named
from ..options import Run, run_options


def _forged(_: click.Context, parameter: click.Parameter, text: str) -> float:
    """Read a share such as 10% or 0.1, which may be 0: an option's callback."""
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1:
        raise click.BadParameter(f"{text!r} is not a share from 0 to below 1, such as 10% or 0.1", param=parameter)
    return number


def _reports(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, ...]:
    """Read one or more numbers of reports, as many as the bounds allow: an option's callback."""
    reports = options.users_list(context, parameter, text)
    if reports and max(reports) > MOST_REPORTS:
        raise click.BadParameter(f"{text!r} is above {MOST_REPORTS:,}, the maximum for these bounds", param=parameter)
    return reports


@click.command()
@options.mechanism_option(
    (*NAMES, *NUMERIC, *SET_MECHANISMS, *DISCOVERING), "Shuffle reports of this mechanism; repeatable. [default: auto]"
)
@options.epsilon_option
@options.size_option
@options.permanent_option
@click.option(
    "-n",
    "--reports",
    callback=_reports,
    metavar="NUMBER",
    default="10000",
    show_default=True,
    help="Number of reports in a batch, such as 10000 or 1e6, a list, or LOW:HIGH:COUNT.",
)
@click.option(
    "--delta", callback=options.share, metavar="δ", default="1e-6", show_default=True, help="The δ of each batch."
)
@click.option(
    "--forged", callback=_forged, metavar="SHARE", default="0", show_default=True, help="Share of forged reports, 10%."
)
@click.option(
    "--own",
    type=click.IntRange(1, MOST_OWN),
    default=1,
    show_default=True,
    help="Reports of one device in a batch, for example after days offline.",
)
@click.option(
    "--batches",
    type=click.IntRange(1, 10**6),
    default=1,
    show_default=True,
    help="Number of batches in which one device has that many reports.",
)
@run_options
@options.plot_option
def shuffle(
    run: Run,
    names: tuple[str, ...],
    epsilon: float,
    size: int,
    permanent_epsilon: float | None,
    reports: tuple[int, ...],
    delta: float,
    forged: float,
    own: int,
    batches: int,
    plot: Path | None,
) -> None:
    """Compute how much one report reveals when a second party shuffles it among others: two upper bounds and an attack.

    Everything is computed and nothing is simulated, so --seed has no effect.
    """
    from .shuffle_bounds import plotted_shuffles, shuffle_plot, shuffle_row, shuffle_table, shuffles_of

    mechanisms = [named(name, size, epsilon, permanent_epsilon, at_most=size // 2) for name in names or (AUTO,)]
    shuffles = shuffles_of(mechanisms, reports, delta, forged, own, batches)
    with run.workers() as spread:
        rows = list(spread(shuffle_row, shuffles))
        pictured = [] if plot is None else list(spread(shuffle_row, list(plotted_shuffles(shuffles))))
    run.show(rows, lambda: shuffle_table(rows))
    run.draw(plot, lambda: shuffle_plot(pictured))
