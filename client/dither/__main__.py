"""``python -m dither``: what a user can see and decide, without the app.

python -m dither status  --metrics metrics.toml --app notes
python -m dither preview --metrics metrics.toml --app notes
python -m dither on      --metrics metrics.toml --app notes      (or local, or off)
"""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from dither_shared.errors import ParameterError

from .client import Client
from .status import MetricStatus, Status

__all__ = ["main"]


class _Nowhere:
    """An endpoint that is never asked: the command looks, and decides, and sends nothing."""

    def send(self, body: bytes) -> NoReturn:
        """Refuse."""
        raise OSError("this command sends nothing")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        client = Client(
            options.metrics, "", options.app, options.state, transport=_Nowhere(), background=False, strict=True
        )
    except ParameterError as error:
        print(f"dither: {error}", file=sys.stderr)
        return 2
    if options.command == "preview":
        for body in client.preview():
            print(body.decode("ascii"))
        return 0
    if options.command != "status":
        client.consent(options.command)
    print(_text(client.status()))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dither", description="Telemetry of an app, as its user sees it.")
    parser.add_argument("command", choices=("status", "preview", "on", "local", "off"))
    parser.add_argument("--metrics", required=True, metavar="FILE", help="the app's metrics.toml")
    parser.add_argument("--app", required=True, help="the app's name")
    parser.add_argument("--state", metavar="FOLDER", help="where its state is kept, if not in the usual place")
    return parser


def _text(status: Status) -> str:
    lines = [f"telemetry is {status.mode} (decided by {status.decided_by})"]
    lines += [_line(metric) for metric in status.metrics]
    lines.append(f"{status.queued} waiting, {status.sent} sent, {status.dropped} dropped, {status.shown} only shown")
    lines += [f"trouble: {what} ({times} times)" for what, times in status.trouble.items()]
    return "\n".join(lines)


def _line(metric: MetricStatus) -> str:
    forever = "" if metric.forever_epsilon is None else f", {metric.forever_epsilon:.3g} for ever for one value"
    return (
        f"{metric.name}: {metric.description or 'no description'}\n"
        f"    at most one report a period ({metric.period}), epsilon {metric.epsilon:.3g} each{forever}\n"
        f"    {metric.odds}\n"
        f"    {metric.reports} reports drawn, epsilon {metric.spent:.3g} spent"
    )


if __name__ == "__main__":
    sys.exit(main())
