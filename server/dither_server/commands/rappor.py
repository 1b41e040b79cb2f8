"""The commands that exchange RAPPOR's counts with google/rappor, and decode them."""

import json
from contextlib import closing
from pathlib import Path

import click
import numpy as np

from dither_shared import ParameterError, Rappor, load_metrics

from ..decoders.rappor import FALSE_DISCOVERIES, Fit, decode
from ..query import confidence_of
from ..rappor_files import COUNTS, MAP, PARAMS, Decodable, read, write
from ..store import Store
from .options import Found, refusing, required, settings_options, strings_of
from .table import aligned, printable

__all__ = ["rappor_decode", "rappor_export"]


@click.command("rappor-decode")
@click.option("--params", required=True, metavar="FILE", help="Header k,h,m,p,q,f and one row.")
@click.option("--counts", required=True, metavar="FILE", help="A row a cohort: its reports, and the ones in each bit.")
@click.option("--map", "candidates", required=True, metavar="FILE", help="A row a candidate: string and positions.")
@click.option("--confidence", default="0.95", show_default=True, help="Of the intervals.")
@click.option("--all", "everything", is_flag=True, help="Every candidate, not only those found.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refusing
def rappor_decode(params: str, counts: str, candidates: str, confidence: str, everything: bool, as_json: bool) -> None:
    """Decode the files of google/rappor: which candidates are there, and how frequent."""
    given = read(params, counts, candidates)
    level = confidence_of(confidence)
    told = _told(given, decode(given.table, given.marks, level), level, everything=everything)
    click.echo(json.dumps(told, indent=2, allow_nan=False) if as_json else _as_table(told))


@click.command("rappor-export")
@click.argument("metric")
@settings_options("metrics", "db")
@click.option("--candidates", metavar="FILE", help="Strings for the map, one a line; else the definition's.")
@click.option("-o", "--output", required=True, metavar="FOLDER", help=f"Where {PARAMS}, {COUNTS} and {MAP} go.")
@refusing
def rappor_export(found: Found, metric: str, candidates: str | None, output: str) -> None:
    """Write METRIC's counts as the files of google/rappor."""
    path = required(found, "metrics")
    known = load_metrics(path)
    if metric not in known:
        raise ParameterError(metric, f"no such metric; {path} has {', '.join(known)}")
    mechanism = known[metric].mechanism
    if not isinstance(mechanism, Rappor):
        raise ParameterError(metric, f"is of {mechanism.name}; these files are for rappor")
    strings = known[metric].labels if candidates is None else strings_of(candidates)
    if not strings:
        raise ParameterError(metric, "lists no strings to look for; give --candidates")
    with closing(Store(required(found, "db"), create=False)) as store:
        tally = store.tally(known[metric])
    try:
        write(Path(output), mechanism, tally, strings)
    except OSError as error:
        raise ParameterError(output, f"cannot be written: {error.strerror}") from None
    click.echo(f"{tally.total:,} reports and {len(strings):,} candidates in {output}", err=True)


def _told(given: Decodable, fit: Fit, confidence: float, *, everything: bool) -> dict[str, object]:
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


def _as_table(told: dict[str, object]) -> str:
    """Return what was found as text; shares are in percent."""
    rest, values = told["unlisted"], told["values"]
    confidence = told["confidence"]
    assert isinstance(confidence, float)  # noqa: S101 - as _told made them
    assert isinstance(rest, dict)  # noqa: S101
    assert isinstance(values, list)  # noqa: S101
    beyond = "none of the candidates" if rest["beyond"] == "candidates" else "none of those found"
    head = (
        f"{told['reports']:,} reports, {told['candidates']:,} candidates, {told['found']:,} found "
        f"(an expected {100 * FALSE_DISCOVERIES:g}% of them are not there); {100 * confidence:g}% intervals\n"
        f"{100 * rest['frequency']:.1f}% ± {100 * rest['standard_error']:.1f} (standard error) hold {beyond}"
    )
    rows = [("value", "share %", "count", "interval", "consistent", "found")]
    for row in values:
        interval = f"{100 * row['low']:.2f} to {100 * row['high']:.2f}"
        shares = (f"{100 * row[name]:.2f}" for name in ("frequency", "consistent"))
        numbers = (next(shares), f"{row['count']:,.0f}", interval, next(shares))
        rows.append((printable(row["value"]), *numbers, "yes" if row["found"] else "no"))
    return "\n".join([head, "", *aligned(rows)])
