"""Run and show ``dither-sim audit``: attacks on the installed randomizers (``dither_shared.privacy.audit``)."""

from collections.abc import Sequence
from dataclasses import dataclass

import click

from dither_shared import KeyedEntropy, Mechanism, SystemEntropy
from dither_shared.counted import counted
from dither_shared.privacy.audit import audit

from ...output.tables import render

__all__ = ["Audit", "AuditRow", "perform", "table"]

_HEADER = ("mechanism", "reports", "declared ε", "at least", "by the event", "")


@dataclass(frozen=True)
class Audit:
    """An attack on series of ``reports`` reports; without a seed the noise is the operating system's."""

    mechanism: Mechanism
    reports: int
    draws: int
    confidence: float
    seed: int | None


@dataclass(frozen=True)
class AuditRow:
    """A finding and its verdict: with ``confidence`` the loss of ``reports`` reports is at least ``lower_bound``."""

    mechanism: str
    reports: int
    declared: float
    lower_bound: float
    confidence: float
    draws: int
    event: str
    passed: bool


def perform(one: Audit) -> AuditRow:
    """Carry out an attack. Its stream depends on the seed and on the mechanism, so that no order of audits matters."""
    entropy = SystemEntropy()
    name = one.mechanism.name
    keyed = KeyedEntropy(b"dither-sim audit", str(one.seed).encode(), name.encode())
    finding = audit(one.mechanism, entropy if one.seed is None else keyed, one.draws, one.reports, one.confidence)
    return AuditRow(
        mechanism=finding.mechanism,
        reports=finding.reports,
        declared=finding.declared,
        lower_bound=finding.lower_bound,
        confidence=finding.confidence,
        draws=finding.draws,
        event=finding.event,
        passed=finding.passed,
    )


def table(rows: Sequence[AuditRow]) -> str:
    """Return the findings as a table for a terminal, with their meaning."""
    first = rows[0]
    failed = dict.fromkeys(row.mechanism for row in rows if not row.passed)
    verdict = "none tells more than it declares"
    if failed:
        verdict = click.style(f"VIOLATED by {', '.join(failed)}", fg="red", bold=True)
    return "\n".join(
        (
            render(_HEADER, [_cells(row) for row in rows]),
            "",
            f"{counted(first.draws, 'report')} of each of two inputs; "
            f"bounds at {100 * first.confidence:g} % each: {verdict}.",
            "An audit can find a randomizer that leaks; only the exact laws prove that none does.",
        )
    )


def _cells(row: AuditRow) -> tuple[str, ...]:
    return (
        row.mechanism,
        f"{row.reports:,}",
        f"{row.declared:.4f}",
        f"{row.lower_bound:.4f}",
        row.event,
        "pass" if row.passed else "FAIL",
    )
