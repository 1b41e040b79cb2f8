"""Print the strings that a metric discovers, and show progress while they are computed."""

import json
import sys
from typing import TYPE_CHECKING, TextIO

import click

from ..reading.query import Query
from .options import Found, settings_options, stored
from .query_options import json_option, query_options

if TYPE_CHECKING:
    from dither_shared import Metric

    from ..estimation.strings.discovery import Discovered, Progress
    from ..reading.summaries.summary import Estimator
    from ..tally.tally import Tally

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
    from dither_shared import ParameterError

    from ..estimation.strings.discovery import no_progress
    from ..reading.estimates import EstimateReader
    from ..reading.summaries import summary_of
    from .metric_by_name import metric_asked
    from .terminal_tables import as_text, headed

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
