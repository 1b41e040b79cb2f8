"""The commands that set estimates against one another: compare and trend."""

import json
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar, cast

import click

from dither_shared import Metric, ParameterError, load_metrics

from ..analysis.trend import Trend, finished
from ..query import STEPS, Comparison, TrendQuery, confidence_of, day_of, share_of
from ..reader import EstimateReader
from ..store import Store
from .options import Found, refusing, required, settings_options
from .table import compared_as_table, trend_as_table

if TYPE_CHECKING:
    from ..analysis.compare import Compared

__all__ = ["compare", "show_trend"]

T = TypeVar("T")


@click.command()
@click.argument("metric")
@settings_options("metrics", "db")
@click.option("--since", metavar="DAY", help="First UTC day, as 2026-11-01.")
@click.option("--until", metavar="DAY", help="Last UTC day, included.")
@click.option("--version", metavar="DIGITS", help="Another version than the current one.")
@click.option("--other", metavar="METRIC", help="Another metric, to compare the values that both list.")
@click.option("--other-since", metavar="DAY", help="The other side's first day.")
@click.option("--other-until", metavar="DAY", help="The other side's last day, included.")
@click.option("--other-version", metavar="DIGITS", help="The other side's version, if not the current one.")
@click.option("--change", default="0.01", show_default=True, help="Of a share, to tell how many reports it takes.")
@click.option("--confidence", default="0.95", show_default=True, help="Of the intervals.")
@click.option("--json", "as_json", is_flag=True, help="Print the API's JSON.")
@refusing
def compare(found: Found, /, metric: str, as_json: bool, **asked: str | None) -> None:
    """Compare METRIC with itself on other days or in another version, or with another metric.

    Without any days, and of one version, the last week is compared with the one before.
    """
    query = Comparison(
        since=_given(asked["since"], day_of, "--since"),
        until=_given(asked["until"], day_of, "--until"),
        other_since=_given(asked["other_since"], day_of, "--other-since"),
        other_until=_given(asked["other_until"], day_of, "--other-until"),
        change=share_of(asked["change"] or "", "--change"),
        confidence=confidence_of(asked["confidence"] or "", "--confidence"),
    )
    with closing(Store(required(found, "db"), create=False)) as store:
        first = _metric(found, store, metric, asked["version"])
        second = _metric(found, store, asked["other"] or metric, asked["other_version"])
        told = cast("Compared", EstimateReader(store).compare(first, second, query).whole())
    click.echo(json.dumps(told, indent=2, allow_nan=False) if as_json else compared_as_table(told))


@click.command("trend")
@click.argument("metric")
@settings_options("metrics", "db")
@click.option("--since", metavar="DAY", help="First UTC day, as 2026-11-01.")
@click.option("--until", metavar="DAY", help="Last UTC day, included.")
@click.option("--version", metavar="DIGITS", help="Another version than the current one.")
@click.option("--step", type=click.Choice(STEPS), default="day", show_default=True, help="Weeks begin on Monday.")
@click.option("--confidence", default="0.95", show_default=True, help="Of the tests.")
@click.option("--json", "as_json", is_flag=True, help="Print the API's JSON.")
@refusing
def show_trend(
    found: Found,
    metric: str,
    since: str | None,
    until: str | None,
    version: str | None,
    step: str,
    confidence: str,
    as_json: bool,
) -> None:
    """Show the course of METRIC over days or weeks, and which values drift."""
    query = TrendQuery(
        since=_given(since, day_of, "--since"),
        until=_given(until, day_of, "--until"),
        confidence=confidence_of(confidence, "--confidence"),
        step=step,
    )
    with closing(Store(required(found, "db"), create=False)) as store:
        chosen = _metric(found, store, metric, version)
        told = cast("Trend", finished(EstimateReader(store).trend(chosen, query)).whole())
    click.echo(json.dumps(told, indent=2, allow_nan=False) if as_json else trend_as_table(told))


def _given(text: str | None, read: Callable[[str, str], T], place: str) -> T | None:
    return None if text is None else read(text, place)


def _metric(found: Found, store: Store, name: str, version: str | None) -> Metric:
    """Return a metric that lists values, in a version; raise ParameterError if there is none."""
    metrics = required(found, "metrics")
    known = load_metrics(metrics)
    if name not in known:
        raise ParameterError(name, f"no such metric; {metrics} has {', '.join(known)}")
    metric = known[name] if version in {None, known[name].version} else store.metric(name, str(version))
    if metric is None:
        raise ParameterError("--version", f"not collected here; there are {', '.join(store.versions(name)) or 'none'}")
    if not metric.labels:
        raise ParameterError(name, "takes any string; list candidates in its definition")
    return metric
