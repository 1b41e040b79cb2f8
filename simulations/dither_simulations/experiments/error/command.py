"""The command ``dither-sim error``."""

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dither_shared import ParameterError

from ...choices import LAWS, STEPS, Law, Step
from ...options.common import confidence_of, epsilons_of, plot_option, sizes_of, users_list
from ...options.mechanism import mechanism_option, permanent_option
from ...options.run import Run, run_options
from ...options.source import source_options
from ...trials.mechanism_by_name import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...collection.remote_trial import Survey
    from ...users.sources import Source
    from .experiment import Accuracy

__all__ = ["error"]

_AUTO = "auto"
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@mechanism_option(
    NAMES, "Simulate this; repeatable; auto is the best whose report fits 64 bytes.  [default: every mechanism]"
)
@click.option(
    "--epsilon",
    "epsilons",
    callback=epsilons_of,
    metavar="LIST",
    default="grid",
    show_default=True,
    help="Privacy loss of one report: 0.5,1,2 or LOW:HIGH:COUNT; grid is ten values from 0.25 to 4.",
)
@click.option(
    "-n", "--users", callback=users_list, metavar="LIST", help="Number of users.  [default: 1e5, or those of --input]"
)
@click.option(
    "-k", "--size", "sizes", callback=sizes_of, metavar="LIST", help="Number of values.  [default: 64; all of --column]"
)
@source_options
@click.option(
    "--step",
    "steps",
    type=click.Choice((*STEPS, "all")),
    multiple=True,
    default=("raw",),
    show_default=True,
    help="Turn estimates into shares by this step; repeatable.",
)
@click.option("--days", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Days with one report each.")
@permanent_option
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Number of most frequent values in top-k recall.",
)
@click.option(
    "--confidence", callback=confidence_of, default="0.95", show_default=True, help="Confidence level of the intervals."
)
@click.option(
    "--repeats", type=click.IntRange(1, 10**6), help="Trials of each cell.  [default: 20; 1 with --collector]"
)
@click.option(
    "--law",
    type=click.Choice(LAWS),
    help="Draw all counts together, each value by itself, or user by user with the device's randomizer.  "
    "[default: joint, or marginal where that takes long]",
)
@click.option(
    "--device", is_flag=True, help="Run every user through the device's randomizer (--law device); slow for many users."
)
@click.option(
    "--collector",
    metavar="URL|auto",
    help="Let real clients report to this collector, and ask it. Give the address with the token that it prints; auto "
    "starts one that ends with the command.",
)
@click.option(
    "--definitions", "write_to", type=_FILE, help="Write the metrics.toml that --collector must have, and do no more."
)
@run_options
@plot_option
def error(run: Run, source: "Source", write_to: Path | None, plot: Path | None, **chosen: Any) -> None:
    """Measure the error of estimates over repeated trials, beside what theory expects.

    The tally of all users is drawn from its exact law, so a billion users cost no more than a thousand.
    """
    from ...output.plots import save
    from .plots import error_plot
    from .table import error_table

    plan = _planned(run.seed, source, **chosen)
    _check(plan, run)
    if write_to is not None:
        _define(plan, write_to)
        return
    with _collecting(plan) as ready:
        rows = run.sweep(ready)
    run.tell(rows, lambda: error_table(rows))
    if plot is not None:
        save(error_plot(rows), plot)


def _planned(
    seed: int,
    source: "Source",
    *,
    names: tuple[str, ...],
    epsilons: tuple[float, ...],
    users: tuple[int, ...],
    sizes: tuple[int, ...],
    steps: tuple[Step, ...],
    days: int,
    permanent_epsilon: float | None,
    top: int,
    confidence: float,
    repeats: int | None,
    law: Law | None,
    device: bool,
    collector: str | None,
) -> "Accuracy":
    """Return the sweep asked for; a column says itself how many values and users there are."""
    from ...users.sources import Column
    from .experiment import Accuracy

    return Accuracy(
        names=tuple(dict.fromkeys(names or NAMES[1:])),
        epsilons=epsilons,
        sizes=sizes or (len(source.whole.labels) if isinstance(source, Column) else 64,),
        users=users or (source.whole.users if isinstance(source, Column) else 100_000,),
        source=source,
        steps=STEPS if "all" in steps else tuple(dict.fromkeys(steps)),
        days=days,
        permanent_epsilon=permanent_epsilon,
        repeats=repeats or (1 if collector else 20),
        seed=seed,
        confidence=confidence,
        law="collector" if collector else "device" if device else law,
        top=top,
        collector=collector or "",
    )


def _check(plan: "Accuracy", run: Run) -> None:
    """Raise ParameterError before anything is computed, if a cell is impossible."""
    if plan.collector and (plan.repeats, plan.days, plan.permanent_epsilon) != (1, 1, None):
        raise ParameterError("--collector", "goes with one repeat, one day and no --permanent-epsilon")
    if plan.collector == _AUTO and run.scheduler is not None:
        raise ParameterError("--collector", "auto goes without --scheduler, whose workers cannot reach this machine's")
    for cell in plan.cells():
        if cell.day == 1:
            plan.setting(cell)


@contextmanager
def _collecting(plan: "Accuracy") -> "Iterator[Accuracy]":
    """Yield the sweep with the collector that it needs, if any: one that is there and fits, or a new one."""
    if not plan.collector:
        yield plan
        return
    from ...collection.remote_trial import collector_of_its_own, metrics_of, require_known

    surveys = _surveys(plan)
    metrics = metrics_of(surveys)
    if plan.collector == _AUTO:
        with collector_of_its_own(surveys) as address:
            yield replace(plan, collector=address)
    else:
        require_known(plan.collector, metrics)
        yield plan


def _surveys(plan: "Accuracy") -> "list[Survey]":
    settings = [plan.setting(cell) for cell in plan.cells()]
    return [(setting.mechanism, setting.population, setting.asked) for setting in settings]


def _define(plan: "Accuracy", path: Path) -> None:
    from ...collection.remote_trial import definitions
    from ...output.files import write_bytes

    write_bytes(path, definitions(_surveys(plan)).encode("utf-8"))
    click.echo(f"dither-server run --metrics {path} --db sqlite:///lab.db --port 8000")
