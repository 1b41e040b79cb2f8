"""The command ``dither-sim plan``."""

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ... import options
from ...choices import MAX_SIZE, SurveyType
from ...options import Run, run_options

if TYPE_CHECKING:
    from .planner import Planner


def _aim(_: click.Context, parameter: click.Parameter, text: str) -> float | None:
    """Parse "mean" as None, and a quantile such as "p95" as its share."""
    if text == "mean":
        return None
    percent = text.removeprefix("p")
    try:
        share = float(percent) / 100 if percent != text else 0.0
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise click.BadParameter(f"{text!r} is neither mean nor a quantile such as p95", param=parameter)
    return share


@click.command()
@options.type_option()
@click.option(
    "-k",
    "--size",
    type=click.IntRange(2, MAX_SIZE),
    help=(
        "Number of values (for a crossing: of pairs), of items, or of listed strings; for a number, the number "
        "of different answers, if few."
    ),
)
@options.at_most_option
@click.option(
    "--aim",
    "rank",
    callback=_aim,
    default="mean",
    show_default=True,
    help="What to estimate: the mean, or a quantile such as p95.",
)
@options.discover_option
@click.option(
    "--share",
    callback=options.share,
    help="Plan for this share of people. [default: the share with the largest error; for strings 1%]",
)
@click.option("--pairs", is_flag=True, help="Plan for the shares of people who have two items of a selection.")
@click.option(
    "--epsilon",
    "epsilons",
    callback=options.epsilons_of,
    metavar="LIST",
    default="0.25,0.5,1,2,4",
    show_default=True,
    help=(
        "Privacy loss of one report. With one ε, mechanisms are compared; with several, the cost and precision "
        "of each ε."
    ),
)
@options.permanent_option
@click.option(
    "--days", type=click.IntRange(1, 10_000), default=30, show_default=True, help="Days with one report each."
)
@click.option(
    "--report-budget",
    "budget",
    type=click.IntRange(1, 1 << 20),
    default=64,
    show_default=True,
    help="Maximum bytes of a report.",
)
@click.option("-n", "--users", callback=options.users_of, metavar="NUMBER", help="Number of users.")
@click.option(
    "--error",
    callback=options.share,
    default="0.01",
    show_default=True,
    help=(
        "Maximum distance from the estimate to an end of the printed interval: of a share, or of a mean or quantile as "
        "a part of the range. A quantile is planned for answers that are uniform over the range."
    ),
)
@click.option(
    "--confidence",
    callback=options.confidence_of,
    default="0.95",
    show_default=True,
    help="Confidence level of the interval.",
)
@click.option(
    "--relay",
    is_flag=True,
    help="Plan for reports that a relay mixes: --epsilon, below 4, is the ε of a report in a batch, not of one alone.",
)
@click.option(
    "--delta", callback=options.share, default="1e-6", show_default=True, help="Grant a batch this δ, with --relay."
)
@run_options
def plan(run: Run, survey_type: SurveyType, relay: bool, delta: float, **asked: Any) -> None:
    """Show how many users an answer needs, how precise it is with the users you have, and what privacy it costs them.

    Everything is computed and nothing is simulated, so --seed, --jobs and --scheduler have no effect.
    """
    from dither_shared.metrics.definition import MOST_MIXED

    from .numbers import NumberPlanner
    from .planner import RelayPlan
    from .shares import SelectionPlanner, SharePlanner, StringPlanner

    kinds: dict[SurveyType, type[Planner]] = {
        "share": SharePlanner,
        "number": NumberPlanner,
        "selection": SelectionPlanner,
        "string": StringPlanner,
    }
    options.refuse_others(survey_type, kinds)
    if relay and click.get_current_context().get_parameter_source("epsilons") is ParameterSource.DEFAULT:
        asked["epsilons"] = tuple(epsilon for epsilon in asked["epsilons"] if epsilon < MOST_MIXED)
    planner = kinds[survey_type].asked(asked)
    if relay:
        mixed = RelayPlan(planner, delta)
        batches = mixed.rows()
        run.show(batches, lambda: mixed.explain(batches))
        return
    rows = planner.rows()
    run.show(rows, lambda: planner.explain(rows))
