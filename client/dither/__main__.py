"""``python -m dither``: what a user can see and decide, without the app; and what its developer should check.

status [--json]    the mode and what decided it, the metrics, what they cost and have cost
preview            the exact bytes of the next uploads
sent               the exact bytes of the last uploads
ledger [--json]    what has been spent, metric by metric
on | local | off   show the questions and store the choice
forget             delete the secret, the ledger and the outbox

audit              attack the randomizers, and fail if one of them tells more than it declares
lint               say what the definitions lack
catalogue          write the questions down as Markdown
"""

import argparse
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from dither_shared.errors import DitherError

from . import commands
from .client import Client

__all__ = ["main"]

_OF_THE_USER = {
    "status": "the mode and what decided it, the metrics, what they cost and have cost",
    "preview": "the exact bytes of the next uploads",
    "sent": "the exact bytes of the last uploads",
    "ledger": "what has been spent, metric by metric",
    "on": "show the questions, and let answers be collected and sent",
    "local": "let reports be made and shown, and never sent",
    "off": "let nothing be collected",
    "forget": "delete the secret, the ledger and the outbox, and turn telemetry off",
}
_OF_THE_DEVELOPER = {
    "lint": "say what the definitions lack",
    "catalogue": "write the questions down as Markdown",
    "audit": "attack the randomizers, and fail if one tells more than it declares",
}


class _Nowhere:
    """An endpoint that is never asked: the command looks, and decides, and sends nothing."""

    def send(self, body: bytes) -> NoReturn:
        """Refuse."""
        raise OSError("this command sends nothing")


def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] | None = None) -> int:
    """Run the command line; return the exit status. ``environ`` replaces the surroundings, for tests."""
    options = _parser().parse_args(arguments)
    logging.getLogger("dither").addHandler(logging.NullHandler())  # trouble is told by the commands themselves
    try:
        status = _run(options, environ)
        sys.stdout.flush()
    except DitherError as error:
        print(f"dither: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def _run(options: argparse.Namespace, environ: Mapping[str, str] | None) -> int:
    if options.command in _OF_THE_DEVELOPER:
        return commands.DEVELOPERS[options.command](options)
    return commands.USERS[options.command](_client(options, environ), options)


def _client(options: argparse.Namespace, environ: Mapping[str, str] | None) -> Client:
    return Client(
        options.metrics,
        "",
        options.app,
        options.state,
        transport=_Nowhere(),
        background=False,
        strict=True,
        environ=environ,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dither", description="Telemetry of an app, as its user sees it.")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in _OF_THE_USER.items():
        command = subparsers.add_parser(name, help=text, description=text)
        command.add_argument("--metrics", required=True, metavar="FILE", help="the app's metrics.toml")
        command.add_argument("--app", required=True, help="the app's name")
        command.add_argument("--state", metavar="FOLDER", help="where its state is kept, if not in the usual place")
        if name in {"status", "ledger"}:
            command.add_argument("--json", action="store_true", help="for programs")
    for name, text in _OF_THE_DEVELOPER.items():
        command = subparsers.add_parser(name, help=text, description=text)
        command.add_argument("--metrics", required=name != "audit", metavar="FILE", help="the app's metrics.toml")
        if name == "audit":
            _add_audit(command)
    return parser


def _add_audit(command: argparse.ArgumentParser) -> None:
    command.add_argument("--mechanism", metavar="NAME", help="one mechanism, rather than those of --metrics")
    command.add_argument("--epsilon", type=float, metavar="E", help="its privacy loss for one report")
    command.add_argument("--permanent-epsilon", type=float, metavar="P", help="its privacy loss for ever")
    command.add_argument("--size", type=int, metavar="K", help="how many answers it has; none for any string")
    command.add_argument("--draws", type=int, default=1_000_000, metavar="N", help="reports of each of two inputs")
    command.add_argument("--reports", type=int, default=1, metavar="T", help="reports that one device makes in a row")


if __name__ == "__main__":
    sys.exit(main())
