"""Speed, as ratios within one run: ``python -m tests.benchmarks.draws``, part of ``make bench-speed``.

Each line gives a CPU time and its ratio to a baseline measured in the same run.
"""

import argparse
import random
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from dither_server.estimation.estimate import estimate
from dither_server.tally.tally import Tally
from dither_shared import (
    MECHANISMS,
    DiscoveryQuestion,
    DiscreteLaplace,
    DitheredResponse,
    KeyedEntropy,
    Mechanism,
    PrefixSketch,
    ProjectiveSketch,
    RandomizedResponse,
    Rappor,
    Report,
    Shape,
    SymmetricUnary,
    SystemEntropy,
)
from dither_shared.mechanism import LISTED, Item

from .tables import Table, add_option, write

LOSSES = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
SIZES = (16, 128, 1024, 16384)
REPORTS = (10**4, 10**6, 10**9)
ENTROPY = SystemEntropy()


def microseconds(call: Callable[[], object], calls: int = 5_000, rounds: int = 7) -> float:
    """Return the least mean time of a processor that a call takes, over rounds, in microseconds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(calls):
            call()
        best = min(best, time.process_time() - start)
    return best / calls * 1e6


def bit_by_bit(bits: int) -> int:
    """Draw bits the usual way, one comparison of floats each: the baseline, and not exact."""
    system = random.SystemRandom()
    return sum((system.random() < 0.3) << lane for lane in range(bits))


def in_a_cohort(mechanism: Mechanism, item: Item) -> bytes:
    """Return a row, including the draw of its cohort."""
    cohort = mechanism.draw_cohort(ENTROPY)
    return Report(cohort, mechanism.randomize(item, ENTROPY, cohort)).encode(mechanism)


def drawing() -> Table:
    """Print and return what one report costs on a device."""
    choice = RandomizedResponse.calibrate(1024, 1.0)
    unary = SymmetricUnary.calibrate(128, 1.0)
    number, table = DitheredResponse.calibrate(None, 1.0), DiscreteLaplace.calibrate(None, 1.0)
    textbook = Rappor(permanent_f=Fraction(1, 2), instant_p=Fraction(1, 4), instant_q=Fraction(3, 4))
    calibrated = Rappor.calibrate(None, 1.0)
    sketch, discovery = ProjectiveSketch.calibrate(None, 1.0), PrefixSketch.calibrate(None, 1.0)
    text = DiscoveryQuestion("a-z0-9._-", 12).answers(discovery)
    value = b"Chrome for Android 157"

    def rappor(mechanism: Rappor) -> bytes:
        return mechanism.randomize(value, ENTROPY, 7, KeyedEntropy(b"k" * 32, b"v" * 16, b"\0\0\0\7", value))

    baseline = microseconds(lambda: bit_by_bit(128), 500)
    rows = [("128 bits, one float comparison each (baseline)", f"{baseline:.1f}", "1")]
    print(f"128 bits, one float comparison each (baseline) {baseline:8.1f} us")
    for label, call in (
        ("k-ary randomized response, k = 1,024", lambda: choice.randomize(7, ENTROPY)),
        ("dithered response to a number, its phase drawn", lambda: in_a_cohort(number, 7)),
        ("discrete Laplace, 64 steps", lambda: table.randomize(7, ENTROPY)),
        ("symmetric unary, 128 bits", lambda: unary.randomize(7, ENTROPY)),
        ("rappor, 128 bits, f = 1/2, p = 1/4, q = 3/4", lambda: rappor(textbook)),
        ("rappor, 128 bits, any epsilon", lambda: rappor(calibrated)),
        ("projective sketch, 65,536 buckets, its row drawn", lambda: in_a_cohort(sketch, value)),
        (
            "prefix sketch, its level drawn, a text spelled",
            lambda: in_a_cohort(discovery, text.encode("main.loop").item),
        ),
    ):
        took = microseconds(call)
        print(f"{label:46} {took:8.1f} us   1/{baseline / took:.0f} of the baseline")
        rows.append((label, f"{took:.1f}", f"1/{baseline / took:.0f}"))
    return Table("draws", ("a report by", "µs", "of the baseline"), rows)


def drawing_at_scale() -> Table:
    """Print and return the dearest report of every kind over ε in {1/4, 1/2, 1, 2, 3, 4, 5}, by the domain's size."""
    rows = []
    families = ("randomized-response", "projective-geometry", "hadamard-response", "local-hashing")
    for name in (*families, "optimized-unary", "subset-selection"):
        times = []
        for size in SIZES:
            mechanisms = [MECHANISMS[name].calibrate(size, epsilon) for epsilon in LOSSES]
            calls = 2_000 if size < 16384 else 300
            times.append(max(microseconds(partial(each.randomize, size - 1, ENTROPY), calls) for each in mechanisms))
        print(f"{name:30} k = 16, 128, 1024, 16384:", *(f"{took:7.1f} us" for took in times))
        rows.append((f"`{name}`", *(f"{took:.1f}" for took in times)))
    return Table("draws-sizes", ("µs a report, at most", *(f"k = {size:,}" for size in SIZES)), rows)


def estimating() -> Table:
    """Print and return what an estimate over 16,384 values costs from a tally, the tables of its field made before."""
    rng, rows = np.random.default_rng(1), []
    labels = tuple(map(str, range(16384)))
    for name in [name for name, family in MECHANISMS.items() if family.items == LISTED]:
        slowest = dict.fromkeys(REPORTS, 0.0)
        for epsilon in LOSSES:
            shape = {"bits": 64} if name == "bit-flip" else {}
            mechanism = MECHANISMS[name].configure(16384, {"epsilon": epsilon, **shape})
            for users in slowest:
                tally = tally_of_nobody(mechanism, users, rng)
                took = microseconds(partial(estimate, mechanism, labels, tally), 1, 4)
                slowest[users] = max(slowest[users], took)
        times = "".join(f"{took / 1e3:8.1f} ms" for took in slowest.values())
        print(f"estimate, k = 16,384, {name:22}{times} at most over epsilon, of 10^4, 10^6, 10^9 reports")
        rows.append((f"`{name}`", *(f"{took / 1e3:.1f}" for took in slowest.values())))
    heads = [f"{users:,} reports" for users in REPORTS]
    return Table("estimates", ("ms an estimate, at most", *heads), rows)


def tally_of_nobody(mechanism: Mechanism, users: int, rng: np.random.Generator) -> Tally:
    """Return a tally as noise alone makes it, each count by itself."""
    if mechanism.shape is Shape.SYMBOL:
        counts = rng.poisson(users / (mechanism.cohorts * mechanism.cells), (mechanism.cohorts, mechanism.cells))
        return Tally(counts.sum(axis=1), counts)
    reports = rng.poisson(users / mechanism.cohorts, mechanism.cohorts)
    return Tally(
        reports, rng.binomial(reports[:, np.newaxis], float(mechanism.b), (mechanism.cohorts, mechanism.cells))
    )


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_option(parser)
    folder = parser.parse_args().tables
    tables = [drawing(), drawing_at_scale(), estimating()]
    write(folder, *tables)


if __name__ == "__main__":
    main()
