"""The command ``rappor-decode``."""

import json

import click

from .options import errors_as_lines


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
