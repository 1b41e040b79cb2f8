"""Print the strings that a metric discovers, and how far it has come while they are computed."""

import json
import sys
from typing import TYPE_CHECKING, TextIO

import click

from .options import Found, refusing, settings_options, stored, strata_of, stratum_option

if TYPE_CHECKING:
    from dither_shared import Metric

    from ..estimation.strings.discovery import Discovered, Progress
    from ..reading.summaries.summary import Estimator
    from ..tally.tally import Tally

__all__ = ["discover", "shown_on"]

_WIDE = 20
"""Characters of the widest progress."""


@click.command("discover")
@click.argument("metric")
@settings_options("metrics", "db")
@click.option("--since", metavar="DAY", help="First UTC day, such as 2026-11-01.")
@click.option("--until", metavar="DAY", help="Last UTC day, included.")
@click.option("--version", metavar="DIGITS", help="Read this version, not the current one.")
@stratum_option()
@click.option("--confidence", default="0.95", show_default=True, help="Confidence level of the intervals.")
@click.option("--json", "as_json", is_flag=True, help="Print the API's JSON.")
@refusing
def discover(
    found: Found,
    metric: str,
    since: str | None,
    until: str | None,
    version: str | None,
    stratum: tuple[str, ...],
    confidence: str,
    as_json: bool,
) -> None:
    """Find the strings that many people hold, of a METRIC that discovers them.

    It says how many people hold each, how many hold anything else, and what so many reports can find.
    """
    from dither_shared import ParameterError

    from ..estimation.strings.discovery import untold
    from ..reading.estimates import EstimateReader
    from ..reading.parameters import confidence_of, day_of
    from ..reading.query import Query
    from ..reading.summaries import summary_of
    from .metric_by_name import metric_asked
    from .terminal_tables import as_text, headed

    query = Query(
        since=None if since is None else day_of(since, "--since"),
        until=None if until is None else day_of(until, "--until"),
        confidence=confidence_of(confidence),
        strata=strata_of(stratum),
    )
    with stored(found) as store:
        chosen = metric_asked(found, store, metric, version)
        if chosen.question.kind != "discovery":
            raise ParameterError(metric, "discovers nothing; dither-server estimate is for its kind of question")
        reader = EstimateReader(store, compute=_showing(shown_on(sys.stderr) if sys.stderr.isatty() else untold))
        answer = reader.table(chosen, query).whole()
    text = summary_of(chosen).text(answer)
    click.echo(json.dumps(answer, indent=2, allow_nan=False) if as_json else as_text(headed(text, answer)))


def shown_on(stream: TextIO) -> "Progress":
    """Return what writes the level to a terminal, over the one before; nothing is left of it behind the last."""

    def show(level: int, levels: int) -> None:
        stream.write(f"\r{f'level {level} of {levels}' if level <= levels else '':<{_WIDE}}\r")
        stream.flush()

    return show


def _showing(progress: "Progress") -> "Estimator":
    """Return what computes a discovery and shows its progress."""
    from ..reading.summaries.discoveries import discovered

    def computed(
        metric: "Metric", labels: tuple[str, ...], tally: "Tally", confidence: float, simultaneous: bool
    ) -> "Discovered":
        return discovered(metric, tally, confidence, progress)

    return computed
