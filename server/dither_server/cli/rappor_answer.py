"""Format the result of decoding google/rappor's files."""

import numpy as np

from dither_shared.counted import counted

from ..estimation.fit import FALSE_DISCOVERIES, Fit
from .rappor_files import Decodable
from .terminal_tables import aligned, printable

__all__ = ["answer_of", "as_table"]


def answer_of(given: Decodable, fit: Fit, confidence: float, *, everything: bool) -> dict[str, object]:
    """Return the result as objects and arrays for JSON."""
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


def as_table(answer: dict[str, object]) -> str:
    """Return the result as text; shares are in percent."""
    rest, values, confidence = answer["unlisted"], answer["values"], answer["confidence"]
    reports, candidates = answer["reports"], answer["candidates"]
    assert isinstance(confidence, float)  # noqa: S101 - as answer_of made them
    assert isinstance(reports, int)  # noqa: S101
    assert isinstance(candidates, int)  # noqa: S101
    assert isinstance(rest, dict)  # noqa: S101
    assert isinstance(values, list)  # noqa: S101
    beyond = "none of the candidates" if rest["beyond"] == "candidates" else "none of those found"
    head = (
        f"{counted(reports, 'report')}, {counted(candidates, 'candidate')}, {answer['found']:,} found "
        f"(an expected {100 * FALSE_DISCOVERIES:g}% of them are not there); {100 * confidence:g}% intervals\n"
        f"{100 * rest['frequency']:.1f}% ± {100 * rest['standard_error']:.1f} (standard error) hold {beyond}"
    )
    rows = [("value", "share %", "count", "interval", "consistent", "found")]
    for row in values:
        interval = f"{100 * row['low']:.2f} to {100 * row['high']:.2f}"
        share, consistent = (f"{100 * row[name]:.2f}" for name in ("frequency", "consistent"))
        found = "yes" if row["found"] else "no"
        rows.append((printable(row["value"]), share, f"{row['count']:,.0f}", interval, consistent, found))
    return "\n".join([head, "", *aligned(rows)])
