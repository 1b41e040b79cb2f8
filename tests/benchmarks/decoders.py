"""Measure how well and how fast strings are found in RAPPOR's counts: ``python -m tests.benchmarks.decoders``.

The cases are google/rappor's regression cases: strings v1 to vN, those that end in 9 not among the candidates. Cases of
100,000 devices are reported once through the client's randomizer, and all are drawn from their exact law several times.
The results of that project's R decoder on its own data for the same cases were measured once, and are shown beside. L1
errors are of the consistent shares, over all candidates; times are CPU times, hashing apart.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

import numpy as np
from numpy.typing import NDArray

from dither_server.estimation.decoders.linear_system import BitCounts
from dither_server.estimation.decoders.rappor import decode
from dither_server.estimation.fit import Fit
from dither_server.estimation.hashing import marks_of
from dither_server.tally.tally import Tally
from dither_shared import KeyedEntropy, Rappor, Report, SystemEntropy

from .tables import Part, run

_SEED = 20261120

_THEIRS = {
    "190 of 100 values": ("0.5 s", "64", "14", "0.243", "70"),
    "1,090 of 100 values": ("21.8 s", "48", "11", "0.300", "43"),
    "10,090 of 100 values": ("2.6 s", "36", "6", "0.377", "27"),
    "1,100 of 1,000 values": ("1.4 s", "152", "2", "-", "-"),
}
"""Seconds, true and false strings found, L1 error over the candidates and coverage of google/rappor's R decoder."""


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A distribution over ``strings`` values, and ``extra`` candidates that nobody holds.

    Each of ``devices`` reports several times, of a value drawn afresh each time; a device's permanent answers stay.
    """

    name: str
    mechanism: Rappor
    shares: Floats
    extra: int
    devices: int
    reports: int

    @property
    def strings(self) -> tuple[str, ...]:
        """The values that people hold."""
        return tuple(f"v{number}" for number in range(1, len(self.shares) + 1))

    @property
    def candidates(self) -> tuple[str, ...]:
        """The candidates, the values that some device holds first."""
        return (*(name for name in self.strings if not name.endswith("9")), *(f"x{n}" for n in range(self.extra)))


@dataclass(frozen=True)
class Survey:
    """A tally, and the true share of each candidate among its reports."""

    tally: Tally
    held: Floats


def _exponential(size: int) -> Floats:
    shares = np.exp(-5 * np.arange(1, size + 1) / size)
    return np.asarray(shares / shares.sum())


def _rappor(bits: int, hashes: int, cohorts: int, f: float, p: float, q: float) -> Rappor:
    law = {"permanent_f": Fraction(str(f)), "instant_p": Fraction(str(p)), "instant_q": Fraction(str(q))}
    return Rappor(bits=bits, hashes=hashes, cohorts=cohorts, **law)


_REGRESSION = _rappor(32, 1, 64, 0.5, 0.25, 0.75)
_DENSE = _rappor(8, 2, 128, 0.45, 0.39, 0.61)

CASES = [
    *(
        Case(f"{90 + extra:,} of 100 values", _REGRESSION, _exponential(100), extra, 100_000, 10)
        for extra in (100, 1_000, 10_000)
    ),
    Case("1,100 of 1,000 values", _DENSE, _exponential(1_000), 200, 10_000_000, 1),
]


def reported(case: Case) -> Survey:
    """Return what devices report, each by the client's own randomizer."""
    fresh, rows, held = SystemEntropy(), [], Counter[str]()
    values = np.random.default_rng().choice(case.strings, p=case.shares, size=(case.devices, case.reports))
    for device, answers in enumerate(values.tolist()):
        cohort = case.mechanism.draw_cohort(fresh)
        held.update(answers)
        for answer in answers:
            value = answer.encode()
            permanent = KeyedEntropy(b"%032d" % device, cohort.to_bytes(4, "big"), value)
            rows.append(
                Report(cohort, case.mechanism.randomize(value, fresh, cohort, permanent)).encode(case.mechanism)
            )
    return Survey(Tally.fold(case.mechanism, b"".join(rows)), _held(case, [held[name] for name in case.strings]))


def sampled(case: Case, rng: np.random.Generator) -> Survey:
    """Return a survey by its exact law: permanent bits of each device and value, and how often these were reported."""
    mechanism, (a, b) = case.mechanism, _permanent(case.mechanism)
    cohorts = rng.integers(mechanism.cohorts, size=case.devices)
    values = np.sort(rng.choice(len(case.shares), p=case.shares, size=(case.devices, case.reports)), axis=1)
    tally = Tally.zero(mechanism)
    marks = marks_of(case.strings, mechanism.cohorts, mechanism.bits, mechanism.hashes)
    low, high = float(mechanism.instant_p), float(mechanism.instant_q)
    for cohort in range(mechanism.cohorts):
        own = values[cohorts == cohort]
        fresh = np.ones(own.shape, dtype=np.bool_)
        fresh[:, 1:] = own[:, 1:] != own[:, :-1]
        times = np.diff(np.append(np.flatnonzero(fresh), own.size))
        bloom = np.zeros((len(case.shares), mechanism.bits), dtype=np.bool_)
        bloom[np.arange(len(bloom)), marks[cohort]] = True
        for repeats in np.unique(times):
            marked = bloom[own[fresh][times == repeats]]
            ones = np.count_nonzero(rng.random(marked.shape) < np.where(marked, a, b), axis=0)
            tally.counts[cohort] += rng.binomial(repeats * ones, high)
            tally.counts[cohort] += rng.binomial(repeats * (len(marked) - ones), low)
        tally.reports[cohort] = own.size
    return Survey(tally, _held(case, np.bincount(values.ravel(), minlength=len(case.shares)).tolist()))


def _permanent(mechanism: Rappor) -> tuple[float, float]:
    """Return with which probability a marked and an unmarked bit is permanently 1."""
    return float(1 - mechanism.permanent_f / 2), float(mechanism.permanent_f / 2)


def _held(case: Case, counts: Sequence[int]) -> Floats:
    shares = dict(zip(case.strings, (np.array(counts) / sum(counts)).tolist(), strict=True))
    return np.array([shares.get(name, 0.0) for name in case.candidates])


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


def measured(case: Case, surveys: int) -> Iterator[Sequence[str]]:
    """Yield the rows of a case."""
    rng = np.random.default_rng(_SEED)
    if case.reports > 1:
        yield _line(case, "dither, 100,000 devices", [reported(case)])
    yield _line(case, f"dither, mean of {surveys}", [sampled(case, rng) for _ in range(surveys)])
    yield case.name, "google/rappor (R)", *_THEIRS[case.name]


def _line(case: Case, label: str, surveys: Sequence[Survey]) -> Sequence[str]:
    runs = [decoded(case, survey) for survey in surveys]
    true, false, error, covered = np.mean(
        [judged(*pair) for pair in zip(surveys, (f for _, f in runs), strict=True)], axis=0
    )
    seconds = median(took for took, _ in runs)
    return case.name, label, f"{seconds:.3f} s", f"{true:.1f}", f"{false:.1f}", f"{error:.3f}", f"{covered:.0f}"


HEAD = ("candidates", "decoder", "time", "true", "false", "L1", "covered %")

if __name__ == "__main__":
    run(__doc__, decoders=Part("decoders", HEAD, [(case,) for case in CASES], measured, 10, words=2))
