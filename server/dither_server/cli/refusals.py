"""The command that shows what was refused."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

import click

from dither_shared import ParameterError
from dither_shared.metrics.period import utc_today

from ..reading.query import EstimateQuery
from .options import Found, query_options, settings_options, stored
from .terminal_tables import aligned, printable

if TYPE_CHECKING:
    from ..store import Refusal

_DAYS = timedelta(days=6)
"""Days before the last one that are shown by default, a week with it."""


@click.command("refusals")
@click.option("--metric", "name", metavar="NAME", help="Only batches of this metric.")
@query_options(EstimateQuery, "since", "until")
@click.option("--by-day", is_flag=True, help="Count each day separately.")
@settings_options("db")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_refusals(found: Found, query: EstimateQuery, name: str | None, by_day: bool, as_json: bool) -> None:
    """Show how many batches were refused, of which metric and version, and why; the most frequent first.

    By default, the last week is shown. Each try counts: a batch that is sent again is refused again. Under a version
    that is "unknown here" apps use a definition that this collector does not have: give it their metrics.toml. (no
    metric) counts batches that name no metric of this collector, or could not be read. Each sealed report that does not
    open counts separately.
    """
    last = query.until or utc_today()
    first = query.since or last - _DAYS
    if first > last:
        raise ParameterError("--since", "later than --until")
    with stored(found) as store:
        counted = store.refusals.read(name, first, last)
        ours = {version for _, version in store.definitions.registered()}
    lines = _lines(counted, by_day)
    if as_json:
        described = [_described(line, batches, ours) for line, batches in lines]
        click.echo(json.dumps({"since": str(first), "until": str(last), "refused": described}, indent=2))
    elif lines:
        click.echo(_as_table(lines, ours, by_day))
    else:
        click.echo(f"nothing was refused from {first} to {last}")


def _lines(counts: "Mapping[Refusal, int]", by_day: bool) -> list[tuple["Refusal", int]]:
    """Return the counts that are shown: by day, oldest first, or all under one day; the largest first."""
    sums: Counter[Refusal] = Counter()
    for one, batches in counts.items():
        sums[one if by_day else one._replace(day=date.min)] += batches
    return sorted(sums.items(), key=lambda item: (item[0].day, -item[1], item[0]))


def _described(line: "Refusal", batches: int, ours: Collection[str]) -> dict[str, object]:
    """Return a line as JSON; null means unknown or summed over."""
    return {
        "day": None if line.day == date.min else line.day.isoformat(),
        "metric": line.metric or None,
        "version": line.version or None,
        "registered": line.version in ours if line.version else None,
        "reason": line.kind,
        "batches": batches,
    }


def _reason(kind: str) -> str:
    """Return a reason with its unit, unless that is batches: sealed reports are refused one by one."""
    from dither_serving.problems import Kind

    return f"{kind} (reports)" if kind == Kind.SEALED.slug else kind


def _as_table(lines: Sequence[tuple["Refusal", int]], ours: Collection[str], by_day: bool) -> str:
    table = [("day         reason" if by_day else "reason", "refused", "version", "metric")]
    for line, batches in lines:
        version = line.version or "-"
        note = "" if line.version in ours or not line.version else " (unknown here)"
        metric = printable(line.metric) or "(no metric)"
        reason = f"{line.day}  {_reason(line.kind)}" if by_day else _reason(line.kind)
        table.append((reason, f"{batches:,}", version, metric + note))
    return "\n".join(aligned(table))
