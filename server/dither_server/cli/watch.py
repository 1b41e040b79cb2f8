"""The command ``watch``: test for a change since a reference period, for cron and for people, and tell a webhook."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import click

from dither_serving.collector_url import CollectorUrl, NoAnswerError
from dither_shared import VERSION, ParameterError
from dither_shared.counted import counted

from ..reading.query import WatchQuery
from .metric import listing, metric_asked
from .options import CommandError, Found, json_option, query_options, settings_options, stored
from .terminal_tables import as_text, headed, printable

CHANGED = 3
"""The exit status of a change; 1 is a failure, 2 a mistake in the arguments."""

_SECONDS, _TRIES, _FIRST_WAIT, _LONGEST_WAIT = 10.0, 3, 1.0, 30.0
"""Time limit of each try of a webhook, tries, and seconds before the second, which double up to the longest."""

_OPTIONS = (
    *("reference_since", "reference_until", "since", "until", "values", "strata", "version", "change", "confidence"),
    "distinct",
)


class _Webhook(NamedTuple):
    """A URL that takes JSON by POST. Its path and query may be secret, so errors name only the host."""

    url: CollectorUrl
    query: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a URL; raise ParameterError unless it is https, or http on this machine, without a password."""
        base, mark, query = text.partition("?")
        wrong = "not a URL such as https://hooks.example/services/1, without a password or fragment"
        if not (query.isascii() and query.isprintable()) or " " in query or "#" in query:
            raise ParameterError("--webhook", wrong)
        try:
            url = CollectorUrl.parse("--webhook", base)
        except ParameterError:
            raise ParameterError("--webhook", wrong) from None
        if url.is_exposed:
            raise ParameterError("--webhook", "not encrypted; use https")
        return cls(url, mark + query)

    def post(
        self,
        message: Mapping[str, Any],
        tries: int = _TRIES,
        wait: Callable[[float], object] = lambda seconds: threading.Event().wait(seconds),
        seconds: float = _SECONDS,
    ) -> None:
        """Send a message; try again after no answer, 408, 429 and 5xx. Raises CommandError if no try succeeds."""
        body = json.dumps(message, allow_nan=False).encode()
        fields, pause, why = {"User-Agent": f"dither-server/{VERSION}"}, _FIRST_WAIT, ""
        for left in reversed(range(tries)):
            try:
                status = self.url.ask(self.query, fields, seconds, 0, body).status
            except NoAnswerError as error:
                why = str(error)
            else:
                if 200 <= status < 300:
                    return
                why = f"answered {status}"
                if status < 500 and status not in {408, 429}:
                    break
            if left:
                wait(pause)
                pause = min(2 * pause, _LONGEST_WAIT)
        raise CommandError(f"--webhook: the change was not delivered: {self.url.host} {why}", 1)


@click.command()
@click.argument("metric")
@settings_options("metrics", "db")
@query_options(WatchQuery, *_OPTIONS)
@click.option("--quiet", is_flag=True, help="Print one line for each change, and nothing without one, for cron.")
@click.option("--webhook", metavar="URL", help="Post a change as JSON to this address; three tries.")
@json_option
def watch(found: Found, query: WatchQuery, metric: str, quiet: bool, webhook: str | None, as_json: bool) -> None:
    """Test whether METRIC has changed since a reference period, as often as you like.

    The test holds on all days together: without a change it raises a false alarm on any day with a probability of at
    most 1 - confidence, however often you look. Keep the reference, --change and the values as they are while you do.
    Exit status 0 without a change, 3 with one.
    """
    from ..reading.estimates import EstimateReader

    hook = None if webhook is None else _Webhook.parse(webhook)
    with stored(found) as store:
        chosen = listing(metric_asked(found, store, metric, query.version))
        answer = EstimateReader(store).watch(chosen, query).whole()
    shown = {value: chosen.question.shown(value) for value in chosen.labels}
    named = {**answer, "values": [{**row, "value": shown.get(row["value"], row["value"])} for row in answer["values"]]}
    changes = [_line(answer, row) for row in named["values"] if row["changed"]]
    if as_json:
        click.echo(json.dumps(answer, indent=2, allow_nan=False))
    elif quiet:
        for line in changes:
            click.echo(printable(line))
    else:
        click.echo(as_text(headed(_text(named), answer)))
    if changes and hook is not None:
        hook.post({**answer, "text": "\n".join(changes)})
    raise SystemExit(CHANGED if changes else 0)


def _line(answer: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Return a change as one line."""
    before, now, low, high = (_number(answer, row[name]) for name in ("reference", "now", "low", "high"))
    name = "" if row["value"] == "mean" else f" {row['value']}"
    return (
        f"{answer['metric']}{name}: changed from {before} to {now} since {answer['since']} (by {low} to {high}); first "
        f"seen on {row['first_seen']}"
    )


def _number(answer: Mapping[str, Any], number: float | None) -> str:
    if number is None:
        return "-"
    return f"{number:.3g} {answer['unit']}".rstrip() if "unit" in answer else f"{100 * number:.1f}%"


def _text(answer: Mapping[str, Any]) -> Any:
    from ..reading.summaries.terminal_text import TextTable, span_text

    reference = answer["reference"]
    before = [
        f"{answer['metric']}: {counted(answer['reports'], 'report')} {span_text(answer)}, reference "
        f"{span_text(reference) or 'without days'} with {counted(reference['reports'], 'report')}",
        f"{100 * answer['confidence']:g}% intervals, which hold together on {counted(answer['looks'], 'day')}",
    ]
    if not answer["looks"]:
        return TextTable([before[0], "Too few reports on one side: 50 are needed on each."], [])
    rows: list[Sequence[str]] = [("value", "reference", "now", "change", "interval", "p", "")]
    for row in answer["values"]:
        numbers = [_number(answer, row[name]) for name in ("reference", "now", "difference", "low", "high")]
        words = f"changed, first seen on {row['first_seen']}" if row["changed"] else "no change seen"
        p_value = "-" if row["p_value"] is None else f"{row['p_value']:.2g}"
        rows.append((row["value"], *numbers[:3], f"{numbers[3]} to {numbers[4]}", p_value, words))
    return TextTable(before, rows)
