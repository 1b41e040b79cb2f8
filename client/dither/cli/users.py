"""Commands by which users see telemetry and decide about it, in ``python -m dither`` and in apps that offer them.

    from dither.cli.users import run

    if sys.argv[1:2] == ["telemetry"]:  # notes telemetry status, preview, sent, ledger, on, local, off, forget
        sys.exit(run(telemetry, sys.argv[2:], program="notes telemetry"))

``telemetry`` is the app's own ``Client``, so its user need not know where its definitions and state are stored.
"""

import argparse
import sys
from collections.abc import Callable, Sequence

from dither_shared.languages import ENGLISH, Language
from dither_shared.standard_output import written_whole

from ..client import Client
from ..reporting.app_name_clash import is_about_app_name_clash
from ..transparency.status_fields import MetricStatus, Status
from ..upload.transport import PLAIN_HTTP
from .text import as_json, attempt_text, plain, table


def run(client: Client, arguments: Sequence[str] = (), program: str = "telemetry") -> int:
    """Run a user's command on an app's client; return the exit status: 0, 1 if it failed, 2 for a usage error.

    ``arguments`` are what the user typed after ``program``, such as ``["on"]`` or ``["status", "--json"]``; without any
    the status is shown. ``python -m dither --help`` lists the commands. Prints, and never exits the program.
    """
    say = client.language
    parser = argparse.ArgumentParser(prog=program, description=say("help.program"))
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in USERS:
        add_command(subparsers, name, say)
    try:
        options = parser.parse_args(arguments or ["status"])
    except SystemExit as end:  # argparse has printed a usage error, or the help
        return end.code if isinstance(end.code, int) else 2
    try:
        with written_whole(program):
            return USERS[options.command](client, options)
    except SystemExit:  # the reader has closed the pipe, or the disk is full, which was already printed
        return 1


def add_command(
    subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    say: Language = ENGLISH,
) -> argparse.ArgumentParser:
    """Add a command to a parser, with its help, and return its own parser."""
    about = say(f"help.{name}")
    parser = subparsers.add_parser(name, help=about, description=about)
    if name in _WITH_JSON:
        parser.add_argument("--json", action="store_true", help=say("help.json"))
    if name == "on":
        parser.add_argument("--yes", action="store_true", help=say("help.yes"))
    return parser


def _status(client: Client, options: argparse.Namespace) -> int:
    status = client.status()
    print(as_json(status) if options.json else _status_text(status, client.language))
    return 0


def _ledger(client: Client, options: argparse.Namespace) -> int:
    metrics = client.status().metrics
    if options.json:
        names = ("name", "version", "reports", "spent", "cap")
        print(as_json([{name: getattr(metric, name) for name in names} for metric in metrics]))
        return 0
    say = client.language
    rows: list[tuple[str, ...]] = [tuple(say("ledger.head").split("|"))]
    rows += [
        (metric.name, metric.version, str(metric.reports), _number(metric.spent, say), _number(metric.cap, say))
        for metric in metrics
    ]
    print(table(rows))
    return 0


def _preview(client: Client, options: argparse.Namespace) -> int:
    status, say = client.status(), client.language
    off = say("preview.off", by=say.again("by.", status.decided_by))
    return _bodies(client, client.preview(), off if status.mode == "off" else say("preview.none"))


def _sent(client: Client, options: argparse.Namespace) -> int:
    return _bodies(client, client.sent(), client.language("sent.none"))


def _choose(client: Client, options: argparse.Namespace) -> int:
    if options.command != "off":
        print(client.consent_text(), end="\n\n")
    say = client.language
    if options.command == "on" and not (options.yes or _agreed(say)):
        print(say("agree.unchanged"))
        return 1
    client.consent(options.command)
    if _print_problems(client):
        return 1
    print(_status_text(client.status(), say))
    return 0


def _agreed(say: Language) -> bool:
    """Ask whether reports may be sent; no answer, or any but yes, means no."""
    try:
        return input(f"{say('agree')} ").strip().lower() in say("agree.yes").split("|")
    except (EOFError, KeyboardInterrupt, OSError, RuntimeError, ValueError):  # no answer, or no input
        print()
        return False


def _forget(client: Client, options: argparse.Namespace) -> int:
    client.forget()
    if _print_problems(client):
        return 1
    print(client.language("forget.done"))
    print(client.language("forget.sent"))
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


def _status_text(status: Status, say: Language) -> str:
    by = say.again("by.", status.decided_by)
    lines = [say("status.mode", mode=say(f"mode.{status.mode}"), by=by)]
    lines += [status.relayed] if status.relayed else []
    lines += [_metric_text(metric, say) for metric in status.metrics]
    counts = {"queued": status.queued, "sent": status.sent, "dropped": status.dropped, "shown": status.shown}
    lines.append(say("status.counts", **counts))
    if status.last_attempt is not None:
        lines.append(attempt_text(status.last_attempt, status.failed_attempts, say))
    lines += [status.held_up] if status.held_up else []
    lines += [say.count("status.trouble", times, what=what) for what, times in status.trouble.items()]
    return "\n".join(lines)


_STATES = {"not asked this period": "state.unasked", "not accepted": "state.accepted"}
"""Identifiers of the texts of states that do not have the state's own name."""


def _metric_text(metric: MetricStatus, say: Language) -> str:
    state = say(_STATES.get(metric.state, f"state.{metric.state}"))
    if metric.since and metric.state == "collected":
        state = say("status.since", state=state, day=metric.since)
    often = [say("status.reported", state=state, often=say(f"period.{metric.period}"))]
    if metric.one_of:
        often.append(say("status.survey", count=len(metric.one_of), names=", ".join(metric.one_of)))
    if metric.expires:
        often.append(say("status.until", day=metric.expires))
    lines = [f"{metric.name}: {metric.description or say('missing.description')}", ", ".join(often), metric.odds]
    if metric.in_the_clear:
        lines.append(say("status.clear", words=metric.in_the_clear))
    if metric.sealed_for:
        lines.append(say("status.sealed", key=metric.sealed_for))
    drawn = say.count("status.drawn", metric.reports, spent=_number(metric.spent, say))
    return "\n    ".join([*lines, metric.cost, drawn])


def _number(value: float | None, say: Language) -> str:
    return "-" if value is None else say.number(f"{value:.3g}")


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
"""The commands of users; each returns its exit status."""

_WITH_JSON = frozenset({"status", "ledger"})
