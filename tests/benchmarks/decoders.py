"""Measure how well and how fast strings are found in RAPPOR's counts: ``python -m tests.benchmarks.decoders``.

The cases are google/rappor's: cases of 100,000 devices are reported once through the client's randomizer, and all are
drawn from their exact law several times. The results of that project's R decoder on its own data for the same cases
were measured once, and are shown beside. L1 errors are of the consistent shares, over all candidates; times are CPU
times.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.decoding.cases import CASES, Case, Survey, reported, sampled
from dither_server.estimation.decoders.linear_system import BitCounts
from dither_server.estimation.decoders.rappor import decode
from dither_server.estimation.fit import Fit
from dither_server.estimation.hashing import marks_of
from dither_shared import Rappor

from . import tables

_SURVEYS = 10
_SEED = 20261120

_THEIRS = {
    "190 of 100 values": ("0.5 s", "64", "14", "0.243", "70"),
    "1,090 of 100 values": ("21.8 s", "48", "11", "0.300", "43"),
    "10,090 of 100 values": ("2.6 s", "36", "6", "0.377", "27"),
    "1,100 of 1,000 values": ("1.4 s", "152", "2", "-", "-"),
}
"""Seconds, true and false strings found, L1 error over the candidates and coverage of google/rappor's R decoder."""

_HEAD = ("candidates", "decoder", "time", "true", "false", "L1", "covered %")
_LONG_HEAD = ("candidates", "hashing", "decoding", "memory", "true found, of 100", "false found")


def judged(survey: Survey, fit: Fit) -> tuple[float, float, float, float]:
    """Return the true and the false strings found, the L1 error, and the share of those found that is covered."""
    there = survey.held > 0
    error = np.abs(fit.consistent - survey.held).sum()
    covered = (np.maximum(fit.low, 0) <= survey.held) & (survey.held <= fit.high)
    share = covered[fit.found].mean() if fit.found.any() else np.nan
    return int((fit.found & there).sum()), int((fit.found & ~there).sum()), float(error), 100 * float(share)


def decoded(case: Case, survey: Survey) -> tuple[float, Fit]:
    """Return the least time of a processor that decoding took, hashing apart, and the fit."""
    mechanism = case.mechanism
    marks = marks_of(case.candidates, mechanism.cohorts, mechanism.bits, mechanism.hashes)
    table = BitCounts(survey.tally.reports, survey.tally.counts, float(mechanism.a), float(mechanism.b))
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        fit = decode(table, marks)
        best = min(best, time.process_time() - start)
    return best, fit


def rows_of(case: Case) -> Iterable[Sequence[str]]:
    """Yield the lines of a case."""
    rng = np.random.default_rng(_SEED)
    if case.reports > 1:
        yield _line(case, "dither, 100,000 devices", [reported(case)])
    yield _line(case, f"dither, mean of {_SURVEYS}", [sampled(case, rng) for _ in range(_SURVEYS)])
    yield case.name, "google/rappor (R)", *_THEIRS[case.name]


def _line(case: Case, label: str, surveys: Sequence[Survey]) -> Sequence[str]:
    runs = [decoded(case, survey) for survey in surveys]
    true, false, error, covered = np.mean(
        [judged(*pair) for pair in zip(surveys, (f for _, f in runs), strict=True)], axis=0
    )
    seconds = median(took for took, _ in runs)
    return case.name, label, f"{seconds:.3f} s", f"{true:.1f}", f"{false:.1f}", f"{error:.3f}", f"{covered:.0f}"


def large(candidates: int) -> None:
    """Print the processor time and memory that decoding a list of candidates takes, in 64 cohorts of 128 bits."""
    mechanism = Rappor.calibrate(None, 2.0, 4.0)
    start = time.process_time()
    marks = marks_of(tuple(f"string {number}" for number in range(candidates)), mechanism.cohorts, mechanism.bits, 2)
    hashed = time.process_time()
    share = np.zeros((mechanism.cohorts, mechanism.bits))
    for place in range(100):
        share[np.arange(mechanism.cohorts)[:, np.newaxis], marks[:, :, place]] += 0.01
    rng, each = np.random.default_rng(_SEED), 100_000
    a, b = float(mechanism.a), float(mechanism.b)
    counts = rng.binomial(each, np.clip(b + (a - b) * share, 0, 1))
    start, hashed = time.process_time(), hashed - start
    fit = decode(BitCounts(np.full(mechanism.cohorts, each), counts, a, b), marks)
    took, true = time.process_time() - start, int(fit.found[:100].sum())
    cells = (f"{candidates:,}", f"{hashed:.1f} s", f"{took:.1f} s", f"{_megabytes():,.0f} MB")
    print(json.dumps([*cells, str(true), str(int(fit.found.sum()) - true)]))


def _large(candidates: int) -> list[str]:
    """Return the row of a long list, from a process of its own, and print it."""
    command = [sys.executable, "-m", "tests.benchmarks.decoders", "--large", str(candidates)]
    row: list[str] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    count, hashed, took, peak, true, false = row
    costs = f"{hashed} to hash, {took} to decode, {peak} at the peak"
    print(f"{count:>9} candidates: {costs}; {true} of 100 found, {false} false", flush=True)
    return row


def _megabytes() -> float:
    """Return the peak of this process's memory; getrusage may return that of the parent process."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the table, and the costs of long lists."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tables.add_option(parser)
    parser.add_argument("--large", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.large:
        large(options.large)
        return
    rows = [row for case in CASES for row in rows_of(case)]
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    print("\n".join("  ".join(map(str.ljust, row, widths)) for row in (_HEAD, *rows)), flush=True)
    long = [_large(candidates) for candidates in (10_000, 1_000_000)]
    few = tables.Table("decoders", _HEAD, rows, words=2)
    tables.write(options.tables, few, tables.Table("decoders-long-lists", _LONG_HEAD, long, words=0))


if __name__ == "__main__":
    main()
