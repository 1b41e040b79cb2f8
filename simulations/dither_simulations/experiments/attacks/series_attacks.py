"""Three attacks on series of reports, and the laws of permanent draws, from which the bounds on attacks follow."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from scipy import special

from dither_shared import Mechanism, Shape
from dither_shared.mechanism import Item

from ...users.populations import Floats
from .series import Device, Series, SeriesAttack, answers_of, devices, profiles, scores


@dataclass(frozen=True)
class Averaging(SeriesAttack):
    """Guess a value from many reports of it: each device has a random one, and the guess is what most reports support.

    Without memory the guess becomes arbitrarily good; with memory, no better than the permanent draw allows. The bound
    is e^E/(e^E + k - 1), where E is the exact loss of the reports: the maximum posterior probability of one of k
    equally likely values at a loss of E.
    """

    attack: ClassVar = "averaging"
    success: ClassVar = "values guessed"
    subject: ClassVar = "A value guessed from many reports of it"

    def successes(self, mechanism: Mechanism, cell: Series, seed: np.random.SeedSequence) -> float:
        """Return how many values were guessed; ties count as the probability of a right guess."""
        draw, noise = seed.spawn(2)
        answers = answers_of(mechanism)
        held = np.random.default_rng(draw).integers(len(answers), size=self.devices).tolist()
        successes = 0.0
        for place, device in zip(held, devices(mechanism, self.devices, cell.memoised, noise), strict=True):
            score = scores(mechanism, device.reports(answers[place], cell.reports))
            best = score == score.max()
            successes += float(best[place]) / int(best.sum())
        return successes

    def bound(self, mechanism: Mechanism, cell: Series) -> float:
        """Return the posterior probability that the loss of all reports allows."""
        others = len(answers_of(mechanism)) - 1
        return 1 / (1 + others * math.exp(-mechanism.epsilon_after(cell.reports)))

    def expected(self, mechanism: Mechanism, cell: Series) -> float | None:
        """Return how often the majority of reports of two values is right."""
        return majority(mechanism, cell.reports)


@dataclass(frozen=True)
class Linkage(SeriesAttack):
    """Match two series of uploads, to find those of the same device.

    An adversary, such as a collector that turned bad, has a named series of uploads from each of N devices, and a later
    series from each without a name. For each later series it names the device whose earlier series is the most similar.
    All devices have the same value, so whatever it finds out comes from the noise.

    The bound is what knowing every permanent draw would give, in expectation: as many devices can be distinguished
    as there are different draws among them; those with the same draw are equally likely. Without memory it is that of
    a guess, which is right once in hundreds.
    """

    attack: ClassVar = "linkage"
    success: ClassVar = "found again"
    subject: ClassVar = "Two series of uploads matched"
    log: ClassVar = True

    def successes(self, mechanism: Mechanism, cell: Series, seed: np.random.SeedSequence) -> float:
        """Return how many later series were matched; among equally similar devices, one is named at random."""
        item = answers_of(mechanism)[0]
        pairs = [
            [device.reports(item, cell.reports) for _ in range(2)]
            for device in devices(mechanism, self.devices, cell.memoised, seed)
        ]
        earlier, later = (profiles(mechanism, series) for series in zip(*pairs, strict=True))
        # Inner products of profiles minus their means; the dense tables would not fit into memory.
        usual = np.asarray(earlier.mean(axis=0)), np.asarray(later.mean(axis=0))
        lean = (earlier @ usual[1])[np.newaxis, :] + (later @ usual[0])[:, np.newaxis]
        similar = (later @ earlier.T).toarray() - lean + usual[0] @ usual[1]
        ties = similar >= similar.max(axis=1, keepdims=True) - 1e-4
        return float((ties.diagonal() / ties.sum(axis=1)).sum())

    def bound(self, mechanism: Mechanism, cell: Series) -> float:
        """Return the expected share of devices that their permanent draws distinguish."""
        draw = permanent_draw(mechanism) if cell.memoised else None
        return (1.0 if draw is None else distinct(mechanism, draw, self.devices)) / self.devices


@dataclass(frozen=True)
class ChangeDetection(SeriesAttack):
    """Detects whether a device's value changed: reports of one value, then as many of the same value or of another.

    Memory hides the value but not when it changes: another value has another permanent draw. The adversary knows both
    values and looks at two things: how different the two series are, and by how much more the second supports the new
    value. On one half of the devices it learns which of them to trust, and which threshold to use, and it is judged on
    the other half. Half of the devices change, so that guessing is right in 1 of 2 cases.

    The bound is that of any adversary: with memory 1 - P[both permanent draws are equal]/2, without it 1/(1 + e^(-T ε))
    if T reports are of another value.
    """

    attack: ClassVar = "change"
    success: ClassVar = "judged rightly"
    subject: ClassVar = "A change of value detected"

    def successes(self, mechanism: Mechanism, cell: Series, seed: np.random.SeedSequence) -> float:
        """Return how many devices were judged correctly, after training on as many others."""
        count = self.devices
        changed = np.arange(2 * count) % 2 == 1
        seen = np.array(
            [
                _statistics(device, cell.reports, bool(moved))
                for device, moved in zip(devices(mechanism, 2 * count, cell.memoised, seed), changed, strict=True)
            ]
        )
        best = max((_learnt(seen[:count, which], changed[:count]), which) for which in range(seen.shape[1]))
        (_, line), which = best
        judged = seen[count:, which] > line
        return float((judged == changed[count:]).sum())

    def bound(self, mechanism: Mechanism, cell: Series) -> float:
        """Return the success of any adversary."""
        if cell.memoised:
            old, new = _both(mechanism)
            return 1 - same_draw(mechanism, answers_of(mechanism)[old], answers_of(mechanism)[new]) / 2
        return 1 / (1 + math.exp(-cell.reports * mechanism.epsilon))


SERIES: Mapping[str, type[SeriesAttack]] = {kind.attack: kind for kind in (Averaging, Linkage, ChangeDetection)}


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


def _statistics(device: Device, reports: int, moved: bool) -> tuple[float, float]:
    """Return two numbers that grow with a change: the series' distance, and the second's support for the new value."""
    mechanism = device.mechanism
    old, new = _both(mechanism)
    answers = answers_of(mechanism)
    series = [device.reports(answers[place], reports) for place in (old, new if moved else old)]
    before, after = profiles(mechanism, series)
    lean = 0.0
    if not mechanism.items.open:
        gained = scores(mechanism, series[1])
        lean = float(gained[new] - gained[old])
    return float(((after - before) ** 2).sum()), lean


def _both(mechanism: Mechanism) -> tuple[int, int]:
    """Return the indices of two answers; for numbers, the two ends."""
    return 0, len(answers_of(mechanism)) - 1 if mechanism.items.ordered else 1


def _learnt(seen: Floats, changed: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[float, float]:
    """Return the best share of right answers that a threshold between observed values reaches, and that threshold."""
    order = np.argsort(seen, kind="stable")
    lines = np.append(seen[order][0] - 1, seen[order])
    right = [float(((seen > line) == changed).mean()) for line in lines]
    best = int(np.argmax(right))
    return right[best], float(lines[best])


@dataclass(frozen=True)
class Bits:
    """The permanent draw of a row of bits: 1 with probability ``high`` if ``marked``, else with ``low``."""

    cells: int
    marked: int
    high: float
    low: float

    def kinds(self) -> Sequence[tuple[float, float]]:
        """Return the probabilities and counts; draws with equally many marked and other bits are one kind."""
        others = self.cells - self.marked
        return [
            (
                self.high**i * (1 - self.high) ** (self.marked - i) * self.low**j * (1 - self.low) ** (others - j),
                float(math.comb(self.marked, i) * math.comb(others, j)),
            )
            for i in range(self.marked + 1)
            for j in range(others + 1)
        ]

    def same(self, both: int) -> float:
        """Return the product over all bits."""
        mixed = self.high * self.low + (1 - self.high) * (1 - self.low)
        ones, zeros = self.high**2 + (1 - self.high) ** 2, self.low**2 + (1 - self.low) ** 2
        apart = 2 * (self.marked - both)
        return float(mixed**apart * ones**both * zeros ** (self.cells - apart - both))


@dataclass(frozen=True)
class Subsets:
    """The permanent draw of ``size`` cells, one symbol or a list: ``ratio`` times as likely if one is ``marked``."""

    cells: int
    size: int
    marked: int
    ratio: float

    def kinds(self) -> Sequence[tuple[float, float]]:
        """Return the probabilities of draws that meet the marks, and of the others."""
        low = self._low
        return [(self.ratio * low, float(self._meeting)), (low, float(self._all - self._meeting))]

    def same(self, both: int) -> float:
        """Return the sum over draws that meet the marks of both values, of one of them, and of none."""
        neither = math.comb(self.cells - 2 * self.marked + both, self.size)
        one = 2 * (self._all - self._meeting - neither)
        two = self._all - one - neither
        return float(self._low**2 * (two * self.ratio**2 + one * self.ratio + neither))

    @property
    def _all(self) -> int:
        return math.comb(self.cells, self.size)

    @property
    def _meeting(self) -> int:
        return self._all - math.comb(self.cells - self.marked, self.size)

    @property
    def _low(self) -> float:
        return 1 / (self.ratio * self._meeting + self._all - self._meeting)


def distinct(mechanism: Mechanism, draw: Bits | Subsets, devices: int) -> float:
    """Return the expected number of different draws of ``devices`` devices with one value, cohorts included.

    It is the sum over cohorts and draws of 1 - (1 - P)^N.
    """
    law = mechanism.cohort_law
    cohorts = Counter(map(float, law)) if law is not None else {1 / mechanism.cohorts: mechanism.cohorts}
    total = 0.0
    for chance, alike in cohorts.items():
        for probability, number in draw.kinds():
            total += alike * number * -math.expm1(devices * math.log1p(-min(probability * chance, 1 - 1e-16)))
    return total


def same_draw(mechanism: Mechanism, first: Item, second: Item) -> float:
    """Return the probability that the permanent draws of two values are equal in a device's random cohort; 0 if none.

    Values that mark the same cells share one draw. (A RAPPOR value whose hash functions collide marks fewer cells than
    another; that is not counted.)
    """
    draw = permanent_draw(mechanism)
    if draw is None:
        return 0.0
    law = mechanism.cohort_law or (Fraction(1, mechanism.cohorts),) * mechanism.cohorts
    total = 0.0
    for cohort, chance in enumerate(law):
        both = len(set(mechanism.marked(first, cohort)) & set(mechanism.marked(second, cohort)))
        total += float(chance) * (1.0 if both == draw.marked else draw.same(both))
    return total


def permanent_draw(mechanism: Mechanism) -> Bits | Subsets | None:
    """Return the law of the permanent draw of any value in its device's cohort, or None if there is none."""
    law, ratio = mechanism.permanent_law, mechanism.permanent_ratio
    if law is None or ratio is None:
        return None
    if mechanism.weight is not None:
        return Subsets(mechanism.cells, mechanism.weight, mechanism.marks, float(ratio))
    high, low = (float(each) for each in law)
    return Bits(mechanism.cells, mechanism.marks, 1 - low if sum(law) == 1 else high, low)
