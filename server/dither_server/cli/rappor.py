"""The commands that exchange RAPPOR's counts with google/rappor, and decode them."""

import json
from pathlib import Path

import click

from dither_shared import ParameterError, Rappor
from dither_shared.counted import counted

from .options import Found, refusing, settings_options, stored, strings_of

__all__ = ["rappor_decode", "rappor_export"]


@click.command("rappor-decode")
@click.option("--params", required=True, metavar="FILE", help="Read parameters: the header k,h,m,p,q,f and one row.")
@click.option(
    "--counts", required=True, metavar="FILE", help="Read counts: a row a cohort, its reports and the ones in each bit."
)
@click.option(
    "--map",
    "candidates",
    required=True,
    metavar="FILE",
    help="Read candidates: a row each, the string and its positions.",
)
@click.option("--confidence", default="0.95", show_default=True, help="Confidence level of the intervals.")
@click.option("--all", "everything", is_flag=True, help="Show every candidate, not only those found.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refusing
def rappor_decode(params: str, counts: str, candidates: str, confidence: str, everything: bool, as_json: bool) -> None:
    """Decode the files of google/rappor: which candidates are there, and how frequent."""
    from ..estimation.regression.rappor import decode
    from ..reading.parameters import confidence_of
    from .rappor_answer import answer_of, as_table
    from .rappor_files import read

    given = read(params, counts, candidates)
    level = confidence_of(confidence)
    answer = answer_of(given, decode(given.table, given.marks, level), level, everything=everything)
    click.echo(json.dumps(answer, indent=2, allow_nan=False) if as_json else as_table(answer))


@click.command("rappor-export")
@click.argument("metric")
@settings_options("metrics", "db")
@click.option(
    "--candidates", metavar="FILE", help="Read the map's strings here, one a line.  [default: those of the definition]"
)
@click.option(
    "-o", "--output", required=True, metavar="FOLDER", help="Write params.csv, counts.csv and map.csv into this folder."
)
@refusing
def rappor_export(found: Found, metric: str, candidates: str | None, output: str) -> None:
    """Write METRIC's counts as the files of google/rappor."""
    from .metric_by_name import metric_asked
    from .rappor_files import write

    with stored(found) as store:
        chosen = metric_asked(found, store, metric)
        mechanism = Rappor.require(chosen.mechanism, metric)
        strings = chosen.labels if candidates is None else strings_of(candidates)
        if not strings:
            raise ParameterError(metric, "lists no strings to look for; give --candidates")
        tally = store.tally(chosen)
    try:
        write(Path(output), mechanism, tally, strings)
    except OSError as error:
        raise ParameterError(output, f"cannot be written: {error.strerror}") from None
    click.echo(f"{counted(tally.total, 'report')} and {counted(len(strings), 'candidate')} in {output}", err=True)
