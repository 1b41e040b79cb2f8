"""Vectors of events: the data that a device stores after each call, and the reports that it makes of them."""

from collections.abc import Iterator
from datetime import date

from dither.cli.compile import compiled
from dither.core import ClientCore, Setup
from dither.reporting.events import Events
from dither.state.state import MemoryState
from dither_shared import Entropy, Metric

from .questions import defined
from .rendering import Case
from .scripts import Recorded

_WEEK = 'period = "week"\nepsilon = 1.0\n'
_NUMBER = f'type = "number"\nlow = 0\nhigh = 20\nresolution = 4\n{_WEEK}'
_STEPS = f'type = "choice"\nvalues = ["opened", "edited", "saved"]\n{_WEEK}'

Step = tuple[str, object]
"""A day, and the value of an event, or None if a client is only made."""


def _days(value: object, *days: str) -> tuple[Step, ...]:
    return tuple((day, value) for day in days)


_SCRIPTS: tuple[tuple[str, str, tuple[Step, ...]], ...] = (
    (
        "crash",
        f'type = "boolean"\nof = "any"\nstrata = {{platform = ["linux"]}}\n{_WEEK}',
        (
            *_days(None, "2026-11-25", "2026-11-29", "2026-11-30"),
            *(("2026-11-30", False), ("2026-12-01", True), ("2026-12-02", "true"), ("2026-12-08", True)),
            *_days(None, "2026-12-14"),
        ),
    ),
    (
        "crash",
        'type = "boolean"\nof = "any"\nperiod = "day"\ncap = 2.0\nepsilon = 1.0',
        (("2028-02-28", True), ("2028-02-29", None), ("2028-03-01", True), ("2028-03-02", None)),
    ),
    *(
        (
            "used",
            f'type = "selection"\nvalues = {values}\nof = "set"\n{_WEEK}',
            (
                ("2026-11-23", None),
                *(("2026-11-24", value) for value in ("export", "print", "share", "export", "mail")),
                *(("2026-11-30", None), ("2026-12-07", "share"), ("2026-12-14", "print")),
            ),
        )
        for values in ('["export", "print", "share"]', f"{['export', 'print', 'share', *map(str, range(254))]}")
    ),
    (
        "exports",
        f'of = "count"\n{_NUMBER}',
        (("2026-11-23", 1), ("2026-11-29", 1), ("2026-11-29", 5), ("2026-11-30", 1), ("2026-12-13", None)),
    ),
    (
        "exports",
        f'of = "count"\n{_NUMBER.replace("week", "month")}',
        (
            *_days(1, "2028-01-31", "2028-02-01", "2028-02-29"),
            *(("2028-03-01", None), ("2028-03-31", 1)),
            # 30 days after the end of March, 61 days after that of April, which is dropped, and the day behind it
            *_days(None, "2028-04-30", "2028-06-30", "2028-07-01"),
        ),
    ),
    (
        "bytes",
        f'of = "sum"\n{_NUMBER}',
        (("2026-11-23", 5), ("2026-11-23", -7), ("2026-11-23", 9_007_199_254_740_991), ("2026-11-30", None)),
    ),
    (
        "longest",
        f'of = "max"\n{_NUMBER}',
        (("2026-11-23", -3), ("2026-11-23", 7), ("2026-11-24", 5), *_days(None, "2026-11-30", "2026-12-07")),
    ),
    (
        "step",
        f'of = "furthest"\n{_STEPS}',
        (
            *(("2026-11-23", value) for value in ("edited", "opened", "printed", "saved")),
            *_days(None, "2026-11-30", "2026-12-07"),
        ),
    ),
    (
        "days",
        f'of = "days"\n{_NUMBER}',
        (
            *_days(1, "2026-11-23", "2026-11-23", "2026-11-25", "2026-11-29", "2026-11-30"),
            *_days(1, "2026-12-08", "2026-12-21", "2026-12-22"),
            *_days(None, "2026-12-28", "2027-01-11"),
        ),
    ),
    (
        "retention",
        f'type = "choice"\nvalues = ["0", "1", "4"]\nof = "weeks-since-first-use"\n{_WEEK}',
        _days(None, "2026-11-29", "2026-11-30", "2026-12-06", "2026-12-07", "2026-12-21"),
    ),
    (
        "exports",
        f'of = "count"\nafter = "7 days"\n{_NUMBER}',
        (*_days(1, "2026-11-25", "2026-12-01", "2026-12-02"), ("2026-12-07", None)),
    ),
    (
        "crash",
        f'type = "boolean"\nof = "any"\nafter = "2 days"\n{_WEEK}',
        (*_days(True, "2026-11-25", "2026-11-26", "2026-11-27"), ("2026-11-30", None)),
    ),
)


class _Source(Entropy):
    """The entropy of the current step."""

    current = Recorded("")

    def take(self, count: int) -> bytes:
        return self.current.take(count)


def events() -> Iterator[Case]:
    for number, (name, table, script) in enumerate(_SCRIPTS):
        metric = defined(name, table)
        yield {
            "name": name,
            "definition": table,
            "compiled": compiled(metric),
            "steps": list(_steps(metric, script, f"events {number}")),
        }


def _steps(metric: Metric, script: tuple[Step, ...], label: str) -> Iterator[Case]:
    source, day = _Source(), [date.min]
    metrics = {metric.name: metric}
    setup = Setup("vectors", metrics=metrics, state=MemoryState(), entropy=source, today=lambda: day[0])
    core = ClientCore(setup._replace(environ={"DITHER": "on"}))
    core.journal.hold(core.journal.keys, date.fromisoformat(script[0][0]).toordinal())
    events = Events(metrics, core.recorder)
    for place, (text, value) in enumerate(script):
        day[0] = date.fromisoformat(text)
        source.current = entropy = Recorded(f"{label} {place}")
        before = {entry.batch for entry in core.journal.outbox.waiting()}
        _ = events.review() if value is None else events.add(metric.name, value)
        yield {
            "day": text,
            "event": value,
            "entropy": (entropy.given + entropy.beyond(3)).hex(),
            "used": len(entropy.given),
            "state": _state(metric, core.journal.state.recall("events").decode("ascii")),
            "bodies": [
                entry.body.decode("ascii") for entry in core.journal.outbox.waiting() if entry.batch not in before
            ],
        }


def _state(metric: Metric, text: str) -> Case | None:
    """Return the stored events of a metric in terms that every implementation has."""
    if not text.strip():
        return None
    _, _, begun, kept = text.split()
    found: Case = {"begun": date.fromordinal(int(begun)).isoformat()}
    first, _, second = kept.partition(":")
    if metric.of in {"any", "set"}:
        return found | {"batch": first, "row": second}
    if metric.of == "days":
        days = (int(first) - bit for bit in range(28) if int(second, 16) >> bit & 1)
        return found | {"days": sorted(date.fromordinal(day).isoformat() for day in days)}
    return found | {"number": None if kept == "-inf" else int(float(kept))}
