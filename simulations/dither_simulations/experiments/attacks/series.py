"""Attacks on series of reports of one device, as seen by a collector that keeps every report."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import sparse

from dither_shared import MECHANISMS, Entropy, KeyedEntropy, Mechanism, ParameterError, Report
from dither_shared.mechanism import Item

from ...output.lines import PlotPanel, lines_of, lines_plot
from ...output.tables import ResultColumn, value
from ...sweeps import Experiment, Row, success_rate
from ...trials.devices import device_entropy
from ...trials.mechanism_by_name import named
from ...trials.shares import Measures

_LEAST = 5e-4
"""The lower end of a logarithmic axis of successes."""


@dataclass(frozen=True)
class Series:
    """A cell: a mechanism, whether devices remember, and how many reports each device makes."""

    asked: str
    memoised: bool
    reports: int


def _percent(name: str, head: str) -> ResultColumn:
    return ResultColumn(head, lambda row: "-" if row[name] is None else f"{100 * row[name]:.2f}")


@dataclass(frozen=True)
class SeriesAttack(Experiment):
    """Every mechanism, with and without memory, after each number of reports, with ``devices`` devices per trial.

    A row has the share of all devices on which the attack succeeded, with its interval at 95 % (Clopper and Pearson).
    No attack of the kind exceeds ``bound`` (in expectation); ``theory`` is the success expected of this attack, if a
    simple formula is known. A set with a limit has at most half of the values.
    """

    names: tuple[str, ...]
    reports: tuple[int, ...]
    size: int = 4
    epsilon: float = 1.0
    permanent_epsilon: float = 2.0
    devices: int = 200
    repeats: int = 5
    seed: int = 0

    attack: ClassVar[str]
    """The name in results and of the command."""
    success: ClassVar[str]
    """The label of the vertical axis: what counts as a success."""
    subject: ClassVar[str]
    """The title of the picture."""
    log: ClassVar[bool] = False
    """Whether successes are so rare that their axis is logarithmic."""

    words: ClassVar = 2
    columns: ClassVar[Sequence[ResultColumn]] = (
        value("mechanism", "mechanism"),
        ResultColumn("memory", lambda row: "yes" if row["memoised"] else "no"),
        value("reports", "reports", ","),
        _percent("success", "success %"),
        ResultColumn("95 % interval", lambda row: f"{100 * row['low']:.2f} to {100 * row['high']:.2f}"),
        _percent("theory", "theory %"),
        _percent("bound", "at most %"),
    )

    def cells(self) -> list[Series]:
        """Return the grid."""
        return [
            Series(name, lasting, some) for name in self.names for lasting in (False, True) for some in self.reports
        ]

    def mechanism(self, cell: Series) -> Mechanism:
        """Return the mechanism of a cell; raise ParameterError if there is none."""
        lasting = cell.memoised or MECHANISMS[cell.asked].always_memoised
        forever = self.permanent_epsilon if lasting else None
        return named(cell.asked, self.size, self.epsilon, forever, at_most=self.size // 2)

    def simulate(self, cell: Series, seed: np.random.SeedSequence) -> Sequence[Measures]:
        """Attack some devices and return the number of successes."""
        return ({"successes": self.successes(self.mechanism(cell), cell, seed)},)

    @abstractmethod
    def successes(self, mechanism: Mechanism, cell: Series, seed: np.random.SeedSequence) -> float:
        """Return on how many devices an attack succeeds; a random guess counts as its probability of success."""

    @abstractmethod
    def bound(self, mechanism: Mechanism, cell: Series) -> float:
        """Return the bound on the success of any attack of this kind."""

    def expected(self, _mechanism: Mechanism, _cell: Series) -> float | None:
        """Return the success that theory expects of this attack; None if there is no simple formula."""
        return None

    def about(self, cell: Series) -> Row:
        """Return the columns that describe a cell."""
        mechanism = self.mechanism(cell)
        return {
            "attack": self.attack,
            "mechanism": mechanism.name,
            "memoised": cell.memoised,
            "size": mechanism.size,
            "epsilon": self.epsilon,
            "permanent_epsilon": self.permanent_epsilon if cell.memoised else None,
            "reports": cell.reports,
            "devices": self.devices * self.repeats,
            "seed": self.seed,
        }

    def rows(self, cell: Series, outcomes: Sequence[Sequence[Measures]]) -> list[Row]:
        """Return how often the attack succeeded in all trials together, with theory."""
        successes, mechanism = sum(trial["successes"] for (trial,) in outcomes), self.mechanism(cell)
        beside = {"theory": self.expected(mechanism, cell), "bound": self.bound(mechanism, cell)}
        return [self.about(cell) | success_rate(successes, self.devices * len(outcomes)) | beside]

    def plot(self, rows: Sequence[Row]) -> Figure:
        """Return a figure of the successes against the number of reports: without memory, and with it."""
        panels = [
            self._panel([row for row in rows if row["memoised"] is lasting], lasting) for lasting in (False, True)
        ]
        losses = f"ε = {self.epsilon:g}, {self.permanent_epsilon:g} for ever"
        title = f"{self.subject}; {losses}\nband: 95 %; dashed: the bound on any such attack"
        return lines_plot(panels, title, "reports in a series")

    def _panel(self, rows: Sequence[Row], lasting: bool) -> PlotPanel:
        floor = _LEAST if self.log else 0.0
        shown = [row | {name: max(row[name], floor) for name in ("success", "low")} for row in rows]
        lines = lines_of(shown, "mechanism", ("reports", "success", "low", "high", "bound"))
        return PlotPanel(lines, f"{self.success}\n{'with' if lasting else 'without'} memory", log=self.log)


_MOST_ITEMS = 10
"""Maximum number of items if every set of them is a possible guess."""


@dataclass(frozen=True)
class Device:
    """A device. With a ``secret`` it remembers: its cohort and its permanent draws are always the same."""

    mechanism: Mechanism
    entropy: Entropy
    secret: bytes | None
    cohort: int | None

    def reports(self, item: Item, count: int) -> list[Report]:
        """Return ``count`` reports of a value."""
        return [self._report(item) for _ in range(count)]

    def _report(self, item: Item) -> Report:
        cohort = self.mechanism.draw_cohort(self.entropy) if self.cohort is None else self.cohort
        permanent = None
        if self.secret is not None:  # like a client, make one draw for all values that mark the same cells
            permanent = KeyedEntropy(self.secret, repr(sorted(self.mechanism.permanent_key(item, cohort))).encode())
        return Report(cohort, self.mechanism.randomize(item, self.entropy, cohort, permanent))


def devices(mechanism: Mechanism, count: int, lasting: bool, seed: np.random.SeedSequence) -> Iterator[Device]:
    """Yield ``count`` devices; those that are not ``lasting`` draw fresh noise for each report."""
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
    """Return every possible answer or, for strings, two.

    Raises ParameterError if there are more items than ``_MOST_ITEMS``, whose sets would be too many to guess from.
    """
    if mechanism.items.open:
        return b"firefox", b"chromium"
    size = mechanism.size or 2
    if not mechanism.items.sets:
        return tuple(range(size))
    if size > _MOST_ITEMS:
        raise ParameterError("--size", f"{size} items make too many sets to guess from; use at most {_MOST_ITEMS}")
    return tuple(chosen for chosen in range(1 << size) if chosen.bit_count() <= mechanism.largest)


def scores(mechanism: Mechanism, reports: list[Report]) -> NDArray[np.int64]:
    """Return how many of the reports support each answer (``answers_of``), of which there are k; shape (k,).

    Given a value, a report has one of two probabilities, depending on whether it supports the value; with independent
    bits, one of two ratios to the probability under no value at all. So the likeliest value has the highest score.
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
