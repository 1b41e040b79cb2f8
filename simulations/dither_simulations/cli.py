"""The command line ``dither-sim``."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from tqdm import tqdm

from dither_shared import ParameterError

from . import populations
from .columns import read_column
from .commands import audit, plan
from .demo.command import demo
from .experiments import Plan, Task, run_here, sweep
from .files import write_rows
from .naming import NAMES
from .options import Commands, epsilons_of, input_options, new_file, seed_option, users_of
from .plots import error_plot, save
from .populations import Population
from .tables import error_table
from .trials import Law, Outcome

__all__ = ["main"]

_FILE = click.Path(dir_okay=False, path_type=Path)
_DISTRIBUTIONS = ("uniform", "zipf", "geometric", "csv")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Simulate before you collect: how many users it takes, at which ε, for which error."""


for command in (audit, demo, plan):
    main.add_command(command)


@main.command()
@click.option(
    "--mechanism",
    "names",
    type=click.Choice(NAMES),
    multiple=True,
    help="Repeatable; auto is the best whose report fits 64 bytes.  [default: every mechanism]",
)
@click.option(
    "--epsilon",
    "epsilons",
    callback=epsilons_of,
    metavar="LIST",
    default="grid",
    show_default=True,
    help="0.5,1,2 or LOW:HIGH:COUNT; grid is ten values from 0.25 to 4.",
)
@click.option(
    "-n",
    "--users",
    callback=users_of,
    metavar="NUMBER",
    help="How many users.  [default: 100000, or the rows of --input]",
)
@click.option(
    "-k", "--size", type=click.IntRange(2, 1 << 20), help="How many values.  [default: 64, or all of --column]"
)
@click.option("--distribution", type=click.Choice(_DISTRIBUTIONS), help="[default: zipf, or csv with --input]")
@click.option("--zipf-s", type=click.FloatRange(min=0), default=1.1, show_default=True, help="Zipf's exponent.")
@click.option(
    "--ratio",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.9,
    show_default=True,
    help="Of a geometric distribution.",
)
@input_options
@click.option("--repeats", type=click.IntRange(1, 10**6), default=20, show_default=True)
@seed_option
@click.option(
    "--law",
    type=click.Choice(("joint", "marginal", "device")),
    help="Draw all counts together, each value by itself, or user by user with the device's randomizer.  "
    "[default: joint, or marginal where that takes long]",
)
@click.option("--device", is_flag=True, help="The same as --law device; slow for many users.")
@click.option("--out", type=_FILE, callback=new_file, help="Write the results, as .csv or .json.")
@click.option("--plot", type=_FILE, callback=new_file, help="Write a picture, as .png, .svg or .pdf.")
def error(
    names: tuple[str, ...],
    epsilons: tuple[float, ...],
    users: int | None,
    size: int | None,
    distribution: str | None,
    zipf_s: float,
    ratio: float,
    source: Path | None,
    column: str | None,
    repeats: int,
    seed: int,
    law: Law | None,
    device: bool,
    out: Path | None,
    plot: Path | None,
) -> None:
    """Measure the error of estimates over repeated trials, beside what theory expects.

    The tally of all users is drawn from its exact law, so a billion cost no more than a thousand.
    """
    kind = distribution or ("csv" if source else "zipf")
    if (kind == "csv") != (source is not None):
        raise ParameterError("--input", "goes with --distribution csv, and that with --input")
    if source is None:
        population = _made_up(kind, users or 100_000, size or 64, zipf_s, ratio)
    else:
        population = _from_file(source, column, users, size)
    asked = tuple(dict.fromkeys(names or NAMES[1:]))
    law = "device" if device else law
    plan = Plan(asked, epsilons, population, kind, repeats=repeats, seed=seed, law=law)
    rows = sweep(plan, _with_progress)
    click.echo(error_table(rows))
    if out is not None:
        write_rows(out, rows)
    if plot is not None:
        save(error_plot(rows), plot)


def _made_up(kind: str, users: int, size: int, zipf_s: float, ratio: float) -> Population:
    weights = {
        "uniform": lambda: populations.uniform(size),
        "zipf": lambda: populations.zipf(size, zipf_s),
        "geometric": lambda: populations.geometric(size, ratio),
    }
    return Population.spread(populations.numbered(size), weights[kind](), users)


def _from_file(source: Path, column: str | None, users: int | None, size: int | None) -> Population:
    """Return the column's values, the rarest merged to make ``size`` in all, in the file's or the given number."""
    if column is None:
        raise ParameterError("--column", f"missing; it says which column of {source} holds the answers")
    population = read_column(source, column)
    if size is not None and size > len(population.labels):
        raise ParameterError("--size", f"{size} is more than the {len(population.labels)} values of {column!r}")
    if size is not None and size < len(population.labels):
        population = population.top(size - 1)
    if users is None:
        return population
    return Population.spread(population.labels, population.shares, users)


def _with_progress(tasks: Sequence[Task]) -> Iterator[Outcome]:
    """Run tasks here, with a bar on standard error if that is a terminal."""
    yield from tqdm(run_here(tasks), total=len(tasks), unit="trial", disable=None, leave=False)
