"""The commands of ``python -m dither`` for an app's developer; each returns its exit status."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from dither_shared.counted import counted
from dither_shared.errors import ParameterError
from dither_shared.mechanism import Mechanism
from dither_shared.mechanisms import MECHANISMS
from dither_shared.metrics.definition import load_metrics
from dither_shared.metrics.period import utc_today
from dither_shared.primitives.entropy import SystemEntropy
from dither_shared.privacy.audit import Finding, audit

from ..transparency.explain import catalogue
from ..upload.transport import Endpoint, checked_token
from . import probe
from .compile import compiled_file, refusals, same_file, size_advice, write_whole
from .lint import hints, lint
from .text import language_of, paragraph, table

if TYPE_CHECKING:
    from dither_shared.metrics.metric import Metric


_TERMINAL_PAUSE = 0.1
_OTHER_PAUSE = 5.0


class Progress:
    """Shows on standard error how far a slow command has come: ``total`` steps of ``what``.

    On a terminal that is one line, which changes and is gone at the end; elsewhere it is a line every few seconds.
    """

    def __init__(
        self, what: str, total: int, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what = what
        self._total = max(1, total)
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._terminal = self._stream.isatty()
        self._pause = _TERMINAL_PAUSE if self._terminal else _OTHER_PAUSE
        self._done = 0
        self._shown = clock() - (self._pause if self._terminal else 0)
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._width:
            self._write(f"\r{' ' * self._width}\r")

    def advance(self, steps: int) -> None:
        """Count this many more steps as done."""
        self._done += steps
        now = self._clock()
        if now - self._shown < self._pause:
            return
        self._shown = now
        text = f"{self._what}: {min(100, 100 * self._done // self._total)}%"
        self._width = len(text) if self._terminal else 0  # before writing, because an interrupt may end that
        self._write(f"\r{text}" if self._terminal else f"dither: {text}\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # the reader is gone, but the work goes on
            self._pause = float("inf")


def _lint(options: argparse.Namespace) -> int:
    """Print findings and hints; the exit status is 1 if there are findings."""
    metrics = load_metrics(options.metrics).values()
    findings = lint(metrics, utc_today(), options.app)
    for finding in (*findings, *hints(metrics)):
        print(f"{options.metrics}: {finding}")
    return 1 if findings else 0


def _catalogue(options: argparse.Namespace) -> int:
    say = language_of(options.language)
    print(catalogue(load_metrics(options.metrics).values(), say), end="")
    return 0


_SEPARATE_FILE = (
    "nothing is written; put the metrics for browsers into a separate file, and rename a metric there if it differs "
    "from that of other clients in more than its texts"
)


def _compile(options: argparse.Namespace) -> int:
    """Write the compiled definitions; if some cannot be compiled, name all of them and return 2."""
    output = None if options.output is None else Path(options.output)
    metrics = list(load_metrics(options.metrics).values())
    if output is not None and same_file(output, Path(options.metrics)):
        raise ParameterError(
            "--output", f"{output} is the metrics file itself; name another output file, such as metrics.json"
        )
    refused = [str(refusal) for metric in metrics for refusal in refusals(metric)]
    for refusal in dict.fromkeys(refused):  # a seal applies to the whole file
        print(f"dither: {options.metrics}: {refusal}", file=sys.stderr)
    if refused:
        print(f"dither: {_SEPARATE_FILE}", file=sys.stderr)
        return 2
    say = language_of(options.language)
    text = compiled_file(metrics, say)
    if not say.reviewed:
        print(f"dither: the texts in {say.code!r} are unreviewed: no native speaker has read them", file=sys.stderr)
    if output is None:
        print(text, end="")
    else:
        write_whole(output, text.encode("ascii"))
    if advice := size_advice(metrics, text):
        print(f"dither: {advice}", file=sys.stderr)
    return 0


def _papers(options: argparse.Namespace) -> int:
    """Write the papers; if a file would change that somebody may have edited, write none and return 1."""
    from .papers.assessment import dpia, record_of_processing  # noqa: PLC0415 - other commands need no papers
    from .papers.notices import distributions, privacy_notice, retention_text, telemetry_md  # noqa: PLC0415 - likewise
    from .papers.operator import Operator  # noqa: PLC0415 - likewise
    from .papers.sentences import AppTelemetry  # noqa: PLC0415 - likewise

    if options.example:
        print(Operator.example(), end="")
        return 0
    about = AppTelemetry(Operator.load(options.operator), load_metrics(options.metrics).values())
    made = (privacy_notice, record_of_processing, dpia, retention_text, telemetry_md, distributions)
    texts = {Path(options.output) / draft.file: draft for draft in (make(about) for make in made)}
    written = {path: draft.text(sources=options.sources).encode("utf-8") for path, draft in texts.items()}
    changed = [path for path, text in written.items() if path.exists() and path.read_bytes() != text]
    if changed and not options.force:
        for path in changed:
            print(
                f"dither: {path}: differs from what would be written; nothing is written without --force",
                file=sys.stderr,
            )
        return 1
    Path(options.output).mkdir(parents=True, exist_ok=True)
    for path, text in written.items():
        write_whole(path, text)
        left = texts[path].questions
        print(f"{path}: {counted(left, 'question')} for you to answer" if left else path)
    return 0


def _audit(options: argparse.Namespace) -> int:
    """Print a table of findings; the exit status is 1 if any mechanism leaks more than it declares."""
    rows: list[tuple[str, ...]] = [
        ("metric", "mechanism", "reports", "declared", "at least", "confidence", "event", "")
    ]
    passed = True
    audited = _audited(options)
    for number, (name, mechanism) in enumerate(audited, 1):
        with Progress(f"audit of {mechanism.name} ({number} of {len(audited)})", 2 * options.draws) as progress:
            finding = audit(mechanism, SystemEntropy(), options.draws, options.reports, drawn=progress.advance)
        rows.append(_row(name, finding))
        passed = passed and finding.passed
    print(table(rows))
    return 0 if passed else 1


def _audited(options: argparse.Namespace) -> list[tuple[str, Mechanism]]:
    if (options.metrics is None) == (options.mechanism is None):
        raise ParameterError("audit", "needs either --metrics FILE or --mechanism NAME")
    if options.metrics is not None:
        return [(metric.name, metric.mechanism) for metric in load_metrics(options.metrics).values()]
    if options.mechanism not in MECHANISMS:
        raise ParameterError("--mechanism", f"{options.mechanism!r} is not one of {', '.join(MECHANISMS)}")
    values = {key: getattr(options, key) for key in ("epsilon", "permanent_epsilon", "delta", "at_most")}
    parameters = {key: value for key, value in values.items() if value is not None}
    family = MECHANISMS[options.mechanism]
    for key in parameters.keys() - family.keys:
        raise ParameterError(f"--{key.replace('_', '-')}", f"{family.name} has no such parameter")
    return [("-", family.configure(options.size, parameters))]


def _row(name: str, finding: Finding) -> tuple[str, ...]:
    numbers = (f"{finding.declared:.4f}", f"{finding.lower_bound:.4f}", f"{finding.confidence:g}")
    verdict = "ok" if finding.passed else "VIOLATION"
    return (name, finding.mechanism, str(finding.reports), *numbers, finding.event, verdict)


def _test(options: argparse.Namespace) -> int:
    """Try a collector; the exit status is 1 if some of an app's reports would not be counted."""
    endpoint = Endpoint.parse(options.endpoint)
    token = None if options.token is None else checked_token(options.token)
    metrics: list[Metric] = [] if options.metrics is None else list(load_metrics(options.metrics).values())
    findings = []
    for finding in probe.probe(endpoint, token, metrics):
        findings.append(finding)
        if not options.json:
            print(paragraph(finding.says, f"{_MARKS[finding.result]:8}{finding.step:12}"), flush=True)
    delivers = not any(finding.result == "failed" for finding in findings)
    if options.json:
        steps = [finding._asdict() for finding in findings]
        print(json.dumps({"endpoint": endpoint.url, "delivers": delivers, "steps": steps}, indent=2))
    else:
        print("", paragraph(_verdict(findings, bool(metrics))), sep="\n")
    return 0 if delivers else 1


def _verdict(findings: list[probe.ProbeResult], with_metrics: bool) -> str:
    failed = [finding.step for finding in findings if finding.result == "failed"]
    if not failed and any(finding.step == "relay" for finding in findings):
        return "An app's sealed reports would arrive at the relay; only its collector knows whether they are counted."
    if not failed:
        return "An app's reports would arrive" + (
            " and be counted."
            if with_metrics
            else "; with --metrics FILE, it also checks whether the collector knows the questions."
        )
    metrics = [finding for finding in findings if finding.step == "metric"]
    if set(failed) == {"metric"} and len(failed) < len(metrics):
        return f"Reports of {len(failed)} of {counted(len(metrics), 'metric')} would not be counted."
    return "An app's reports would not be counted there."


_MARKS = {"ok": "ok", "warning": "warning", "failed": "FAILED"}

DEVELOPERS: dict[str, Callable[[argparse.Namespace], int]] = {
    "lint": _lint,
    "catalogue": _catalogue,
    "audit": _audit,
    "compile": _compile,
    "papers": _papers,
    "test": _test,
}
