"""Devices of format 1, as the client of commit 7e49025 left them, and what their journals say."""

import dataclasses
from collections import defaultdict
from pathlib import Path

import dither
from dither.state.journal_records import Debit, Done, FormerDebit, Queued, Record, from_lines
from dither_shared import Batch, Metric, Report

HERE = Path(__file__).with_name("format1")
METRICS = dither.load_metrics(HERE / "metrics.toml")
BY_VERSION = {
    metric.version: metric
    for file in ("metrics", "earlier")
    for metric in dither.load_metrics(HERE / f"{file}.toml").values()
}


def stored(folder: Path) -> list[Record]:
    return from_lines((folder / "journal").read_bytes())[0]


def shown(bodies: list[bytes]) -> dict[str, list[Report]]:
    """Return the reports of each version, in order."""
    found: dict[str, list[Report]] = defaultdict(list)
    for body in bodies:
        batch = Batch.decode(body)
        found[batch.version].append(Report.decode(batch.reports, BY_VERSION[batch.version].mechanism))
    return found


def spending(records: list[Record]) -> dict[str, tuple[int, int]]:
    """Return reports and charges of each version."""
    found: dict[str, tuple[int, int]] = {}
    for record in records:
        if isinstance(record, Debit | FormerDebit):
            reports, charges = found.get(record.version, (0, 0))
            found[record.version] = max(reports, record.reports), max(charges, record.charges)
    return found


def waiting(records: list[Record]) -> list[bytes]:
    done = {record.batch for record in records if isinstance(record, Done)}
    return [record.body for record in records if isinstance(record, Queued) and record.batch not in done]


def capped(values: int) -> dict[str, Metric]:
    return {name: dataclasses.replace(one, cap=(values + 0.5) * one.charge) for name, one in METRICS.items()}
