"""Attacks on series of reports of one device, as seen by a collector that keeps every report."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import sparse, special

from dither_shared import MECHANISMS, Entropy, KeyedEntropy, Mechanism, ParameterError, Report, Shape
from dither_shared.mechanism import NUMBERS, Item

from ...mechanism_by_name import named
from ...plots import PlotPanel, lines_of, lines_plot
from ...samplers.devices import device_entropy
from ...sweeps import Experiment, Row, success_rate
from ...tables import ResultColumn, value
from ...users.populations import Floats
from .permanent_draws import distinct, permanent_draw, same_draw

_MOST_ITEMS = 10
"""Maximum number of items if every set of them is a possible guess."""

_Device = Callable[[Item, int], list[Report]]
"""Returns a number of reports of a value by one device."""


def devices(mechanism: Mechanism, count: int, lasting: bool, seed: np.random.SeedSequence) -> Iterator[_Device]:
    """Yield ``count`` devices; those that are not ``lasting`` draw fresh noise for each report.

    A device that is lasting remembers: its cohort and its permanent draws are always the same.
    """
    entropy = device_entropy(seed)
    for _ in range(count):
        secret, cohort = (entropy.take(32), mechanism.draw_cohort(entropy)) if lasting else (None, None)
        yield partial(_reports, mechanism, entropy, secret, cohort)


def _reports(
    mechanism: Mechanism, entropy: Entropy, secret: bytes | None, remembered: int | None, item: Item, count: int
) -> list[Report]:
    reports = []
    for _ in range(count):
        cohort, permanent = mechanism.draw_cohort(entropy) if remembered is None else remembered, None
        if secret is not None:  # like a client, make one draw for all values that mark the same cells
            permanent = KeyedEntropy(secret, repr(sorted(mechanism.permanent_key(item, cohort))).encode())
        reports.append(Report(cohort, mechanism.randomize(item, entropy, cohort, permanent)))
    return reports


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


class _Cell(NamedTuple):
    """A mechanism, whether devices remember, and how many reports each device makes."""

    asked: str
    memoised: bool
    reports: int


def _averaging(mechanism: Mechanism, cell: _Cell, count: int, seed: np.random.SeedSequence) -> float:
    """Guess a value from many reports of it: each device has a random one, and the guess is what most reports support.

    Ties count as the probability of a right guess. Without memory the guess becomes arbitrarily good; with memory, no
    better than the permanent draw allows.
    """
    draw, noise = seed.spawn(2)
    answers = answers_of(mechanism)
    held = np.random.default_rng(draw).integers(len(answers), size=count).tolist()
    successes = 0.0
    for place, device in zip(held, devices(mechanism, count, cell.memoised, noise), strict=True):
        score = scores(mechanism, device(answers[place], cell.reports))
        best = score == score.max()
        successes += float(best[place]) / int(best.sum())
    return successes


def _posterior(mechanism: Mechanism, cell: _Cell, _count: int) -> float:
    """Return the bound on averaging, e^E/(e^E + k - 1), where E is the exact loss of the reports.

    That is the maximum posterior probability of one of k equally likely values at a loss of E.
    """
    others = len(answers_of(mechanism)) - 1
    return 1 / (1 + others * math.exp(-mechanism.epsilon_after(cell.reports)))


def _linkage(mechanism: Mechanism, cell: _Cell, count: int, seed: np.random.SeedSequence) -> float:
    """Match two series of uploads, to find those of the same device.

    An adversary, such as a collector that turned bad, has a named series of uploads from each of N devices, and a later
    series from each without a name. For each later series it names the device whose earlier series is the most similar;
    among equally similar devices, one at random. All devices have the same value, so whatever it finds out comes from
    the noise.
    """
    item = answers_of(mechanism)[0]
    pairs = [
        [device(item, cell.reports) for _ in range(2)] for device in devices(mechanism, count, cell.memoised, seed)
    ]
    earlier, later = (profiles(mechanism, series) for series in zip(*pairs, strict=True))
    # Inner products of profiles minus their means; the dense tables would not fit into memory.
    usual = np.asarray(earlier.mean(axis=0)), np.asarray(later.mean(axis=0))
    lean = (earlier @ usual[1])[np.newaxis, :] + (later @ usual[0])[:, np.newaxis]
    similar = (later @ earlier.T).toarray() - lean + usual[0] @ usual[1]
    ties = similar >= similar.max(axis=1, keepdims=True) - 1e-4
    return float((ties.diagonal() / ties.sum(axis=1)).sum())


def _distinguished(mechanism: Mechanism, cell: _Cell, count: int) -> float:
    """Return the bound on linkage: what knowing every permanent draw would give, in expectation.

    As many devices can be distinguished as there are different draws among them; those with the same draw are equally
    likely. Without memory it is that of a guess, which is right once in hundreds.
    """
    draw = permanent_draw(mechanism) if cell.memoised else None
    return (1.0 if draw is None else distinct(mechanism, draw, count)) / count


def _change(mechanism: Mechanism, cell: _Cell, count: int, seed: np.random.SeedSequence) -> float:
    """Detect whether a device's value changed: reports of one value, then as many of the same value or of another.

    Memory hides the value but not when it changes: another value has another permanent draw. The adversary knows both
    values and looks at two things: how different the two series are, and by how much more the second supports the new
    value. On one half of the devices it learns which of them to trust, and which threshold to use, and it is judged on
    the other half. Half of the devices change, so that guessing is right in 1 of 2 cases.
    """
    changed = np.arange(2 * count) % 2 == 1
    seen = np.array(
        [
            _statistics(mechanism, device, cell.reports, bool(moved))
            for device, moved in zip(devices(mechanism, 2 * count, cell.memoised, seed), changed, strict=True)
        ]
    )
    best = max((_learnt(seen[:count, which], changed[:count]), which) for which in range(seen.shape[1]))
    (_, line), which = best
    judged = seen[count:, which] > line
    return float((judged == changed[count:]).sum())


def _detected(mechanism: Mechanism, cell: _Cell, _count: int) -> float:
    """Return the bound on the detection of a change by any adversary.

    With memory 1 - P[both permanent draws are equal]/2, without it 1/(1 + e^(-T ε)) if T reports are of another value.
    """
    if cell.memoised:
        old, new = _both(mechanism)
        return 1 - same_draw(mechanism, answers_of(mechanism)[old], answers_of(mechanism)[new]) / 2
    return 1 / (1 + math.exp(-cell.reports * mechanism.epsilon))


def majority(mechanism: Mechanism, reports: int) -> float | None:
    """Return how often the majority of reports of one of two values is right (a tie counts half).

    None for other mechanisms.
    """
    if mechanism.size != 2 or mechanism.shape is not Shape.SYMBOL or not mechanism.own_cells:
        return None
    if mechanism.permanent_law is None:
        return _most(float(mechanism.p), reports)
    kept = float(mechanism.permanent_law[0])
    instant = (float(mechanism.p) + kept - 1) / (2 * kept - 1)
    right = _most(instant, reports)
    return kept * right + (1 - kept) * (1 - right)


def _most(truth: float, reports: int) -> float:
    most, least = (float(special.bdtrc(half, reports, truth)) for half in (reports // 2, (reports - 1) // 2))
    return (most + least) / 2


def _statistics(mechanism: Mechanism, device: _Device, reports: int, moved: bool) -> tuple[float, float]:
    """Return two numbers that grow with a change: the series' distance, and the second's support for the new value."""
    old, new = _both(mechanism)
    answers = answers_of(mechanism)
    series = [device(answers[place], reports) for place in (old, new if moved else old)]
    before, after = profiles(mechanism, series)
    lean = 0.0
    if not mechanism.items.open:
        gained = scores(mechanism, series[1])
        lean = float(gained[new] - gained[old])
    return float(((after - before) ** 2).sum()), lean


def _both(mechanism: Mechanism) -> tuple[int, int]:
    """Return the indices of two answers; for numbers, the two ends."""
    return 0, len(answers_of(mechanism)) - 1 if mechanism.items == NUMBERS else 1


def _learnt(seen: Floats, changed: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[float, float]:
    """Return the best share of right answers that a threshold between observed values reaches, and that threshold."""
    order = np.argsort(seen, kind="stable")
    lines = np.append(seen[order][0] - 1, seen[order])
    right = [float(((seen > line) == changed).mean()) for line in lines]
    best = int(np.argmax(right))
    return right[best], float(lines[best])


class _Attack(NamedTuple):
    """An attack.

    ``run`` returns on how many of a number of devices it succeeds, ``bound`` the success that no attack of the kind
    exceeds, in expectation. ``success`` is the label of the vertical axis, ``subject`` the title of the picture;
    ``log`` says that successes are so rare that their axis is logarithmic.
    """

    run: Callable[[Mechanism, _Cell, int, np.random.SeedSequence], float]
    bound: Callable[[Mechanism, _Cell, int], float]
    success: str
    subject: str
    log: bool = False


_ATTACKS: Mapping[str, _Attack] = {
    "averaging": _Attack(_averaging, _posterior, "values guessed", "A value guessed from many reports of it"),
    "linkage": _Attack(_linkage, _distinguished, "found again", "Two series of uploads matched", log=True),
    "change": _Attack(_change, _detected, "judged rightly", "A change of value detected"),
}

_LEAST = 5e-4
"""The lower end of a logarithmic axis of successes."""


def _percent(name: str, head: str) -> ResultColumn:
    return ResultColumn(head, lambda row: "-" if row[name] is None else f"{100 * row[name]:.2f}")


@dataclass(frozen=True)
class SeriesAttack(Experiment):
    """An attack by its name, on every mechanism, with and without memory, after each number of reports.

    There are ``devices`` devices in a trial. A row has the share of all devices on which the attack succeeded, with its
    interval at 95 % (Clopper and Pearson). No attack of the kind exceeds ``bound`` (in expectation); ``theory`` is the
    success expected of this attack, if a simple formula is known. A set with a limit has at most half of the values.
    """

    attack: str
    names: tuple[str, ...]
    reports: tuple[int, ...]
    size: int = 4
    epsilon: float = 1.0
    permanent_epsilon: float = 2.0
    devices: int = 200
    repeats: int = 5
    seed: int = 0

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

    def cells(self) -> list[_Cell]:
        """Return the grid."""
        return [_Cell(name, lasting, some) for name in self.names for lasting in (False, True) for some in self.reports]

    def mechanism(self, cell: _Cell) -> Mechanism:
        """Return the mechanism of a cell; raise ParameterError if there is none."""
        lasting = cell.memoised or MECHANISMS[cell.asked].always_memoised
        forever = self.permanent_epsilon if lasting else None
        return named(cell.asked, self.size, self.epsilon, forever, at_most=self.size // 2)

    def simulate(self, cell: _Cell, seed: np.random.SeedSequence) -> Sequence[Row]:
        """Attack some devices and return the number of successes."""
        return ({"successes": _ATTACKS[self.attack].run(self.mechanism(cell), cell, self.devices, seed)},)

    def about(self, cell: _Cell) -> Row:
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

    def rows(self, cell: _Cell, outcomes: Sequence[Sequence[Row]]) -> list[Row]:
        """Return how often the attack succeeded in all trials together, with theory."""
        successes, mechanism = sum(trial["successes"] for (trial,) in outcomes), self.mechanism(cell)
        beside = {
            "theory": majority(mechanism, cell.reports) if self.attack == "averaging" else None,
            "bound": _ATTACKS[self.attack].bound(mechanism, cell, self.devices),
        }
        return [self.about(cell) | success_rate(successes, self.devices * len(outcomes)) | beside]

    def plot(self, rows: Sequence[Row]) -> Figure:
        """Return a figure of the successes against the number of reports: without memory, and with it."""
        panels = [
            self._panel([row for row in rows if row["memoised"] is lasting], lasting) for lasting in (False, True)
        ]
        losses = f"ε = {self.epsilon:g}, {self.permanent_epsilon:g} for ever"
        title = f"{_ATTACKS[self.attack].subject}; {losses}\nband: 95 %; dashed: the bound on any such attack"
        return lines_plot(panels, title, "reports in a series")

    def _panel(self, rows: Sequence[Row], lasting: bool) -> PlotPanel:
        attack = _ATTACKS[self.attack]
        floor = _LEAST if attack.log else 0.0
        shown = [row | {name: max(row[name], floor) for name in ("success", "low")} for row in rows]
        lines = lines_of(shown, "mechanism", ("reports", "success", "low", "high", "bound"))
        return PlotPanel(lines, f"{attack.success}\n{'with' if lasting else 'without'} memory", log=attack.log)
