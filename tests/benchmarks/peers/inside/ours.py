"""Measure dither as its peers are measured: the device's randomizer, encoded rows, the collector's estimator."""

from dataclasses import dataclass

from dither_server.estimation.estimate import estimate
from dither_server.tally.tally import Tally
from dither_shared import MECHANISMS, Entropy, KeyedEntropy, Mechanism, Report

from .driver import Case, Floats, serve


@dataclass(frozen=True)
class Dither:
    """A device and a collector."""

    mechanism: Mechanism
    labels: tuple[str, ...]
    entropy: Entropy

    @property
    def declared(self) -> float:
        """The exact loss, rounded up."""
        return self.mechanism.epsilon

    def report(self, value: int) -> bytes:
        """Return the row that is sent."""
        cohort = self.entropy.below(self.mechanism.cohorts)
        return Report(cohort, self.mechanism.randomize(value, self.entropy, cohort)).encode(self.mechanism)

    def estimate(self, reports: list[bytes]) -> Floats:
        """Fold and decode."""
        return estimate(self.mechanism, self.labels, Tally.fold(self.mechanism, b"".join(reports))).frequency

    def place(self, report: bytes, value: int) -> int:
        """Return whether a cell that the value marks is in the report."""
        decoded = Report.decode(report, self.mechanism)
        marked = self.mechanism.marked(value, decoded.cohort)
        return int(not set(marked).isdisjoint(decoded.cells(self.mechanism)))


def make(case: Case) -> Dither:
    """Return the mechanism of a case."""
    mechanism = MECHANISMS[case.mechanism].calibrate(case.size, case.epsilon)
    return Dither(mechanism, tuple(map(str, range(case.size))), KeyedEntropy(case.seed.to_bytes(32, "big")))


if __name__ == "__main__":
    serve(make)
