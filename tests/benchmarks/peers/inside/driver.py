"""Measure a library, in the same way for all; this runs inside the environment of the measured library."""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_MEMORY = 1 << 30
"""Bytes of reports held at a time: the aggregator of another library needs them all."""

_STEP = 8
"""The growth of trial runs."""

_SMALL, _FEW = 128, 5
"""Maximum values for which at least so many runs are made: one run has too few errors, and they are dependent."""


@dataclass(frozen=True)
class Case:
    """One thing to measure, "error" or "leak": of which mechanism, where, and how long it may take."""

    kind: str
    mechanism: str
    size: int
    epsilon: float
    seed: int
    counts: Sequence[int] = field(default=(), repr=False)
    """How many users hold each value."""
    seconds: float = 5.0
    """A budget: the users are as many as this affords, the runs as many as fit in it, but there is always one."""
    runs: int = 20
    draws: int = 0
    """Of a leak: how many reports of each of two inputs train the attack, and as many again judge it."""

    def encode(self) -> str:
        """Return the case as a line of JSON."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Finding:
    """The result of a case; ``users`` took part in each run, fewer than asked if the budget was short."""

    case: Case
    users: int = 0
    raw: list[float] = field(default_factory=list)
    """The mean squared error of each run, of estimates before any clipping."""
    trained: Sequence[dict[str, int]] = ()
    judged: Sequence[dict[str, int]] = ()
    """How often each event was seen for either input of a leak, in training and in judging."""
    declared: float = 0.0

    def error(self) -> float:
        """Return the mean squared error at all the users: noise goes with 1/n."""
        return fmean(self.raw) * self.users / sum(self.case.counts)

    @classmethod
    def decode(cls, line: str) -> "Finding":
        """Return the finding of a line of JSON."""
        values = json.loads(line)
        return cls(**{**values, "case": Case(**values["case"])})


class Oracle(Protocol):
    """A client and a server of one mechanism."""

    @property
    def declared(self) -> float:
        """The privacy loss that the library declares of a report."""

    def report(self, value: int) -> Any:
        """Return a report of a value, which is an index."""

    def estimate(self, reports: list[Any]) -> Floats:
        """Return the frequencies of all values, before any clipping."""

    def place(self, report: Any, value: int) -> int:
        """Return what a report shows of a value: whether it supports the value, or where it lists it."""


Make = Callable[[Case], Oracle]


def serve(make: Make) -> None:
    """Answer cases from standard input, each as soon as it is measured."""
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        case = Case(**json.loads(line))
        finding = {"error": _error, "leak": _leak}[case.kind](case, make(case))
        print(json.dumps(asdict(finding)), file=answers, flush=True)


def _error(case: Case, oracle: Oracle) -> Finding:
    """Measure squared errors, in runs of as many users as the budget affords."""
    rng, everyone = np.random.default_rng(case.seed), np.repeat(np.arange(case.size), case.counts)
    least = _FEW if case.size <= _SMALL else 1
    users = _affordable(oracle, everyone, rng, case.seconds)
    finding = Finding(case, users)
    begun, took = time.perf_counter(), 0.0
    while len(finding.raw) < least or (
        len(finding.raw) < case.runs and time.perf_counter() - begun + took < case.seconds
    ):
        start = time.perf_counter()
        _run(oracle, rng.permutation(everyone)[:users], finding)
        took = time.perf_counter() - start
    return finding


def _run(oracle: Oracle, sample: NDArray[np.int64], finding: Finding) -> None:
    truth = np.bincount(sample, minlength=finding.case.size) / len(sample)
    estimates = oracle.estimate([oracle.report(value) for value in sample.tolist()])
    finding.raw.append(float(((estimates - truth) ** 2).mean()))


def _seconds(oracle: Oracle, values: list[int]) -> float:
    start = time.perf_counter()
    oracle.estimate([oracle.report(value) for value in values])
    return time.perf_counter() - start


def _affordable(oracle: Oracle, everyone: NDArray[np.int64], rng: np.random.Generator, seconds: float) -> int:
    """Return how many users a run of ``seconds`` may have.

    Runs of more and more users find it; the first of them lets a compiler warm up.
    """
    most, sample = len(everyone), rng.permutation(everyone)
    room = min(most, _MEMORY // int(getattr(oracle.report(0), "nbytes", 64)))
    idle = min(_seconds(oracle, [0, 1]) for _ in range(3))
    users = 50
    while users < room:
        took = max(_seconds(oracle, sample[:users].tolist()) - idle, 1e-9)
        if took * _STEP > seconds:
            return min(room, max(users, int(users * seconds / took)))
        users *= _STEP
    return room


def _leak(case: Case, oracle: Oracle) -> Finding:
    """Count what the reports of each of two inputs show of both inputs."""

    def seen(item: int) -> dict[str, int]:
        reports = (oracle.report(item) for _ in range(case.draws))
        features = Counter((oracle.place(report, 0), oracle.place(report, 1)) for report in reports)
        return {f"{first} {second}": count for (first, second), count in features.items()}

    trained, judged = ([seen(0), seen(1)] for _ in range(2))
    return Finding(case, trained=trained, judged=judged, declared=oracle.declared)
