"""The rows of the bench's table, and which of its targets the client meets."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from benchmarks.sdks.subject import EVENTS, FEW

Finding = dict[str, dict[str, list[float]]]
"""Measures of a library, by question and case: one number for each round."""

Findings = dict[str, Finding]
"""By library."""

Pick = Callable[[Iterable[float]], float]


@dataclass(frozen=True)
class Row:
    """One line: which number of a library's findings, and how it is written, with its ratio to ours or without."""

    label: str
    number: Callable[[Finding], float]
    form: str
    ratio: bool = True

    def cell(self, findings: Findings, library: str) -> str:
        """Return the number of a library, or a dash if it was not measured."""
        ours = self.number(findings["dither"])
        try:
            number = self.number(findings[library])
        except (KeyError, ValueError):
            return "-"
        shown = self.form.format(number)
        return f"{shown} ({number / ours:,.1f}x)" if self.ratio and library != "dither" and ours > 0 else shown


def _beyond(question: str, name: str, base: str, pick: Pick, scale: float = 1.0) -> Callable[[Finding], float]:
    """Return a function of findings: the excess of ``name`` over ``base``."""
    return lambda finding: (pick(finding[question][name]) - pick(finding[question][base])) / scale


def _of(question: str, name: str, pick: Pick) -> Callable[[Finding], float]:
    return lambda finding: pick(finding[question][name])


def _startup(label: str, name: str, base: str) -> Iterator[Row]:
    for word, pick in (("least", min), ("median", median)):
        yield Row(
            f"{label}, processor time, {word}",
            _beyond("startup", f"{name}, work", f"{base}, work", pick),
            "{:.1f} ms",
        )
    yield Row(f"{label}, by the clock, least", _beyond("startup", name, base, min), "{:.1f} ms")


def _calls(label: str, prefix: str) -> Iterator[Row]:
    for which in ("p50", "p99"):
        yield Row(f"{label}, {which}, best run", _of("latency", prefix + which, min), "{:,.1f} us")


AGAIN = _beyond("startup", "again, work", "pass, work", min)
FIRST = _beyond("startup", "first, work", "left, work", min)
OFF = _beyond("startup", "off, work", "pass, work", min)
MEMORY_IMPORTED = _beyond("memory", "import", "bare", median, 1024)
MEMORY_USED = _beyond("memory", "events", "bare, events", median, 1024)
MEMORY_UPLOADING = _beyond("memory", "upload", "bare, events", median, 1024)
SLOW_CALL = _of("latency", "p99", min)
RECOVERED = _of("killed, down", "arrived", min)
EXIT = _beyond("exit", "exit", "bare", median)

ROWS = (
    *_startup("import", "import", "pass"),
    *_startup("import and start", "start", "pass"),
    *_startup("import, start, first event of a day", "first", "left"),
    *_startup("import, start, an event of a day that has its report", "again", "pass"),
    *_startup("import, start, an event while nobody was asked", "off", "pass"),
    Row("memory after import", MEMORY_IMPORTED, "{:.1f} MiB"),
    Row(f"memory after start and {FEW} events", MEMORY_USED, "{:.1f} MiB"),
    Row("memory after these and an upload that failed", MEMORY_UPLOADING, "{:.1f} MiB"),
    *_calls("call", ""),
    Row("call, p99, median run", _of("latency", "p99", median), "{:,.1f} us"),
    Row("call, longest, best run", _of("latency", "longest", min), "{:,.0f} us"),
    Row("call, longest, median run", _of("latency", "longest", median), "{:,.0f} us"),
    *_calls("call, processor time", "work "),
    *_calls("call, earlier half", "early "),
    *_calls("call, the same again", "again "),
    Row(f"killed, server down: of {EVENTS:,} arrive", RECOVERED, "{:,.0f}", ratio=False),
    Row(
        f"killed, server up: of {EVENTS:,} arrive, median", _of("killed, up", "arrived", median), "{:,.0f}", ratio=False
    ),
    Row("exit, server silent", EXIT, "{:.2f} s", ratio=False),
)


HEAD = ("",)


def rows(findings: Findings) -> list[list[str]]:
    """Return everything, a column for each library, with ratios to ours.

    Starting is beyond ``python -c pass``; dither asks three metrics, and its state is that of a device which answered
    yesterday, or today, or was never asked. Memory is the peak beyond that of a bare interpreter at the same task.

    Calls are made in a row while connections are refused. Each of ours draws a report by RAPPOR of 128 bits with f =
    1/2, p = 1/4, q = 3/4, and its permanent draw, and writes it to the outbox: over 1,000 metrics, 20 days by a clock
    of the bench, 10 answers in turn. In the earlier half of them the outbox is not full yet; later each drops the
    oldest report, too. The same again is answered from memory. Theirs put an event in a queue in memory, or drop it
    when that is full. Processor time is that of the calling thread, in runs of their own.

    Killed processes have recorded events as fast as may be, and start again with a collector that answers; the events
    that it counts, before and after, differ. An exit is beyond a bare interpreter's, with a server that never answers.
    """
    return [[row.label, *(row.cell(findings, library) for library in findings)] for row in ROWS]


def targets(findings: Findings) -> Iterator[str]:
    """Yield each target with its outcome."""
    ours = findings["dither"]
    for label, number, limit, form in (
        ("start, an event of a day that has its report", AGAIN, 15.0, "{:.1f} ms"),
        ("start, first event of a day", FIRST, 20.0, "{:.1f} ms"),
        ("start while nobody was asked", OFF, 8.0, "{:.1f} ms"),
        ("call, p50", _of("latency", "p50", min), 45.0, "{:.1f} us"),
        ("call, p99", SLOW_CALL, 100.0, "{:.1f} us"),
        ("call, longest", _of("latency", "longest", min), 3000.0, "{:,.0f} us"),
        ("memory at work", MEMORY_USED, 7.0, "{:.1f} MiB"),
        ("memory after an upload that failed", MEMORY_UPLOADING, 7.0, "{:.1f} MiB"),
        ("exit", EXIT, 0.2, "{:.2f} s"),
    ):
        yield _verdict(label, number(ours), limit, form)
    yield _verdict("p99 of a call below posthog's", SLOW_CALL(ours), SLOW_CALL(findings["posthog"]), "{:.1f} us")
    yield _verdict("lost when killed with the server down", EVENTS - RECOVERED(ours), 1, "{:,.0f}")


def _verdict(label: str, number: float, limit: float, form: str) -> str:
    return f"{'met   ' if number < limit else 'MISSED'} {label}: {form.format(number)}, limit {form.format(limit)}"
