"""Listing: print the apps of this user that keep state, or what is known of one without its definitions."""

import argparse
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dither_shared.errors import did_you_mean

from ..state.folder import apps_folder, check_app_name, default_folder
from ..state.state import StateError
from ..transparency.apps import AppStatus, Listing, apps_in, status_of
from .text import as_json, attempt_text, plain, table


def show(options: argparse.Namespace, environ: Mapping[str, str] | None) -> int:
    """Print all apps, or the one that ``options`` name; return 1 if anything could not be read."""
    if options.app is None and options.state is None:
        return _show_all(apps_in(Path(apps_folder()), environ), for_programs=options.json)
    if options.app is not None:
        check_app_name(options.app)
    folder = Path(default_folder(options.app) if options.state is None else options.state)
    one = status_of(options.app or folder.absolute().name, folder, environ)
    print(as_json(one) if options.json else _one_text(one))
    return _failed(one.trouble)


def ask_whether_meant(options: argparse.Namespace) -> None:
    """If the app that ``options`` names has no state, but one with a similar name has, ask whether that is meant.

    Otherwise a user who misspells a name would read that telemetry is off, or that nothing was sent, and believe it.
    """
    if options.app is None or options.state is not None:
        return
    check_app_name(options.app)
    with suppress(OSError, StateError):  # the command itself says what is wrong
        if not Path(default_folder(options.app)).exists():
            question = did_you_mean(options.app, [path.name for path in Path(apps_folder()).iterdir()])
            if question:
                print(f"dither: nothing is stored for {plain(options.app)}{plain(question)}", file=sys.stderr)


def _show_all(listing: Listing, *, for_programs: bool) -> int:
    problems = [*listing.trouble, *(f"{one.app}: {what}" for one in listing.apps for what in one.trouble)]
    if for_programs:
        print(as_json(listing))
        return _failed(problems)
    if listing.apps:
        print(table([_HEAD, *map(_row, listing.apps)]))
    elif not problems:
        print(f"no app has stored anything in {plain(listing.folder)}")
    for one in listing.apps:
        if one.last_attempt is not None and not one.last_attempt.accepted:
            print(f"the last upload of {plain(one.app)} failed")
        if one.held_up:
            print(f"{plain(one.app)}: {one.held_up}")
    for strange in listing.foreign:
        print(f"left out: {plain(strange)}")
    if listing.apps:
        print("\nDetails of one app: python -m dither status --app NAME")
        print("Turn one off: python -m dither off --app NAME")
    return _failed(problems)


_HEAD = ("app", "mode", "waiting", "sent", "last report", "decided by")


def _row(one: AppStatus) -> tuple[str, ...]:
    last = "-" if one.last_day is None else one.last_day.isoformat()
    return (plain(one.app), one.mode, str(one.waiting), str(one.sent), last, one.decided_by)


def _one_text(one: AppStatus) -> str:
    lines = [f"telemetry of {plain(one.app)} is {one.mode} (decided by {one.decided_by})"]
    lines.append(
        f"its state is kept in {plain(one.folder)}" + ("" if Path(one.folder).exists() else ", which is not there yet")
    )
    if one.metrics:
        lines += ["", *_metrics_text(one), ""]
    if one.sealed:
        lines.append(f"{one.sealed} of the waiting reports are sealed: only the collector can read them")
    lines.append(f"{one.waiting} waiting, {one.sent} sent, {one.dropped} dropped, {one.shown} only shown")
    if one.last_attempt is not None:
        lines.append(plain(attempt_text(one.last_attempt, one.failed_attempts)))
    lines += [one.held_up] if one.held_up else []
    lines.append("Its questions are in its metrics.toml: --metrics FILE shows them, too.")
    return "\n".join(lines)


def _metrics_text(one: AppStatus) -> list[str]:
    rows: list[tuple[str, ...]] = [("metric", "version", "reports", "epsilon spent", "last report")]
    rows += [
        (each.name, each.version, str(each.reports), f"{each.spent:.3g}", str(each.last_day or "-"))
        for each in one.metrics
    ]
    return table([tuple(map(plain, row)) for row in rows]).split("\n")


def _failed(problems: list[str] | tuple[str, ...]) -> int:
    """Print problems; return the exit status."""
    for problem in problems:
        print(f"dither: {plain(problem)}", file=sys.stderr)
    return 1 if problems else 0
