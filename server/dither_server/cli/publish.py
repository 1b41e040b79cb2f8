"""The command ``publish``, which writes a site of the answers for everyone to read."""

from datetime import date
from pathlib import Path

import click

from dither_shared import ParameterError
from dither_shared.counted import counted

from .backup import ending_tidily
from .options import Found, denying, refusing, required, settings_options, stored
from .terminal_tables import printable

__all__ = ["publish"]


@click.command()
@settings_options("metrics", "db")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Write this folder, and replace it whole.")
@click.option("--metric", "names", metavar="METRIC", multiple=True, help="Publish only this metric. Repeatable.")
@click.option("--title", default="What people answered", show_default=True, help="Title of the site.")
@click.option("--base-url", metavar="URL", help="Address of the site, for links of its feed that work everywhere.")
@click.option("--since", metavar="DAY", help="First UTC day, such as 2026-11-01.")
@click.option("--until", metavar="DAY", help="Last UTC day, included.  [default: the last that is over]")
@click.option("--confidence", default="0.95", show_default=True, help="Confidence level of the intervals.")
@click.option("--discovered", is_flag=True, help="Publish strings that were discovered, too: read them before.")
@refusing
def publish(
    found: Found,
    out: Path,
    names: tuple[str, ...],
    title: str,
    base_url: str | None,
    since: str | None,
    until: str | None,
    confidence: str,
    discovered: bool,
) -> None:
    """Write a site of the answers: pages without a script, tables, metrics.toml and a feed of changes.

    Only days that are over are in it, so the same reports make the same files, byte for byte. The folder is replaced
    whole or not at all. One that publish did not write is left alone. Exits with 1 if the site could not be written.
    """
    from dither_shared import load_metrics
    from dither_shared.metrics.period import utc_today

    from ..dashboard.publishing.editions import Asked, last_whole_day
    from ..dashboard.publishing.site import Site, base_of, title_of
    from ..reading.parameters import confidence_of

    path = required(found, "metrics")
    metrics, definition = load_metrics(path), Path(path).read_bytes()
    base = "" if base_url is None else base_of(base_url)
    with denying(), ending_tidily(), stored(found) as store:
        spool = found["spool_seconds"]
        whole = last_whole_day(utc_today(), store.folds.up_to(), float(str(spool.value)) if spool else 0.0)
        first, last = _days(since, until, whole)
        asked = Asked(first, last, confidence_of(confidence), discovered)
        done = Site(metrics, definition, asked, title_of(title), base, names).publish(store, out)
    for error in done.left_out:
        click.echo(printable(f"left out: {error}"), err=True)
    click.echo(
        printable(f"{out}: {counted(done.metrics, 'metric')} in {counted(done.files, 'file')}, up to {last}"), err=True
    )


def _days(since: str | None, until: str | None, whole: date) -> tuple[date | None, date]:
    """Return the first day that is asked for, if any, and the last; ``whole`` is the last that may be published."""
    from ..reading.parameters import day_of

    first, last = None if since is None else day_of(since, "--since"), whole
    if until is not None and (last := day_of(until, "--until")) > whole:
        raise ParameterError("--until", f"{last} is not over, or not counted whole; {whole} is the last that is")
    if first is not None and first > last:
        raise ParameterError("--since", f"{first} is later than {last}, the last day that is published")
    return first, last
