"""The commands ``estimate``, ``compare`` and ``trend``."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import click

from dither_shared.counted import counted

from ..reading.query import Combination, Comparison, Query, TrendQuery
from .options import Found, settings_options, stored, strings_of
from .query_options import json_option, query_options, strata_of
from .terminal_tables import as_text, combined_text, headed

_OTHER_STRATUM = "Read only reports of this stratum on the other side; repeat the option for each attribute."

_OF_ESTIMATES = (
    *("since", "until", "version", "confidence", "distinct", "simultaneous", "forged", "top", "limit", "offset"),
    *("values", "strata", "by", "by_day", "quantile", "at", "weighted"),
)


@click.command()
@click.argument("metric")
@settings_options("metrics", "db", "population")
@query_options(Query, *_OF_ESTIMATES)
@click.option(
    "--candidates",
    metavar="FILE",
    help="Look for the strings in this file, one per line, if the metric takes any string.",
)
@json_option
def estimate(found: Found, query: Query, metric: str, candidates: str | None, as_json: bool) -> None:
    """Estimate the share of each value of METRIC or, if it asks for a number, its mean and quantiles."""
    from ..reading.estimates import EstimateReader
    from .metric_by_name import metric_asked, population_of
    from .terminal_tables import print_answers

    strings = None if candidates is None else strings_of(candidates)
    with stored(found) as store:
        chosen = metric_asked(found, store, metric, query.version)
        reader = EstimateReader(store, population=population_of(found, [chosen]))
        answers = [table.whole() for table in reader.tables(chosen, query, strings)]
    print_answers(chosen, answers, as_json=as_json, several=query.by_day or bool(query.by))


@click.command()
@click.argument("metric")
@settings_options("metrics", "db")
@query_options(Comparison)
@click.option("--other-stratum", metavar="NAME=VALUE", multiple=True, help=_OTHER_STRATUM)
@json_option
def compare(found: Found, query: Comparison, metric: str, other_stratum: tuple[str, ...], as_json: bool) -> None:
    """Compare METRIC with itself on other days, in another stratum or version, or with another metric.

    If neither days, nor a second version, stratum or metric are given, the last week is compared with the one before.
    """
    from ..reading.estimates import EstimateReader
    from ..reading.summaries import summary_of
    from ..reading.summaries.terminal_text import TextTable
    from .metric_by_name import listing, metric_asked

    query = replace(query, strata=query.strata + strata_of(other_stratum, "--other-stratum", "other_"))
    with stored(found) as store:
        first = listing(metric_asked(found, store, metric, query.version))
        second = listing(metric_asked(found, store, query.other or metric, query.other_version))
        comparison = EstimateReader(store).compare(first, second, query).whole()
        began = min(store.reports_by_day(first), default=None)
    if as_json:
        click.echo(json.dumps(comparison, indent=2, allow_nan=False))
    elif all(side["reports"] for side in comparison["sides"]):
        click.echo(as_text(headed(summary_of(first).compared_text(comparison), *comparison["sides"])))
    else:
        words = TextTable([_no_comparison(metric, comparison, began)], [], [])
        click.echo(as_text(headed(words, *comparison["sides"])))


@click.command()
@click.argument("metric")
@settings_options("metrics", "db")
@query_options(Combination)
@json_option
def combine(found: Found, query: Combination, metric: str, as_json: bool) -> None:
    """Combine the versions of METRIC, each weighted by the inverse of its variance.

    This is right if people answered alike under all of them: see --same-question.
    """
    from ..reading.estimates import EstimateReader
    from .metric_by_name import metric_asked

    with stored(found) as store:
        named = metric_asked(found, store, metric)
        versions = [metric_asked(found, store, metric, one) for one in store.definitions.versions(metric)]
        listed = [one for one in versions if one.question.estimable]
        answer = EstimateReader(store).combine(named, listed, query).whole()
    if as_json:
        click.echo(json.dumps(answer, indent=2, allow_nan=False))
        return
    click.echo(as_text(headed(combined_text(answer, is_number=named.question.kind == "number"), answer)))


@click.command("trend")
@click.argument("metric")
@settings_options("metrics", "db")
@query_options(TrendQuery)
@json_option
def show_trend(found: Found, query: TrendQuery, metric: str, as_json: bool) -> None:
    """Show METRIC over days or weeks, and which values drift."""
    from ..reading.estimates import EstimateReader
    from ..reading.summaries import summary_of
    from ..reading.summaries.terminal_text import TextTable
    from .metric_by_name import listing, metric_asked

    with stored(found) as store:
        chosen = listing(metric_asked(found, store, metric, query.version))
        course = EstimateReader(store).trend(chosen, query).whole()
    if as_json:
        click.echo(json.dumps(course, indent=2, allow_nan=False))
    elif len(course["steps"]) > 1:
        click.echo(as_text(headed(summary_of(chosen).trend_text(course), course)))
    else:
        click.echo(as_text(headed(TextTable([_no_trend(metric, course, query.step)], [], []), course)))


def _no_comparison(name: str, comparison: Mapping[str, Any], began: date | None) -> str:
    """Say why there is nothing to compare, and when there will be, given the first day with reports."""
    if began is None:
        return f"{name}: no reports yet, so there is nothing to compare."
    sides = [
        f"{counted(side['reports'], 'report')} {side['since'] or ''} to {side['until'] or ''}".removesuffix("  to ")
        for side in comparison["sides"]
    ]
    return (
        f"{name}: nothing to compare: {sides[0]} and {sides[1]}. The first report came on {began}. "
        "Without any days, the last week is compared with the one before: possible "
        f"from {began + timedelta(days=7)} on."
    )


def _no_trend(name: str, course: Mapping[str, Any], step: str) -> str:
    """Say why there is no trend, and when there will be."""
    if not course["steps"]:
        return f"{name}: no reports on these days, so there is no trend."
    (only,) = course["steps"]
    after = date.fromisoformat(only["until"]) + timedelta(days=1)
    return (
        f"{name}: {counted(only['reports'], 'report')} of one {step}, {only['since']} to {only['until']}. "
        f"A trend needs two {step}s: the next begins on {after} (UTC)."
    )
