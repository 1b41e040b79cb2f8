"""Measure a library, in the same way for all; this runs inside the environment of the measured library."""

import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .protocol import FEW, Case, Finding, decode_case

Floats = NDArray[np.float64]

_MEMORY = 1 << 30
"""Bytes of reports held at a time: the aggregator of another library needs them all."""

_STEP = 8
"""The growth of trial runs."""

_SMALL = 128
"""Maximum values for which several runs are made: one run has too few errors, and they are dependent."""


class Estimates(NamedTuple):
    """Frequencies of all values: before any clipping, and as the library returns them."""

    raw: Floats
    given: Floats


class Oracle(Protocol):
    """A client and a server of one mechanism."""

    @property
    def declared(self) -> float:
        """The privacy loss that the library declares of a report."""

    def report(self, value: int) -> Any:
        """Return a report of a value, which is an index."""

    def estimate(self, reports: list[Any]) -> Estimates:
        """Return the estimates from the reports."""

    def place(self, report: Any, value: int) -> int:
        """Return what a report shows of a value: whether it supports the value, or where it lists it."""


Make = Callable[[Case], Oracle]


def serve(make: Make) -> None:
    """Answer cases from standard input, each as soon as it is measured."""
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        case = decode_case(line)
        finding = {"error": _error, "leak": _leak}[case.kind](case, make(case))
        print(finding.encode(), file=answers, flush=True)


def _error(case: Case, oracle: Oracle) -> Finding:
    """Measure squared errors, in runs of as many users as the budget affords."""
    rng, everyone = np.random.default_rng(case.seed), np.repeat(np.arange(case.size), case.counts)
    least = FEW if case.size <= _SMALL else 1
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
    size = finding.case.size
    truth = np.bincount(sample, minlength=size) / len(sample)
    estimates = oracle.estimate([oracle.report(value) for value in sample.tolist()])
    squared = (estimates.raw - truth) ** 2
    finding.raw.append(float(squared.mean()))
    finding.raw_within.append(float(squared.std(ddof=1) / np.sqrt(size)))


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

    finding = Finding(case, declared=oracle.declared)
    return replace(finding, trained=[seen(0), seen(1)], judged=[seen(0), seen(1)])
