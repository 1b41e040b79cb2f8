"""The command ``dither-sim error``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dither_shared import ParameterError

from ...choices import LAWS, STEPS, SurveyType
from ...options.common import (
    at_most_option,
    confidence_of,
    discover_option,
    epsilons_of,
    fields_of,
    mechanism_option,
    once,
    permanent_option,
    plot_option,
    refuse_others,
    shares_of,
    sizes_of,
    users_list,
)
from ...options.population import source_options
from ...options.run import Run, run_options
from ...trials.mechanism_by_name import DISCOVERING, NAMES, NUMERIC, SELECTIONS

if TYPE_CHECKING:
    from .accuracy import Accuracy

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@mechanism_option(
    tuple(dict.fromkeys((*NAMES, *NUMERIC, *SELECTIONS, *DISCOVERING))),
    "Simulate this mechanism; repeatable. auto is the most precise one for shares or selections whose report fits "
    "into 64 bytes; boolean asks about each item of a selection separately, at ε/d.  "
    "[default: every mechanism of the type]",
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
    "-n",
    "--users",
    callback=users_list,
    metavar="LIST",
    help="Number of users: 1e4,1e5 or LOW:HIGH:COUNT.  [default: 1e5, or those of --input]",
)
@click.option(
    "-k",
    "--size",
    "sizes",
    callback=sizes_of,
    metavar="LIST",
    help="Number of values, of items, or of candidate strings.  [default: 64, 8 items, 1000 strings; all of --column]",
)
@source_options
@at_most_option
@click.option(
    "--candidates",
    type=click.IntRange(1, 10**7),
    help="Look for this many strings; people have --size of them.  [default: ten times as many]",
)
@discover_option
@click.option(
    "--step",
    "steps",
    type=click.Choice((*STEPS, "all")),
    multiple=True,
    callback=once,
    default=("raw",),
    show_default=True,
    help="Turn estimates into shares with this method; repeatable.",
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
    "--quantile",
    "quantiles",
    callback=shares_of,
    metavar="LIST",
    default="0.5,0.95",
    show_default=True,
    help="Quantiles of a number, as shares between 0 and 1.",
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
    help=(
        "Draw all counts together, each value separately, or user by user with the device's randomizer. "
        "[default: joint, or marginal if joint takes long]"
    ),
)
@click.option(
    "--collector",
    metavar="URL|auto",
    help=(
        "Let real clients report to this collector, and read its estimates. Give the address with token that it "
        "prints; auto starts a collector for the duration of the command."
    ),
)
@click.option("--definitions", "write_to", type=_FILE, help="Only write the metrics.toml that --collector needs.")
@run_options
@plot_option
def error(run: Run, survey_type: SurveyType, write_to: Path | None, plot: Path | None, **asked: Any) -> None:
    """Measure the error of estimates over repeated trials, and compare it with theory.

    The tally of all users is drawn from its exact law, so a billion users cost no more than a thousand. For a number
    (--type number), the errors of the mean, the distribution and quantiles are measured.
    """
    from .numbers import NumberAccuracy
    from .selections import SelectionAccuracy
    from .shares import ShareAccuracy
    from .strings import StringAccuracy

    kinds: dict[SurveyType, type[Accuracy]] = {
        "share": ShareAccuracy,
        "number": NumberAccuracy,
        "selection": SelectionAccuracy,
        "string": StringAccuracy,
    }
    refuse_others(survey_type, fields_of(kinds))
    experiment = kinds[survey_type].asked(run.seed, asked)
    if asked["collector"] == "auto" and run.scheduler is not None:
        problem = "auto cannot be used with --scheduler: its workers cannot reach a collector on this machine"
        raise ParameterError("--collector", problem)
    experiment.check()
    if write_to is not None:
        experiment.define(write_to)
        return
    with experiment.ready() as ready:
        run.carry_out(ready, plot)
