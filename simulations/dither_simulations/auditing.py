"""What ``dither-sim audit`` shows of an attack on the installed randomizers (``dither_shared.audit``)."""

from collections.abc import Sequence
from dataclasses import dataclass

from dither_shared.audit import Finding, audit

from .tables import render

__all__ = ["AuditRow", "audit", "row", "table"]

_HEADER = ("mechanism", "reports", "declared ε", "at least", "by the event", "")


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


def row(finding: Finding) -> AuditRow:
    """Return a finding with its verdict spelt out."""
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


def table(findings: Sequence[Finding]) -> str:
    """Return the findings for a terminal, with what they mean."""
    first = findings[0]
    failed = [finding.mechanism for finding in findings if not finding.passed]
    verdict = f"VIOLATED by {', '.join(failed)}" if failed else "none tells more than it declares"
    return "\n".join(
        (
            render(_HEADER, [_cells(finding) for finding in findings]),
            "",
            f"{first.draws:,} reports of each of two inputs; bounds at {100 * first.confidence:g} % each: {verdict}.",
            "An audit finds a randomizer that leaks; that none does is what the exact laws prove.",
        )
    )


def _cells(finding: Finding) -> tuple[str, ...]:
    return (
        finding.mechanism,
        f"{finding.reports:,}",
        f"{finding.declared:.4f}",
        f"{finding.lower_bound:.4f}",
        finding.event,
        "pass" if finding.passed else "FAIL",
    )
