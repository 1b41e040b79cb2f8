"""The commands of ``python -m dither``, one function each; what they return is the exit status."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime

from dither_shared.audit import Finding, audit
from dither_shared.entropy import SystemEntropy
from dither_shared.errors import ParameterError
from dither_shared.mechanism import Mechanism
from dither_shared.mechanisms import MECHANISMS
from dither_shared.metric import load_metrics

from .client import Client
from .explain import PERIODS, catalogue
from .lint import lint
from .status import MetricStatus, Status

__all__ = ["DEVELOPERS", "USERS"]


def _status(client: Client, options: argparse.Namespace) -> int:
    status = client.status()
    print(_json(asdict(status)) if options.json else _status_text(status))
    return 0


def _ledger(client: Client, options: argparse.Namespace) -> int:
    metrics = client.status().metrics
    if options.json:
        names = ("name", "version", "reports", "spent", "cap")
        print(_json([{name: getattr(metric, name) for name in names} for metric in metrics]))
        return 0
    rows: list[tuple[str, ...]] = [("metric", "version", "reports", "epsilon spent", "cap")]
    rows += [(one.name, one.version, str(one.reports), f"{one.spent:.3g}", _number(one.cap)) for one in metrics]
    print(_table(rows))
    return 0


def _preview(client: Client, options: argparse.Namespace) -> int:
    return _bodies(client.preview(), "nothing waits to be sent")


def _sent(client: Client, options: argparse.Namespace) -> int:
    return _bodies(client.sent(), "nothing was sent yet")


def _choose(client: Client, options: argparse.Namespace) -> int:
    if options.command != "off":
        print(client.consent_text(), end="\n\n")
    client.consent(options.command)
    if _in_trouble(client):
        return 1
    print(_status_text(client.status()))
    return 0


def _forget(client: Client, options: argparse.Namespace) -> int:
    client.forget()
    if _in_trouble(client):
        return 1
    print("telemetry is off; the secret, the ledger and the outbox of this device are deleted.")
    print("Reports that were sent carry no identity: nobody can tell which were yours, and they cannot be recalled.")
    return 0


def _lint(options: argparse.Namespace) -> int:
    findings = lint(load_metrics(options.metrics).values(), _today())
    for finding in findings:
        print(f"{options.metrics}: {finding}")
    return 1 if findings else 0


def _catalogue(options: argparse.Namespace) -> int:
    print(catalogue(load_metrics(options.metrics).values()), end="")
    return 0


def _audit(options: argparse.Namespace) -> int:
    """Print a table of findings; the exit status is 1 if any mechanism tells more than it declares."""
    rows: list[tuple[str, ...]] = [
        ("metric", "mechanism", "reports", "declared", "at least", "confidence", "event", "")
    ]
    passed = True
    for name, mechanism in _audited(options):
        found = audit(mechanism, SystemEntropy(), options.draws, options.reports)
        rows.append(_finding(name, found))
        passed = passed and found.passed
    print(_table(rows))
    return 0 if passed else 1


def _audited(options: argparse.Namespace) -> list[tuple[str, Mechanism]]:
    if (options.metrics is None) == (options.mechanism is None):
        raise ParameterError("audit", "needs --metrics FILE or --mechanism NAME, and not both")
    if options.metrics is not None:
        return [(metric.name, metric.mechanism) for metric in load_metrics(options.metrics).values()]
    if options.mechanism not in MECHANISMS:
        raise ParameterError("--mechanism", f"{options.mechanism!r} is not one of {', '.join(MECHANISMS)}")
    given = {"epsilon": options.epsilon, "permanent_epsilon": options.permanent_epsilon}
    parameters = {key: value for key, value in given.items() if value is not None}
    family = MECHANISMS[options.mechanism]
    for key in parameters.keys() - family.keys:
        raise ParameterError(f"--{key.replace('_', '-')}", f"{family.name} has no such parameter")
    return [("-", family.configure(options.size, parameters))]


def _finding(name: str, found: Finding) -> tuple[str, ...]:
    numbers = (str(found.reports), f"{found.declared:.4f}", f"{found.lower_bound:.4f}", f"{found.confidence:g}")
    return (name, found.mechanism, *numbers, found.event, "ok" if found.passed else "VIOLATION")


def _in_trouble(client: Client) -> bool:
    """Say what went wrong, if anything did."""
    trouble = client.status().trouble
    for what in trouble:
        print(f"dither: {what}", file=sys.stderr)
    return bool(trouble)


def _bodies(bodies: Sequence[bytes], otherwise: str) -> int:
    for body in bodies:
        print(body.decode("ascii"))
    if not bodies:
        print(f"dither: {otherwise}", file=sys.stderr)
    return 0


def _status_text(status: Status) -> str:
    lines = [f"telemetry is {status.mode} (decided by {status.decided_by})"]
    lines += [_metric_text(metric) for metric in status.metrics]
    lines.append(f"{status.queued} waiting, {status.sent} sent, {status.dropped} dropped, {status.shown} only shown")
    lines += [f"trouble: {what}, {_many(times, 'time')}" for what, times in status.trouble.items()]
    return "\n".join(lines)


def _metric_text(metric: MetricStatus) -> str:
    since = f" since {metric.since}" if metric.since and metric.state == "collected" else ""
    until = f", asked until {metric.expires}" if metric.expires else ""
    return (
        f"{metric.name}: {metric.description or 'no description'}\n"
        f"    {metric.state}{since}; reported {PERIODS[metric.period]}{until}\n"
        f"    {metric.odds}\n"
        f"    {metric.cost}\n"
        f"    {_many(metric.reports, 'report')} drawn, epsilon {metric.spent:.3g} spent"
    )


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _json(value: object) -> str:
    return json.dumps(value, indent=2, default=date.isoformat)


def _today() -> date:
    return datetime.now(UTC).date()


USERS: dict[str, Callable[[Client, argparse.Namespace], int]] = {
    "status": _status,
    "preview": _preview,
    "sent": _sent,
    "ledger": _ledger,
    "on": _choose,
    "local": _choose,
    "off": _choose,
    "forget": _forget,
}

DEVELOPERS: dict[str, Callable[[argparse.Namespace], int]] = {"lint": _lint, "catalogue": _catalogue, "audit": _audit}
