"""The command ``publish``, which writes a site of the answers for everyone to read."""

from datetime import date, datetime, timedelta
from pathlib import Path

import click

from dither_shared import ParameterError
from dither_shared.counted import counted

from ..config.sources import ResolvedSetting
from ..reading.query import EstimateQuery
from .database import ending_tidily
from .options import Found, query_options, required, settings_options, stored
from .terminal_tables import printable


@click.command()
@settings_options("metrics", "db")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="Write the site to this folder, replacing its content completely.",
)
@click.option("--metric", "names", metavar="METRIC", multiple=True, help="Publish only this metric. Repeatable.")
@click.option("--title", default="What people answered", show_default=True, help="Title of the site.")
@click.option("--base-url", metavar="URL", help="Address of the site, so that links in its feed work everywhere.")
@query_options(EstimateQuery, "since", "until", "confidence")
@click.option("--discovered", is_flag=True, help="Publish discovered strings, too: read them first.")
def publish(
    found: Found,
    query: EstimateQuery,
    out: Path,
    names: tuple[str, ...],
    title: str,
    base_url: str | None,
    discovered: bool,
) -> None:
    """Write a site of the answers: pages without a script, tables, metrics.toml and a feed of changes.

    Only completed days are published, by default all of them. The same reports make the same files, byte for byte.
    The folder is replaced as a whole or not at all. publish only replaces a folder that it wrote. Exits with 1 if the
    site could not be written.
    """
    from dither_shared import load_metrics
    from dither_shared.metrics.period import utc_today

    from ..dashboard.publishing.contents import SiteScope
    from ..dashboard.publishing.site import Site, base_of, title_of

    path = required(found, "metrics")
    metrics, definition = load_metrics(path), Path(path).read_bytes()
    base = "" if base_url is None else base_of(base_url)
    with ending_tidily(), stored(found) as store:
        last = _last_day(query, store.folds.up_to(), found["spool_seconds"])
        scope = SiteScope(query.since, last, query.confidence, discovered)
        done = Site(metrics, definition, scope, title_of(title), base, names).publish(store, out)
    for error in done.left_out:
        click.echo(printable(f"left out: {error}"), err=True)
    if not done.days:
        click.echo(
            f"Only completed days (UTC) are published, and none has reports yet: those of today appear from "
            f"{utc_today() + timedelta(days=1)} on.",
            err=True,
        )
    click.echo(
        printable(f"{out}: {counted(done.metrics, 'metric')} in {counted(done.files, 'file')}, up to {last}"), err=True
    )


def _last_day(query: EstimateQuery, folded: datetime | None, spool_seconds: ResolvedSetting | None) -> date:
    """Return the last day that is published: one that is over and completely counted."""
    from dither_shared.metrics.period import utc_today

    from ..dashboard.publishing.contents import last_whole_day

    whole = last_whole_day(utc_today(), folded, float(str(spool_seconds.value)) if spool_seconds else 0.0)
    last = query.until or whole
    if last > whole:
        raise ParameterError(
            "--until", f"{last} is not over, or not completely counted; the last completed day is {whole}"
        )
    if query.since is not None and query.since > last:
        raise ParameterError("--since", f"{query.since} is later than {last}, the last day that is published")
    return last
