"""The command ``dither-sim demo``: the whole path once, from a person's answer on a device to an estimate with a chart.

It uses client and collector unchanged; nothing that they need is here.
"""

from pathlib import Path

import click

from dither_shared import ParameterError

from ...choices import DEVICES, VISITORS
from ...options import input_options


@click.command()
@click.option(
    "--devices",
    "--visitors",
    "devices",
    type=click.IntRange(1, 10**6),
    help=f"Number of devices, or of visitors.  [default: {DEVICES}; {VISITORS} with --browser; all rows of --input]",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed from which users are drawn."
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    help="Number of devices that run at the same time.  [default: 32; 8 with --browser]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Write charts and the database into this folder."
)
@input_options
@click.option("--browser", is_flag=True, help="Let visitors answer on a web page, in Chromium (only in a checkout).")
@click.option("--no-http", is_flag=True, help="Run the devices' randomizers alone, seeded: no client, no collector.")
@click.option(
    "--repeats", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Number of runs, with --no-http."
)
def demo(
    devices: int | None,
    seed: int,
    jobs: int | None,
    as_json: bool,
    out: Path | None,
    source: Path | None,
    column: str | None,
    browser: bool,
    no_http: bool,
    repeats: int,
) -> None:
    """Run the whole path once: devices with real clients, a real collector, and its estimates.

    The users are drawn from a table of browser usage, or are the rows of --input. The seed draws the users; the noise
    of their devices comes from the operating system, except with --no-http. With --browser they are visitors of a web
    page, each in a separate browser context, who fill in its form.
    """
    if repeats > 1 and not no_http:
        raise ParameterError("--repeats", "needs --no-http")
    if no_http and out is not None:
        raise ParameterError("--out", "cannot be used with --no-http, which only counts")
    if no_http and as_json:
        raise ParameterError("--json", "cannot be used with --no-http, which only counts")
    if browser and (no_http or source or column):
        raise ParameterError("--browser", "cannot be used with --no-http or --input: its page has its own questions")
    from . import showing

    if browser:
        with showing.visitors(jobs or 8) as visitors:
            showing.show_all(showing.asked_on_the_page(devices, seed), out, visitors, as_json=as_json)
        return
    survey = showing.survey_of(devices, seed, source, column)
    if no_http:
        showing.count(survey, seed, repeats)
    else:
        showing.show_all(survey, out, showing.devices(jobs or 32), as_json=as_json)
