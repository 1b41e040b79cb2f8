"""The command ``dither-sim compose``."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dither_shared import ParameterError

from ..options import FILE, Run, plot_option, run_options

if TYPE_CHECKING:
    from .compose_bounds import NamedPart


_Read = TypeVar("_Read")


def _read(text: str, parameter: click.Parameter, read: Callable[[str], _Read]) -> _Read:
    try:
        return read(text)
    except ParameterError as error:
        raise click.BadParameter(str(error), param=parameter) from None


def _exact(_: click.Context, parameter: click.Parameter, text: str | None) -> Fraction | None:
    """Read a decimal number, exactly: an option's callback."""
    from .compose_bounds import exact

    return None if text is None else _read(text, parameter, exact)


def _parts(_: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> "list[NamedPart]":
    """Read parts: an option's callback."""
    from .compose_bounds import read_part

    return [_read(text, parameter, read_part) for text in texts]


@click.command()
@click.option("--epsilon", callback=_exact, metavar="ε", help="Privacy loss of one report.")
@click.option("--reports", type=click.IntRange(1, 10**9), help="Number of reports of --epsilon.  [default: 1]")
@click.option(
    "--part",
    "parts",
    callback=_parts,
    multiple=True,
    metavar="εxREPORTS",
    help="Add reports, as EPSILONxCOUNT such as 0.5x365, or with a δ as in 0.1:1e-9x30. Repeatable.",
)
@click.option(
    "--metrics",
    type=FILE,
    help="Add the metrics of this metrics.toml: their privacy loss for one device in --days.",
)
@click.option("--days", type=click.IntRange(1, 100_000), help="Days that --metrics are asked.  [default: 365]")
@click.option(
    "--values",
    type=click.IntRange(min=1),
    help=(
        "Different values that a device has over time, for each metric with permanent draws. [default: as many "
        "as its cap allows]"
    ),
)
@click.option("--delta", callback=_exact, metavar="δ", default="1e-6", show_default=True, help="Total δ, or 0.")
@click.option(
    "--group",
    "people",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    help="Number of people who share one secret.",
)
@click.option("--parallel", is_flag=True, help="Each person answers one of the parts, and not all.")
@run_options
@plot_option
def compose(run: Run, people: int, delta: Fraction, parallel: bool, plot: Path | None, **given: Any) -> None:
    """Add up the privacy loss of reports: of one question day by day, of several questions, or of a whole metrics.toml.

    Everything is computed and nothing is simulated, so --seed, --jobs and --scheduler have no effect.
    """
    from .compose_bounds import composition_plot, composition_rows, composition_table, growing_rows, of_group

    parts = of_group(_parts_given(**given), people)
    rows = composition_rows(parts, delta, one_of_them=parallel)
    run.show(rows, lambda: composition_table(rows, parts, people))
    run.draw(plot, lambda: composition_plot(list(growing_rows(parts, delta, one_of_them=parallel))))


def _parts_given(
    epsilon: Fraction | None,
    reports: int | None,
    parts: "list[NamedPart]",
    metrics: Path | None,
    days: int | None,
    values: int | None,
) -> "list[NamedPart]":
    """Return the parts that were given, in the order of --epsilon, --part and --metrics."""
    from dither_server.analysis.composition import Part

    from .compose_bounds import NamedPart, of_metrics

    if epsilon is None and reports is not None:
        raise ParameterError("--reports", "needs --epsilon; or write both as one, --part 0.5x365")
    if metrics is None and (days is not None or values is not None):
        raise ParameterError("--days" if days is not None else "--values", "goes with --metrics")
    named = [] if epsilon is None else [NamedPart(f"{float(epsilon):g}x{reports or 1}", Part(epsilon, reports or 1))]
    named += parts
    if metrics is not None:
        named += of_metrics(metrics, days or 365, values)
    if not named:
        raise ParameterError("--epsilon", "missing; give it, or --part, or --metrics")
    return named
