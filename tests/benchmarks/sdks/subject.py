"""One library at one task, in a process of its own: ``python subject.py LIBRARY TASK ENDPOINT``.

The bench runs this file with the Python of the library's environment, in a folder that holds a ``metrics.toml``. It
loads nothing that the library does not, so that the peak of memory is not that of the benchmark.
"""

import sys
import time

TYPE_CHECKING = False  # as typing's, which need not be loaded for it
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

__all__ = ["CALLS", "EVENTS", "FEW"]

CALLS = 20_000
EVENTS = 1_000
FEW = 100

_PAUSE = 0.3
"""Seconds in which a thread gets to its upload."""

_FLUSH = 120.0
_VALUES = ("Firefox", "Chrome", "Safari", "Edge", "Opera", "Brave", "Vivaldi")
"""Answers in turn, all of which a permanent metric's budget pays for, and for 1,000 metrics the ledger has room."""


class Bare:
    """A subject without a library: ``event`` is timed, ``prepare`` comes before it."""

    def __init__(self, endpoint: str) -> None:
        pass

    def prepare(self) -> None:
        """Do what only the bench needs for the next event."""

    def event(self) -> None:
        """Record an event."""

    def made(self) -> int:
        """Return how many reports were made so far, where that can be asked."""
        return 0

    def waiting(self) -> int:
        """Return how many reports wait on disk."""
        return 0

    def flush(self) -> None:
        """Send what there is to send."""


class Dither(Bare):
    """A client to which the user said yes. Each event is of the next metric and, after the last one, of a new day.

    ``usual`` leaves reports their random delays; without it uploads begin at once, as theirs do.
    """

    usual = True

    def __init__(self, endpoint: str, days_ago: int = 0) -> None:
        from datetime import UTC, datetime, timedelta  # noqa: PLC0415 - part of what dither costs

        import dither  # noqa: PLC0415 - there is one library in each environment

        self._now, self._utc, self._days = datetime.now, UTC, timedelta
        self._ahead = self._days(-days_ago)
        self._turn, self._metric, self._value = -1, "", ""
        spread = 300.0 if self.usual else 0.0
        self._client = dither.Client("metrics.toml", endpoint, "bench", today=self._today, spread=spread)
        if self._client.pending():
            self._client.consent("on")
        with open("metrics.toml", encoding="ascii") as metrics:  # noqa: PTH123 - pathlib may not be loaded
            self._names = [line.strip("[]\n").partition(".")[2] for line in metrics if line.startswith("[metrics.")]

    def _today(self) -> "date":
        return (self._now(self._utc) + self._ahead).date()

    def prepare(self) -> None:
        self._turn += 1
        days, place = divmod(self._turn, len(self._names))
        if days and not place:
            self._ahead += self._days(1)
        self._metric, self._value = self._names[place], _VALUES[days % len(_VALUES)]

    def event(self) -> None:
        self._client.record(self._metric, self._value)

    def made(self) -> int:
        return sum(metric.reports for metric in self._client.status().metrics)

    def waiting(self) -> int:
        return len(self._client.preview())

    def flush(self) -> None:
        self._client.flush(_FLUSH)


class Sentry(Bare):
    """The client of sentry-sdk, as it comes."""

    def __init__(self, endpoint: str) -> None:
        import sentry_sdk  # type: ignore[import-not-found, unused-ignore] # noqa: PLC0415

        sentry_sdk.init(endpoint.replace("://", "://key@") + "/1")
        self._library = sentry_sdk

    def event(self) -> None:
        self._library.capture_message("Firefox")

    def flush(self) -> None:
        self._library.flush(_FLUSH)


class Posthog(Bare):
    """The client of posthog, as it comes."""

    def __init__(self, endpoint: str) -> None:
        from posthog import Posthog  # type: ignore[import-not-found, unused-ignore] # noqa: PLC0415

        self._client = Posthog("key", host=endpoint)

    def event(self) -> None:
        self._client.capture("browser", distinct_id="device", properties={"value": "Firefox"})

    def flush(self) -> None:
        self._client.flush()


SUBJECTS: dict[str, type[Bare]] = {"bare": Bare, "dither": Dither, "sentry-sdk": Sentry, "posthog": Posthog}


def settle(_: type[Bare], endpoint: str) -> None:
    """Leave dither's state as that of a device which answered yesterday, and sent it."""
    subject = Dither(endpoint, days_ago=1)
    _events(subject, 1)
    subject.flush()
    assert not subject.waiting(), "a report was not sent"


def imported(kind: type[Bare], _: str) -> None:
    """Print the peak of memory after the import alone, in KiB."""
    modules = {Sentry: "sentry_sdk", Posthog: "posthog", Dither: "dither"}
    if kind in modules:
        __import__(modules[kind])
    print(_peak())


def memory(kind: type[Bare], endpoint: str) -> None:
    """Print the peak of memory after a few events, and after the threads had their turn, in KiB."""
    subject = kind(endpoint)
    _events(subject, FEW)
    time.sleep(_PAUSE)
    print(_peak())
    assert kind is not Dither or subject.made() >= FEW, "not every event made a report"


def uploading(kind: type[Bare], endpoint: str) -> None:
    """Do as ``memory`` does when an upload was tried, whatever the library's delays."""
    Dither.usual = False
    memory(kind, endpoint)


def latency(kind: type[Bare], endpoint: str) -> None:
    """Print how long calls took, in ns: all of many, the earlier half of them, and as many that say the same again."""
    subject = kind(endpoint)
    events = _timed(subject, time.perf_counter_ns)
    assert kind is not Dither or subject.made() == CALLS, "not every call made a report"
    again = _timed(subject, time.perf_counter_ns, again=True)
    print(*_spread(events), *_spread(events[: CALLS // 2]), *_spread(again))


def work(kind: type[Bare], endpoint: str) -> None:
    """Print for how long calls kept a processor at work, in ns, in the thread that called."""
    print(*_spread(_timed(kind(endpoint), time.thread_time_ns)))


def fill(kind: type[Bare], endpoint: str) -> None:
    """Record events and wait to be killed."""
    subject = kind(endpoint)
    _events(subject, EVENTS)
    print("recorded", flush=True)
    time.sleep(600)


def drain(kind: type[Bare], endpoint: str) -> None:
    """Print how many reports an earlier process left; then send them."""
    subject = kind(endpoint)
    print(subject.waiting())
    subject.flush()


def leave(kind: type[Bare], endpoint: str) -> None:
    """Print the time at the end of the program, in the middle of an upload."""
    Dither.usual = False
    subject = kind(endpoint)
    _events(subject, 1)
    time.sleep(_PAUSE)
    print(time.monotonic(), flush=True)


def _events(subject: Bare, count: int) -> None:
    for _ in range(count):
        subject.prepare()
        subject.event()


def _timed(subject: Bare, clock: "Callable[[], int]", *, again: bool = False) -> list[int]:
    took = [0] * CALLS
    for call in range(CALLS):
        if not again:
            subject.prepare()
        start = clock()
        subject.event()
        took[call] = clock() - start
    return took


def _spread(took: list[int]) -> tuple[int, int, int]:
    """Return the median, the 99th percentile and the longest."""
    ordered = sorted(took)
    return ordered[len(took) // 2], ordered[len(took) * 99 // 100], ordered[-1]


def _peak() -> int:
    """Return this process's peak of resident memory in KiB; getrusage may return that of the parent process."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123 - pathlib takes memory
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    except OSError:
        import resource  # noqa: PLC0415

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak // 1024 if sys.platform == "darwin" else peak


TASKS = {task.__name__: task for task in (settle, imported, memory, uploading, latency, work, fill, drain, leave)}

if __name__ == "__main__":
    TASKS[sys.argv[2]](SUBJECTS[sys.argv[1]], sys.argv[3])
