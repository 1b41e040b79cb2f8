"""The commands ``plan`` and ``audit`` of ``dither-sim``."""

import click

from dither_shared import MECHANISMS

from ...limits import MAX_SIZE
from ...options.common import confidence_of, epsilons_of, positive, reports_of, share, users_of
from ...options.run import Run, run_options
from ...trials.mechanism_by_name import NAMES, named

__all__ = ["audit", "plan"]

_permanent = click.option(
    "--permanent-epsilon",
    callback=positive,
    metavar="ε",
    help="Privacy loss of all reports of one value together (memoisation).",
)


@click.command()
@click.option("-k", "--size", type=click.IntRange(2, MAX_SIZE), required=True, help="Number of values.")
@click.option(
    "--epsilon",
    "epsilons",
    callback=epsilons_of,
    metavar="LIST",
    default="0.25,0.5,1,2,4",
    show_default=True,
    help="Privacy loss of one report. One ε compares mechanisms; several compare what each ε costs and tells.",
)
@_permanent
@click.option(
    "--days", type=click.IntRange(1, 10_000), default=30, show_default=True, help="Days with one report each."
)
@click.option(
    "--report-budget", type=click.IntRange(1, 1 << 20), default=64, show_default=True, help="Most bytes of a report."
)
@click.option("-n", "--users", callback=users_of, metavar="NUMBER", help="Number of users.")
@click.option(
    "--error",
    callback=share,
    default="0.01",
    show_default=True,
    help="Wanted half width of a rare value's interval.",
)
@click.option(
    "--confidence", callback=confidence_of, default="0.95", show_default=True, help="Confidence level of the interval."
)
@run_options
def plan(
    run: Run,
    size: int,
    epsilons: tuple[float, ...],
    permanent_epsilon: float | None,
    days: int,
    report_budget: int,
    users: int | None,
    error: float,
    confidence: float,
) -> None:
    """Choose a mechanism: show what each would cost and tell, and how many users it takes.

    Everything is computed and nothing drawn, so --seed, --jobs and --scheduler change nothing.
    """
    from .advice import Question, advise, explain
    from .epsilon_tradeoff import weigh

    advices = [
        advise(Question(size, epsilon, permanent_epsilon, report_budget, users, error, confidence, days))
        for epsilon in epsilons
    ]
    if len(advices) == 1:
        run.tell(advices[0].choices, lambda: explain(advices[0]))
    else:
        run.tell([advice.chosen for advice in advices], lambda: weigh(advices))


@click.command()
@click.option(
    "--mechanism",
    "names",
    type=click.Choice(NAMES),
    multiple=True,
    help="Attack this; repeatable.  [default: every mechanism]",
)
@click.option(
    "--epsilon", callback=positive, metavar="ε", default="1", show_default=True, help="Privacy loss of one report."
)
@click.option("-k", "--size", type=click.IntRange(2, MAX_SIZE), default=16, show_default=True, help="Number of values.")
@_permanent
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

    from ..audit.audit import Audit, perform, table

    asked = tuple(dict.fromkeys(names or tuple(MECHANISMS)))
    audits = [
        Audit(named(name, size, epsilon, permanent_epsilon), count, draws, confidence, None if system else run.seed)
        for name in asked
        for count in reports
    ]
    with run.workers() as spread:
        rows = list(tqdm(spread(perform, audits), total=len(audits), unit="audit", disable=None, leave=False))
    run.tell(rows, lambda: table(rows))
    if not all(row.passed for row in rows):
        context.exit(1)
