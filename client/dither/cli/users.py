"""Commands by which users see telemetry and decide about it, in ``python -m dither`` and in apps that offer them.

    from dither.cli.users import run

    if sys.argv[1:2] == ["telemetry"]:  # notes telemetry status, preview, sent, ledger, on, local, off, forget
        sys.exit(run(telemetry, sys.argv[2:], program="notes telemetry"))

``telemetry`` is the app's own ``Client``, so its user need not know where its definitions and state are stored.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dither_shared.counted import counted
from dither_shared.standard_output import written_whole

from ..client import Client
from ..core import PLAIN_HTTP
from ..reporting.app_name_clash import is_about_app_name_clash
from ..transparency.explain import PERIODS
from ..transparency.status_fields import MetricStatus, Status
from .text import as_json, attempt_text, plain, table


class Command(NamedTuple):
    """A command: a function that returns the exit status, its help text, and whether it has ``--json``."""

    run: Callable[[Client, argparse.Namespace], int]
    help: str
    json: bool = False


def run(client: Client, arguments: Sequence[str] = (), program: str = "telemetry") -> int:
    """Run a user's command on an app's client; return the exit status: 0, 1 if it failed, 2 for a usage error.

    ``arguments`` are what the user typed after ``program``, such as ``["on"]`` or ``["status", "--json"]``; without any
    the status is shown. ``python -m dither --help`` lists the commands. Prints, and never exits the program.
    """
    parser = argparse.ArgumentParser(prog=program, description="Show what is collected, and choose whether it may be.")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in USERS.items():
        add_command(subparsers, name, command)
    try:
        options = parser.parse_args(arguments or ["status"])
    except SystemExit as end:  # argparse has printed a usage error, or the help
        return end.code if isinstance(end.code, int) else 2
    try:
        with written_whole(program):
            return USERS[options.command].run(client, options)
    except SystemExit:  # the reader has closed the pipe, or the disk is full, which was already printed
        return 1


def add_command(
    subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, command: Command
) -> argparse.ArgumentParser:
    """Add a command to a parser, with its help, and return its own parser."""
    parser = subparsers.add_parser(name, help=command.help, description=command.help)
    if command.json:
        parser.add_argument("--json", action="store_true", help="print JSON for programs")
    if name == "on":
        parser.add_argument("--yes", action="store_true", help="agree without being asked, for scripts")
    return parser


def _status(client: Client, options: argparse.Namespace) -> int:
    status = client.status()
    print(as_json(status) if options.json else _status_text(status))
    return 0


def _ledger(client: Client, options: argparse.Namespace) -> int:
    metrics = client.status().metrics
    if options.json:
        names = ("name", "version", "reports", "spent", "cap")
        print(as_json([{name: getattr(metric, name) for name in names} for metric in metrics]))
        return 0
    rows: list[tuple[str, ...]] = [("metric", "version", "reports", "epsilon spent", "cap")]
    rows += [(one.name, one.version, str(one.reports), f"{one.spent:.3g}", _number(one.cap)) for one in metrics]
    print(table(rows))
    return 0


def _preview(client: Client, options: argparse.Namespace) -> int:
    status = client.status()
    off = f"telemetry is off (decided by {status.decided_by}), so nothing is collected or sent"
    return _bodies(client, client.preview(), off if status.mode == "off" else "nothing waits to be sent")


def _sent(client: Client, options: argparse.Namespace) -> int:
    return _bodies(client, client.sent(), "nothing was sent yet")


def _choose(client: Client, options: argparse.Namespace) -> int:
    if options.command != "off":
        print(client.consent_text(), end="\n\n")
    if options.command == "on" and not (options.yes or _agreed()):
        print("Nothing was changed. To agree in a script, add --yes.")
        return 1
    client.consent(options.command)
    if _print_problems(client):
        return 1
    print(_status_text(client.status()))
    return 0


def _agreed() -> bool:
    """Ask whether reports may be sent; no answer, or any but yes, means no."""
    try:
        return input("Send these reports? [y/N] ").strip().lower() in {"y", "yes"}
    except (EOFError, KeyboardInterrupt, OSError, RuntimeError, ValueError):  # no answer, or no input
        print()
        return False


def _forget(client: Client, options: argparse.Namespace) -> int:
    client.forget()
    if _print_problems(client):
        return 1
    print("telemetry is off; the secret, the ledger and the outbox of this device are deleted.")
    print("Reports that were already sent cannot be recalled: they carry no identity, so nobody can find yours.")
    return 0


def _print_problems(client: Client) -> bool:
    """Print what went wrong, if anything did; return whether the command may have failed because of it."""
    problems = client.status().trouble
    for problem in problems:
        print(f"dither: {problem}", file=sys.stderr)
    return not all(problem == PLAIN_HTTP or is_about_app_name_clash(problem) for problem in problems)


def _bodies(client: Client, bodies: Sequence[bytes], otherwise: str) -> int:
    for body in bodies:
        print(plain(body.decode("ascii", "replace")))
        if says := client.explain(body):
            print(f"    {plain(says)}")
    if not bodies:
        print(f"dither: {otherwise}", file=sys.stderr)
    return 0


def _status_text(status: Status) -> str:
    lines = [f"telemetry is {status.mode} (decided by {status.decided_by})"]
    lines += [status.relayed] if status.relayed else []
    lines += [_metric_text(metric) for metric in status.metrics]
    lines.append(f"{status.queued} waiting, {status.sent} sent, {status.dropped} dropped, {status.shown} only shown")
    if status.last_attempt is not None:
        lines.append(attempt_text(status.last_attempt, status.failed_attempts))
    lines += [status.held_up] if status.held_up else []
    lines += [f"trouble: {what}, {counted(times, 'time')}" for what, times in status.trouble.items()]
    return "\n".join(lines)


_STATES = {"spent": "its cap is reached, so nothing more is collected"}
"""Explanations of states that do not explain themselves."""


def _metric_text(metric: MetricStatus) -> str:
    since = f" since {metric.since}" if metric.since and metric.state == "collected" else ""
    until = f", asked until {metric.expires}" if metric.expires else ""
    clear = f"    sent in the clear, not changed at random: {metric.in_the_clear}\n" if metric.in_the_clear else ""
    sealed = f"    sealed for the collector's key {metric.sealed_for}\n" if metric.sealed_for else ""
    survey = f", one of {len(metric.one_of)} questions ({', '.join(metric.one_of)})" if metric.one_of else ""
    return (
        f"{metric.name}: {metric.description or 'no description'}\n"
        f"    {_STATES.get(metric.state, metric.state)}{since}; reported {PERIODS[metric.period]}{survey}{until}\n"
        f"    {metric.odds}\n{clear}{sealed}"
        f"    {metric.cost}\n"
        f"    {counted(metric.reports, 'report')} drawn, epsilon {metric.spent:.3g} spent"
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


USERS = {
    "status": Command(_status, "show the mode, what decided it, and each metric with its cost", json=True),
    "preview": Command(_preview, "show the exact bytes of the next uploads"),
    "sent": Command(_sent, "show the exact bytes of the last uploads"),
    "ledger": Command(_ledger, "show the privacy spent by each metric", json=True),
    "on": Command(_choose, "show the questions and ask whether answers may be collected and sent"),
    "local": Command(_choose, "make and show reports, but never send them"),
    "off": Command(_choose, "collect nothing"),
    "forget": Command(_forget, "delete the secret, the ledger and the outbox, and turn telemetry off"),
}
