"""The command ``rappor-decode``, which decodes the files of google/rappor."""

import json
from typing import TYPE_CHECKING

import click

from dither_shared.counted import counted

from .options import refusing
from .terminal_tables import aligned, printable

if TYPE_CHECKING:
    from ..estimation.fit import Fit
    from .rappor_files import Decodable


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
    from .rappor_files import read

    given = read(params, counts, candidates)
    level = confidence_of(confidence)
    answer = _answer(given, decode(given.table, given.marks, level), level, everything=everything)
    click.echo(json.dumps(answer, indent=2, allow_nan=False) if as_json else _as_table(answer))


def _answer(given: "Decodable", fit: "Fit", confidence: float, *, everything: bool) -> dict[str, object]:
    """Return the result as objects and arrays for JSON."""
    import numpy as np

    from ..estimation.fit import FALSE_DISCOVERIES

    shown = np.flatnonzero(fit.found | everything)
    shown = shown[np.argsort(-fit.frequency[shown], kind="stable")]
    reports = int(given.table.reports.sum())
    error = np.where(np.isfinite(fit.standard_error), fit.standard_error, np.nan)
    return {
        "reports": reports,
        "candidates": len(given.strings),
        "found": int(fit.found.sum()),
        "false_discoveries": FALSE_DISCOVERIES,
        "confidence": confidence,
        "unlisted": {
            "frequency": fit.unlisted,
            "standard_error": fit.unlisted_error,
            "beyond": "candidates" if fit.together else "found",
        },
        "values": [
            {
                "value": given.strings[place],
                "found": bool(fit.found[place]),
                "frequency": float(fit.frequency[place]),
                "count": float(fit.frequency[place] * reports),
                "standard_error": None if np.isnan(error[place]) else float(error[place]),
                "low": float(fit.low[place]),
                "high": float(fit.high[place]),
                "consistent": float(fit.consistent[place]),
            }
            for place in shown
        ],
    }


def _as_table(answer: dict[str, object]) -> str:
    """Return the result as text; shares are in percent."""
    rest, values, confidence = answer["unlisted"], answer["values"], answer["confidence"]
    reports, candidates = answer["reports"], answer["candidates"]
    assert isinstance(confidence, float)  # noqa: S101 - as _answer made them
    assert isinstance(reports, int)  # noqa: S101
    assert isinstance(candidates, int)  # noqa: S101
    false = answer["false_discoveries"]
    assert isinstance(false, float)  # noqa: S101
    assert isinstance(rest, dict)  # noqa: S101
    assert isinstance(values, list)  # noqa: S101
    beyond = "none of the candidates" if rest["beyond"] == "candidates" else "none of those found"
    head = (
        f"{counted(reports, 'report')}, {counted(candidates, 'candidate')}, {answer['found']:,} found "
        f"(an expected {100 * false:g}% of them are not there); {100 * confidence:g}% intervals\n"
        f"{100 * rest['frequency']:.1f}% ± {100 * rest['standard_error']:.1f} (standard error) hold {beyond}"
    )
    rows = [("value", "share %", "count", "interval", "consistent", "found")]
    for row in values:
        interval = f"{100 * row['low']:.2f} to {100 * row['high']:.2f}"
        share, consistent = (f"{100 * row[name]:.2f}" for name in ("frequency", "consistent"))
        found = "yes" if row["found"] else "no"
        rows.append((printable(row["value"]), share, f"{row['count']:,.0f}", interval, consistent, found))
    return "\n".join([head, "", *aligned(rows)])
