"""Series of reports of one device, as a collector would see them that keeps every report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dither_shared import Entropy, KeyedEntropy, Mechanism, ParameterError, Report
from dither_shared.mechanism import Item

from ...trials.devices import device_entropy

_MOST_ITEMS = 10
"""Items of which every set is a guess."""


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
            permanent = KeyedEntropy(self.secret, repr(sorted(self.mechanism.permanent_key(item, cohort))).encode())
        return Report(cohort, self.mechanism.randomize(item, self.entropy, cohort, permanent))


def devices(mechanism: Mechanism, count: int, lasting: bool, seed: np.random.SeedSequence) -> Iterator[Device]:
    """Yield so many devices; those that are not ``lasting`` draw all anew for each report."""
    entropy = device_entropy(seed)
    for _ in range(count):
        secret, cohort = (entropy.take(32), mechanism.draw_cohort(entropy)) if lasting else (None, None)
        yield Device(mechanism, entropy, secret, cohort)


def profiles(mechanism: Mechanism, series: Sequence[Sequence[Report]]) -> sparse.csr_array:
    """Return how often each cell was reported in each series, cohort by cohort; shape (series, cohorts · cells)."""
    seen = [
        (row, report.cohort * mechanism.cells + cell)
        for row, reports in enumerate(series)
        for report in reports
        for cell in report.cells(mechanism)
    ]
    rows, columns = np.array(seen, dtype=np.int64).reshape(-1, 2).T
    shape = (len(series), mechanism.cohorts * mechanism.cells)
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


@lru_cache(maxsize=64)
def answers_of(mechanism: Mechanism) -> tuple[Item, ...]:
    """Return every answer that there can be or, of strings, two.

    Raises ParameterError for more items than there are sets of to guess from.
    """
    if mechanism.items.open:
        return b"firefox", b"chromium"
    size = mechanism.size or 2
    if not mechanism.items.sets:
        return tuple(range(size))
    if size > _MOST_ITEMS:
        raise ParameterError("--size", f"{size} items make too many sets to guess from; take up to {_MOST_ITEMS}")
    return tuple(chosen for chosen in range(1 << size) if chosen.bit_count() <= mechanism.largest)


def scores(mechanism: Mechanism, reports: list[Report]) -> NDArray[np.int64]:
    """Return how many of the reports support each answer (``answers_of``), of which there are k; shape (k,).

    Given a value, a report has one of two probabilities, by whether it supports the value; with independent bits, one
    of two ratios to the probability under no value at all. So the likeliest value has the highest score.
    """
    total = np.zeros(len(answers_of(mechanism)), dtype=np.int64)
    for report in reports:
        total += _supporting(mechanism, report.cohort)[list(report.cells(mechanism))].any(axis=0)
    return total


@lru_cache(maxsize=4096)
def _supporting(mechanism: Mechanism, cohort: int) -> NDArray[np.bool_]:
    """Return which cells of a cohort each answer marks; shape (cells, k)."""
    answers = answers_of(mechanism)
    table = np.zeros((mechanism.cells, len(answers)), dtype=np.bool_)
    for place, item in enumerate(answers):
        table[list(mechanism.marked(item, cohort)), place] = True
    return table
