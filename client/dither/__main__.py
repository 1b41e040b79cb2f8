"""``python -m dither``: what a user can see and decide, without the app; and what its developer should check.

status [--json]    the apps of this user; for one app, the mode, what decided it, the metrics and their cost
preview            the exact bytes of the next uploads
sent               the exact bytes of the last uploads
ledger [--json]    what has been spent, metric by metric
on | local | off   show the questions and store the choice
forget             delete the secret, the ledger and the outbox

test               check that a collector accepts an app's reports
audit              attack the mechanisms, and fail if one leaks more than it declares
lint               check the definitions
catalogue          print the questions as Markdown
compile            compile the definitions to JSON, for the client in JavaScript
papers             write drafts of a privacy notice and other papers
"""

import argparse
import logging
import sys
from collections.abc import Callable, Mapping, Sequence

from dither_shared.errors import DitherError
from dither_shared.languages import LANGUAGES
from dither_shared.standard_output import written_whole

from .cli.developers import DEVELOPERS
from .cli.listing import ask_whether_meant, show
from .cli.text import language_of
from .cli.users import USERS, add_command
from .client import Client
from .upload.transport import Nowhere

_ASKING = frozenset({"ledger", "on", "local"})
"""Commands that show or accept questions, and so need them."""

_APP = "the app's name, such as org.example.notes; no two apps should share one"


def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] | None = None) -> int:
    """Run the command line; return the exit status. ``environ`` replaces the process's environment, for tests."""
    logging.getLogger("dither").addHandler(logging.NullHandler())  # the commands themselves print what went wrong
    try:
        with written_whole("dither"):
            return _run(_options(arguments), environ)
    except DitherError as error:
        print(f"dither: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command == "status" and options.metrics is not None and options.app is None:
        parser.error("status: --metrics needs --app NAME, because it belongs to one app")
    return options


def _run(options: argparse.Namespace, environ: Mapping[str, str] | None) -> int:
    if options.command in DEVELOPERS:
        return DEVELOPERS[options.command](options)
    ask_whether_meant(options)
    if options.command == "status" and options.metrics is None:
        return show(options, environ)
    return USERS[options.command](_client(options, environ), options)


def _client(options: argparse.Namespace, environ: Mapping[str, str] | None) -> Client:
    return Client(
        {} if options.metrics is None else options.metrics,
        "",
        options.app,
        options.state,
        transport=Nowhere(),
        background=False,
        strict=True,
        environ=environ,
        language=language_of(options.language),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dither", description="Show and control an app's telemetry as a user; test it as a developer."
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in USERS:
        command = add_command(subparsers, name)
        command.add_argument("--metrics", required=name in _ASKING, metavar="FILE", help="the app's metrics.toml")
        _add_language(command)
        every = "; all apps of this user if left out" if name == "status" else ""
        command.add_argument("--app", required=name != "status", metavar="NAME", help=_APP + every)
        command.add_argument(
            "--state", metavar="FOLDER", help="read the app's state in this folder instead of the default one"
        )
    for name, (add_arguments, about) in _OF_THE_DEVELOPER.items():
        add_arguments(subparsers.add_parser(name, help=about, description=about))
    return parser


def _add_metrics(command: argparse.ArgumentParser, required: bool = True, more: str = "") -> None:
    command.add_argument("--metrics", required=required, metavar="FILE", help="the app's metrics.toml" + more)


def _add_language(command: argparse.ArgumentParser) -> None:
    about = f"language of the sentences: {', '.join(LANGUAGES)}, or a TOML file of texts by their identifiers"
    command.add_argument("--language", default="en", metavar="CODE", help=about)


def _add_catalogue(command: argparse.ArgumentParser) -> None:
    _add_metrics(command)
    _add_language(command)


def _add_audit(command: argparse.ArgumentParser) -> None:
    _add_metrics(command, required=False)
    command.add_argument("--mechanism", metavar="NAME", help="attack this mechanism instead of those in --metrics")
    command.add_argument("--epsilon", type=float, metavar="E", help="privacy loss of one report")
    command.add_argument(
        "--permanent-epsilon", type=float, metavar="P", help="privacy loss of all reports of one value together"
    )
    command.add_argument(
        "--delta",
        type=float,
        metavar="D",
        help="probability with which epsilon may be exceeded, for mechanisms that allow it",
    )
    command.add_argument("--size", type=int, metavar="K", help="number of answers; omit it for strings and numbers")
    command.add_argument(
        "--at-most", type=int, metavar="W", help="maximum number of answers that one person may choose"
    )
    command.add_argument(
        "--draws", type=int, default=1_000_000, metavar="N", help="draw this many reports of each of two inputs"
    )
    command.add_argument(
        "--reports", type=int, default=1, metavar="T", help="number of successive reports of one device"
    )


def _add_test(command: argparse.ArgumentParser) -> None:
    _add_metrics(command, required=False, more="; each of its versions is checked")
    command.add_argument("--endpoint", required=True, metavar="URL", help="the collector's URL, as the app uses it")
    command.add_argument("--token", help="the app's token, if the collector asks for one")
    command.add_argument("--json", action="store_true", help="print JSON for programs")


def _add_compile(command: argparse.ArgumentParser) -> None:
    command.add_argument("metrics", metavar="FILE", help="the app's metrics.toml")
    command.add_argument("-o", "--output", metavar="FILE", help="write to this file instead of standard output")
    _add_language(command)


def _add_papers(command: argparse.ArgumentParser) -> None:
    command.add_argument("--operator", default="operator.toml", metavar="FILE", help="who runs the telemetry, and how")
    command.add_argument("--metrics", default="metrics.toml", metavar="FILE", help="the app's metrics.toml")
    command.add_argument("-o", "--output", default="papers", metavar="FOLDER", help="write the papers into this folder")
    command.add_argument(
        "--sources", action="store_true", help="show from which settings or tests each sentence follows"
    )
    command.add_argument("--force", action="store_true", help="replace papers that differ")
    command.add_argument("--example", action="store_true", help="print an operator.toml to fill in, and end")


def _add_lint(command: argparse.ArgumentParser) -> None:
    _add_metrics(command)
    command.add_argument("--app", metavar="NAME", help="check the app's name, too")


_OF_THE_DEVELOPER: Mapping[str, tuple[Callable[[argparse.ArgumentParser], None], str]] = {
    "test": (_add_test, "check that a collector accepts an app's reports; no report is sent"),
    "lint": (_add_lint, "check the definitions"),
    "catalogue": (_add_catalogue, "print the questions as Markdown"),
    "audit": (_add_audit, "attack the mechanisms, and fail if one leaks more than it declares"),
    "compile": (_add_compile, "compile the definitions to JSON, for the client in JavaScript"),
    "papers": (
        _add_papers,
        "write drafts of a privacy notice, a record of processing, a DPIA and other papers",
    ),
}

if __name__ == "__main__":
    sys.exit(main())
