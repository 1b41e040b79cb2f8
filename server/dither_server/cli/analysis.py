"""The commands that estimate: ``estimate``, ``compare``, ``combine``, ``trend``, ``discover`` and others."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, TextIO

import click

from dither_shared import ParameterError
from dither_shared.counted import counted
from dither_shared.metrics.period import utc_today

from ..reading.query import ActiveQuery, Combination, Comparison, Query, RetentionQuery, TrendQuery
from .metric import known_metrics, listing, metric_asked, population_of
from .options import Found, errors_as_lines, json_option, query_options, settings_options, stored, strata_of, strings_of
from .terminal_tables import aligned, as_text, combined_text, headed, print_answers, printable

if TYPE_CHECKING:
    from dither_shared import Metric

    from ..estimation.strings.discovery import Discovered, Progress
    from ..reading.summaries.summary import Estimator
    from ..tally.tally import Tally

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
    from ..reading.summaries.terminal_text import span_text

    if began is None:
        return f"{name}: no reports yet, so there is nothing to compare."
    sides = [f"{counted(side['reports'], 'report')} {span_text(side)}".rstrip() for side in comparison["sides"]]
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


@click.command("active")
@click.argument("names", nargs=-1, metavar="[METRIC]...")
@settings_options("metrics", "db")
@query_options(ActiveQuery, "since", "until")
@json_option
def show_active(found: Found, query: ActiveQuery, names: tuple[str, ...], as_json: bool) -> None:
    """Count the devices that reported each METRIC, or any, in each of its days, weeks or months.

    These are exact counts, without noise: of devices that were in use and online, and whose user consented. A period
    that is not over yet is marked.
    """
    from ..reading.activity import active, counts_devices

    with stored(found) as store:
        listed = names or known_metrics(found) or dict.fromkeys(name for name, _ in store.definitions.registered())
        metrics = [metric_asked(found, store, name) for name in listed]
        table = active(store, metrics, query, utc_today())
    for metric in metrics:
        if names and not counts_devices(metric):
            why = "a device reports it only in some periods, or chooses among several metrics"
            raise ParameterError(metric.name, f"does not count devices: {why}")
    if as_json:
        click.echo(json.dumps(table.whole(), indent=2))
    elif len(table):
        rows = [
            (row["metric"], f"{row['devices']:,}", row["period"], row["since"] + " so far" * (not row["complete"]))
            for row in table.rows()
        ]
        click.echo("\n".join(aligned([("metric", "devices", "period", "from"), *rows])))
    else:
        click.echo("no reports that count devices")


@click.command("retention")
@click.argument("metric")
@settings_options("metrics", "db")
@query_options(RetentionQuery, "since", "until", "confidence", "version", "strata")
@json_option
def show_retention(found: Found, query: RetentionQuery, metric: str, as_json: bool) -> None:
    """Estimate the share of devices that are in use again some weeks after their first use, from METRIC.

    METRIC has of = "weeks-since-first-use". Complete calendar weeks are added up: from the first one that begins on
    --since, or later, to the last one that ends on --until.
    """
    from ..reading.estimates import EstimateReader
    from ..reading.summaries.terminal_text import TextTable, span_text

    with stored(found) as store:
        chosen = metric_asked(found, store, metric, query.version)
        answer = EstimateReader(store).retention(chosen, query, utc_today()).whole()
    if as_json:
        click.echo(json.dumps(answer, indent=2, allow_nan=False))
        return
    level = f"{100 * answer['confidence']:g}%"
    head = ("week", "retention", f"{level} interval", "devices", "of", "weeks added up")
    rows = [_row(row) for row in answer["weeks"]]
    days = span_text(answer)
    lines = [printable(f"{metric}: {counted(answer['reports'], 'report')}") + (days and f", {days}")]
    click.echo(as_text(TextTable(lines, [head, *rows], [])))


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    week, weeks = str(row["week"]), str(row["weeks"])
    if row["retention"] is None:
        return week, "too few", "", "", "", weeks
    share, interval = f"{100 * row['retention']:.1f}%", f"{100 * row['low']:.1f} to {100 * row['high']:.1f}%"
    return week, share, interval, f"{row['devices']:,.0f}", f"{row['began']:,.0f}", weeks


_WIDE = 20
"""Characters of the widest progress."""


@click.command("discover")
@click.argument("metric")
@settings_options("metrics", "db")
@query_options(Query, "since", "until", "version", "strata", "confidence")
@json_option
def discover(found: Found, query: Query, metric: str, as_json: bool) -> None:
    """Find the strings that many people have, for a METRIC that discovers strings.

    Estimates how many people have each string, how many have any other, and how rare a string these reports can
    reveal.
    """
    from ..estimation.strings.discovery import no_progress
    from ..reading.estimates import EstimateReader
    from ..reading.summaries import summary_of

    with stored(found) as store:
        chosen = metric_asked(found, store, metric, query.version)
        if chosen.question.kind != "discovery":
            raise ParameterError(metric, "does not discover strings; use dither-server estimate for it")
        reader = EstimateReader(store, compute=_showing(shown_on(sys.stderr) if sys.stderr.isatty() else no_progress))
        answer = reader.table(chosen, query).whole()
    text = summary_of(chosen).text(answer)
    click.echo(json.dumps(answer, indent=2, allow_nan=False) if as_json else as_text(headed(text, answer)))


def shown_on(stream: TextIO) -> "Progress":
    """Return a function that shows the level on a terminal, over the one before, and clears it after the last."""

    def show(level: int, levels: int) -> None:
        stream.write(f"\r{f'level {level} of {levels}' if level <= levels else '':<{_WIDE}}\r")
        stream.flush()

    return show


def _showing(progress: "Progress") -> "Estimator":
    """Return a function that computes a discovery and shows its progress."""
    from ..reading.summaries.discoveries import discovered

    def computed(
        metric: "Metric", labels: tuple[str, ...], tally: "Tally", confidence: float, simultaneous: bool
    ) -> "Discovered":
        return discovered(metric, tally, confidence, progress)

    return computed


@click.command("rappor-decode")
@click.option("--params", required=True, metavar="FILE", help="Read parameters: the header k,h,m,p,q,f and one row.")
@click.option(
    "--counts",
    required=True,
    metavar="FILE",
    help="Read counts: one row per cohort, with its number of reports and the number of ones in each bit.",
)
@click.option(
    "--map",
    "candidates",
    required=True,
    metavar="FILE",
    help="Read candidates: one row each, with the string and its positions.",
)
@click.option("--confidence", default="0.95", show_default=True, help="Confidence level of the intervals.")
@click.option("--all", "everything", is_flag=True, help="Show every candidate, not only those found.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@errors_as_lines()
def rappor_decode(params: str, counts: str, candidates: str, confidence: str, everything: bool, as_json: bool) -> None:
    """Decode files of google/rappor: show which candidates occur, and how often."""
    from ..estimation.decoders.rappor import decode
    from ..reading.parameters import confidence_of
    from .rappor_files import answer_of, as_table, read

    given = read(params, counts, candidates)
    level = confidence_of(confidence)
    answer = answer_of(given, decode(given.table, given.marks, level), level, everything=everything)
    click.echo(json.dumps(answer, indent=2, allow_nan=False) if as_json else as_table(answer))
