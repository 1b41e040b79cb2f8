"""Read the three CSV files from which google/rappor decodes, and format what is decoded.

- params: the header ``k,h,m,p,q,f`` and one row: bits, hashes, cohorts, and the probabilities of the paper;
- counts: one row per cohort: its reports, and for each of the k bits how many of them had a 1;
- map: one row per candidate: the string, and the 1-based positions ``cohort·k + bit + 1`` of the bits that it marks.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither_shared import ParameterError
from dither_shared.counted import counted

from ..estimation.decoders.linear_system import BitCounts
from ..estimation.estimate import Unlisted
from ..estimation.fit import FALSE_DISCOVERIES, Fit
from ..estimation.hashing import Marks
from .terminal_tables import aligned, printable

_HEADER = ["k", "h", "m", "p", "q", "f"]
_BLOCK = 20_000
"""Candidates whose positions are sorted together."""


@dataclass(frozen=True)
class _Decodable:
    """A table of counts and the bits of candidate strings."""

    table: BitCounts
    strings: tuple[str, ...]
    marks: Marks


def read(params: str, counts: str, candidates: str) -> _Decodable:
    """Read the three files; raise ParameterError that names the file, the line and what would be right."""
    bits, hashes, cohorts, low, high = _params(params)
    table = _counts(counts, bits, cohorts)
    strings, marks = _map(candidates, bits, hashes, cohorts)
    return _Decodable(BitCounts(table[:, 0], table[:, 1:], high, low), strings, marks)


def _params(path: str) -> tuple[int, int, int, float, float]:
    """Return k, h, m and the probabilities with which an unmarked and a marked bit are reported as 1."""
    rows = list(_rows(path))
    if len(rows) != 2 or [cell.strip() for cell in rows[0][1]] != _HEADER or len(rows[1][1]) != len(_HEADER):
        raise ParameterError(path, f"one header, {','.join(_HEADER)}, and one row of numbers are needed")
    try:
        bits, hashes, cohorts = (int(cell) for cell in rows[1][1][:3])
        p, q, f = (float(cell) for cell in rows[1][1][3:])
    except ValueError:
        raise ParameterError(path, "line 2: k, h and m must be whole numbers, and p, q and f numbers") from None
    if not (2 <= bits < 1 << 16 and 1 <= hashes < bits and 1 <= cohorts <= 1 << 20):
        raise ParameterError(
            path,
            f"line 2: k={bits}, h={hashes}, m={cohorts} cannot be used; they must satisfy k >= 2, 1 <= h < k "
            "and m >= 1",
        )
    if not (0 <= p <= 1 and 0 <= q <= 1 and 0 <= f < 1) or p == q:
        raise ParameterError(
            path, f"line 2: p={p}, q={q}, f={f} cannot be used; they must be probabilities with p not q and f below 1"
        )
    return bits, hashes, cohorts, p + (q - p) * f / 2, q - (q - p) * f / 2


def _counts(path: str, bits: int, cohorts: int) -> NDArray[np.int64]:
    table = np.zeros((cohorts, 1 + bits), dtype=np.int64)
    lines = list(_rows(path))
    if len(lines) != cohorts:
        raise ParameterError(path, f"{counted(len(lines), 'row')}; there must be one for each of m = {cohorts} cohorts")
    for cohort, (line, row) in enumerate(lines):
        if len(row) != 1 + bits:
            raise ParameterError(
                path, f"line {line}: {counted(len(row), 'cell')}; there must be a total and k = {bits} counts"
            )
        table[cohort] = _whole(path, line, row)
        if (table[cohort] < 0).any() or (table[cohort, 1:] > table[cohort, 0]).any():
            raise ParameterError(
                path, f"line {line}: a count must lie between 0 and the total, which is the first cell"
            )
    if not table[:, 0].any():
        raise ParameterError(path, "has no reports; the first cell of each row must be their number")
    return table


def _map(path: str, bits: int, hashes: int, cohorts: int) -> tuple[tuple[str, ...], Marks]:
    """Read candidates in blocks: two bytes for each mark stay in memory."""
    strings: list[str] = []
    parts: list[Marks] = []
    rows = _rows(path)
    while block := list(islice(rows, _BLOCK)):
        strings.extend(row[0] for _, row in block)
        parts.append(_marked(path, block, bits, hashes, cohorts))
    if not strings:
        raise ParameterError(path, "has no candidates; a row is a string and the positions of its bits")
    return tuple(strings), np.concatenate(parts, axis=2)


def _marked(path: str, block: list[tuple[int, list[str]]], bits: int, hashes: int, cohorts: int) -> Marks:
    """Return the marks of some rows; if two hashes of a candidate fall on one bit, it marks one bit less."""
    cells = cohorts * bits
    each = [np.unique(_whole(path, line, row[1:])) for line, row in block]
    for (line, _), positions in zip(block, each, strict=True):
        if not len(positions):
            raise ParameterError(path, f"line {line}: a string without positions marks nothing")
        if not 1 <= positions[0] <= positions[-1] <= cells:
            raise ParameterError(path, f"line {line}: positions go from 1 to m·k = {cells}")
    places = np.repeat(np.arange(len(each)), [len(positions) for positions in each])
    cohort, bit = np.divmod(np.concatenate(each) - 1, bits)
    group = places * cohorts + cohort
    rank = np.arange(len(group)) - np.searchsorted(group, group)
    if (rank >= hashes).any():
        line = block[int(places[rank.argmax()])][0]
        raise ParameterError(path, f"line {line}: more than h = {hashes} bits in one cohort")
    marks = np.full((cohorts, hashes, len(block)), bits, dtype=np.uint16)
    marks[cohort, rank, places] = bit
    return marks


def _whole(path: str, line: int, cells: list[str]) -> NDArray[np.int64]:
    try:
        return np.array(cells, dtype=np.int64)
    except (ValueError, OverflowError):
        raise ParameterError(path, f"line {line}: a cell is not a whole number") from None


def _rows(path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file that are not empty, with their line numbers."""
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file)
            for row in reader:
                if row:
                    yield reader.line_num, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else "not CSV in UTF-8"
        raise ParameterError(path, f"cannot be read: {reason}") from None


def answer_of(given: _Decodable, fit: Fit, confidence: float, *, everything: bool) -> dict[str, object]:
    """Return the result as objects and arrays for JSON."""
    shown = np.flatnonzero(fit.found | everything)
    shown = shown[np.argsort(-fit.frequency[shown], kind="stable")]
    reports = int(given.table.reports.sum())
    error = np.where(np.isfinite(fit.standard_error), fit.standard_error, np.nan)
    rest = Unlisted.of(fit.unlisted, fit.unlisted_error, confidence)
    return {
        "reports": reports,
        "candidates": len(given.strings),
        "found": int(fit.found.sum()),
        "false_discoveries": FALSE_DISCOVERIES,
        "confidence": confidence,
        "unlisted": None if rest is None else asdict(rest),
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


def as_table(answer: Mapping[str, Any]) -> str:
    """Return the result as text; shares are in percent."""
    rest, values, confidence = answer["unlisted"], answer["values"], answer["confidence"]
    reports, candidates = counted(answer["reports"], "report"), counted(answer["candidates"], "candidate")
    head = (
        f"{reports}, {candidates}, {answer['found']:,} found "
        f"(an expected {100 * FALSE_DISCOVERIES:g}% of them are false); {100 * confidence:g}% intervals"
    )
    if rest is not None:
        ends = f"{100 * rest['low']:.1f} to {100 * rest['high']:.1f}"
        head += f"\n{100 * rest['frequency']:.1f}% ({ends}) hold none of the candidates"
    rows = [("value", "share %", "count", "interval", "consistent", "found")]
    for row in values:
        interval = f"{100 * row['low']:.2f} to {100 * row['high']:.2f}"
        share, consistent = (f"{100 * row[name]:.2f}" for name in ("frequency", "consistent"))
        found = "yes" if row["found"] else "no"
        rows.append((printable(row["value"]), share, f"{row['count']:,.0f}", interval, consistent, found))
    return "\n".join([head, "", *aligned(rows)])
