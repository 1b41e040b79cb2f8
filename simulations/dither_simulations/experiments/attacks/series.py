"""Series of reports of one device, as a collector would see them that keeps every report."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dither_shared import Entropy, KeyedEntropy, Mechanism, Report
from dither_shared.mechanism import Item

from ...trials.devices import device_entropy
from ...users.populations import Floats

__all__ = ["Device", "devices", "profile", "scores"]


@dataclass(frozen=True)
class Device:
    """A device. With a ``secret`` it remembers: its cohort and its permanent draws are always the same."""

    mechanism: Mechanism
    entropy: Entropy
    secret: bytes | None
    cohort: int | None

    def reports(self, item: Item, count: int) -> list[Report]:
        """Return so many reports of a value."""
        return [self._report(item) for _ in range(count)]

    def _report(self, item: Item) -> Report:
        cohort = self.mechanism.draw_cohort(self.entropy) if self.cohort is None else self.cohort
        permanent = None
        if self.secret is not None:  # one draw for all values that mark the same cells, as a client's
            permanent = KeyedEntropy(self.secret, repr(sorted(self.mechanism.marked(item, cohort))).encode())
        return Report(cohort, self.mechanism.randomize(item, self.entropy, cohort, permanent))


def devices(mechanism: Mechanism, count: int, lasting: bool, seed: np.random.SeedSequence) -> Iterator[Device]:
    """Yield so many devices; those that are not ``lasting`` draw all anew for each report."""
    entropy = device_entropy(seed)
    for _ in range(count):
        secret, cohort = (entropy.take(32), mechanism.draw_cohort(entropy)) if lasting else (None, None)
        yield Device(mechanism, entropy, secret, cohort)


def profile(mechanism: Mechanism, reports: list[Report]) -> Floats:
    """Return how often each cell was reported, cohort by cohort; shape (cohorts · cells,)."""
    seen = np.zeros(mechanism.cohorts * mechanism.cells)
    for report in reports:
        seen[[report.cohort * mechanism.cells + cell for cell in report.cells(mechanism)]] += 1
    return seen


def scores(mechanism: Mechanism, reports: list[Report]) -> NDArray[np.int64]:
    """Return how many of the reports support each value of a listed domain; shape (k,).

    Given a value, a report has one of two probabilities, by whether it supports the value; with independent bits, one
    of two ratios to the probability under no value at all. So the likeliest value has the highest score.
    """
    total = np.zeros(mechanism.size or 0, dtype=np.int64)
    for report in reports:
        total += _supporting(mechanism, report.cohort)[list(report.cells(mechanism))].any(axis=0)
    return total


@lru_cache(maxsize=4096)
def _supporting(mechanism: Mechanism, cohort: int) -> NDArray[np.bool_]:
    """Return which cells of a cohort each value marks; shape (cells, k)."""
    table = np.zeros((mechanism.cells, mechanism.size or 0), dtype=np.bool_)
    for item in range(mechanism.size or 0):
        table[list(mechanism.marked(item, cohort)), item] = True
    return table
