"""The commands ``compare`` and ``trend``."""

import json
from collections.abc import Callable
from typing import TypeVar

import click

from ..config.choices import STEPS
from .options import Found, refusing, settings_options, stored, strata_of, stratum_option
from .terminal_tables import as_text, headed

__all__ = ["compare", "show_trend"]

T = TypeVar("T")


@click.command()
@click.argument("metric")
@settings_options("metrics", "db")
@click.option("--since", metavar="DAY", help="First UTC day, such as 2026-11-01.")
@click.option("--until", metavar="DAY", help="Last UTC day, included.")
@click.option("--version", metavar="DIGITS", help="Read this version, not the current one.")
@click.option("--other", metavar="METRIC", help="Compare with this metric, over the values that both list.")
@click.option("--other-since", metavar="DAY", help="First day of the other side.")
@click.option("--other-until", metavar="DAY", help="Last day of the other side, included.")
@click.option("--other-version", metavar="DIGITS", help="Version of the other side, if not the current one.")
@stratum_option()
@stratum_option("--other-stratum", "Read only reports of this stratum on the other side.")
@click.option("--change", default="0.01", show_default=True, help="Say how many reports it takes to see this change.")
@click.option("--confidence", default="0.95", show_default=True, help="Confidence level of the intervals.")
@click.option("--json", "as_json", is_flag=True, help="Print the API's JSON.")
@refusing
def compare(
    found: Found,
    /,
    metric: str,
    as_json: bool,
    stratum: tuple[str, ...],
    other_stratum: tuple[str, ...],
    **given: str | None,
) -> None:
    """Compare METRIC with itself on other days, in another stratum or version, or with another metric.

    Without any days, and of one version and stratum, the last week is compared with the one before.
    """
    from ..reading.estimates import EstimateReader
    from ..reading.parameters import confidence_of, day_of, share_of
    from ..reading.query import Comparison
    from ..reading.summaries import summary_of
    from .metric_by_name import listing, metric_asked

    query = Comparison(
        since=_given(given["since"], day_of, "--since"),
        until=_given(given["until"], day_of, "--until"),
        other_since=_given(given["other_since"], day_of, "--other-since"),
        other_until=_given(given["other_until"], day_of, "--other-until"),
        change=share_of(given["change"] or "", "--change"),
        confidence=confidence_of(given["confidence"] or "", "--confidence"),
        strata=strata_of(stratum) + strata_of(other_stratum, "--other-stratum", "other_"),
    )
    with stored(found) as store:
        first = listing(metric_asked(found, store, metric, given["version"]))
        second = listing(metric_asked(found, store, given["other"] or metric, given["other_version"]))
        comparison = EstimateReader(store).compare(first, second, query).whole()
    click.echo(
        json.dumps(comparison, indent=2, allow_nan=False)
        if as_json
        else as_text(headed(summary_of(first).compared_text(comparison), *comparison["sides"]))
    )


@click.command("trend")
@click.argument("metric")
@settings_options("metrics", "db")
@click.option("--since", metavar="DAY", help="First UTC day, such as 2026-11-01.")
@click.option("--until", metavar="DAY", help="Last UTC day, included.")
@click.option("--version", metavar="DIGITS", help="Read this version, not the current one.")
@click.option(
    "--step", type=click.Choice(STEPS), default="day", show_default=True, help="Show days, or weeks from Monday."
)
@stratum_option()
@click.option("--confidence", default="0.95", show_default=True, help="Confidence level of the tests.")
@click.option("--json", "as_json", is_flag=True, help="Print the API's JSON.")
@refusing
def show_trend(
    found: Found,
    metric: str,
    since: str | None,
    until: str | None,
    version: str | None,
    step: str,
    stratum: tuple[str, ...],
    confidence: str,
    as_json: bool,
) -> None:
    """Show the course of METRIC over days or weeks, and which values drift."""
    from ..analysis.trend import finished
    from ..reading.estimates import EstimateReader
    from ..reading.parameters import confidence_of, day_of
    from ..reading.query import TrendQuery
    from ..reading.summaries import summary_of
    from .metric_by_name import listing, metric_asked

    query = TrendQuery(
        since=_given(since, day_of, "--since"),
        until=_given(until, day_of, "--until"),
        confidence=confidence_of(confidence, "--confidence"),
        step=step,
        strata=strata_of(stratum),
    )
    with stored(found) as store:
        chosen = listing(metric_asked(found, store, metric, version))
        course = finished(EstimateReader(store).trend(chosen, query)).whole()
    text = headed(summary_of(chosen).trend_text(course), course)
    click.echo(json.dumps(course, indent=2, allow_nan=False) if as_json else as_text(text))


def _given(text: str | None, read: Callable[[str, str], T], place: str) -> T | None:
    return None if text is None else read(text, place)
