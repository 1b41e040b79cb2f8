"""The command ``dither-sim demo``."""

from pathlib import Path

import click

from dither_shared import ParameterError

from ...limits import DEVICES
from ...options.common import input_options

__all__ = ["demo"]


@click.command()
@click.option(
    "--devices", type=click.IntRange(1, 10**6), help=f"Number of devices.  [default: {DEVICES}; all rows of --input]"
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Draw the users from this seed.")
@click.option("--jobs", type=click.IntRange(1, 1024), default=32, show_default=True, help="Devices that run at a time.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Write charts and the database into this folder."
)
@input_options
@click.option("--no-http", is_flag=True, help="Run the devices' randomizers alone, seeded: no client, no collector.")
@click.option(
    "--repeats", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Number of runs, with --no-http."
)
def demo(
    devices: int | None,
    seed: int,
    jobs: int,
    as_json: bool,
    out: Path | None,
    source: Path | None,
    column: str | None,
    no_http: bool,
    repeats: int,
) -> None:
    """Run the whole path once: devices with real clients, a real collector, and its estimates.

    The users are drawn from a table of browser usage, or are the rows of --input. The seed draws the users; the noise
    of their devices comes from the operating system, except with --no-http.
    """
    if repeats > 1 and not no_http:
        raise ParameterError("--repeats", "goes with --no-http")
    if no_http and out is not None:
        raise ParameterError("--out", "goes without --no-http, which only counts")
    if no_http and as_json:
        raise ParameterError("--json", "goes without --no-http, which only counts")
    from .showing import count, show_all, survey_of

    survey = survey_of(devices, seed, source, column)
    if no_http:
        count(survey, seed, repeats)
    else:
        show_all(survey, out, jobs, as_json=as_json)
