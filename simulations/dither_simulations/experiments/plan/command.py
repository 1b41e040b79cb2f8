"""The command ``dither-sim plan``."""

import click

from ...limits import MAX_SIZE
from ...options.common import confidence_of, epsilons_of, share, users_of
from ...options.mechanism import permanent_option
from ...options.run import Run, run_options

__all__ = ["plan"]


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
@permanent_option
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
    from .least_epsilon import weigh
    from .mechanism_ranking import Question, advise, explain

    advices = [
        advise(Question(size, epsilon, permanent_epsilon, report_budget, users, error, confidence, days))
        for epsilon in epsilons
    ]
    if len(advices) == 1:
        run.tell(advices[0].choices, lambda: explain(advices[0]))
    else:
        run.tell([advice.chosen for advice in advices], lambda: weigh(advices))
