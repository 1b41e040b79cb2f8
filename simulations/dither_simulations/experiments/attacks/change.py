"""Value-change detection: tell whether the value of a device changed between two series of its reports.

Memory hides the value and not the moment at which it changes: another value has another permanent draw. The adversary
knows both values and looks at two things: how unlike the two series are, and by how much more the second supports the
new value. It learns on one half of the devices which of them to trust, and where to draw the line, and is judged on
the other half.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_shared import Mechanism

from ...users.populations import Floats
from .common import Hits, Series, SeriesExperiment, SeriesRow
from .permanent import same_draw
from .series import Device, answers_of, devices, profiles, scores


@dataclass(frozen=True)
class Change(SeriesExperiment):
    """The experiment: so many reports of one value, and then as many of the same one or of another.

    Half of the devices change, so that guessing is right in 1 of 2 cases. The bound is that of any adversary: with
    memory 1 - P[both permanent draws are alike]/2, without it 1/(1 + e^(-T ε)), T reports being of another value.
    """

    def trials(self, cell: Series, seeds: Sequence[np.random.SeedSequence]) -> list[Hits]:
        """Judge devices that changed and others, for each seed."""
        mechanism = self.mechanism(cell)
        return [_told_apart(mechanism, cell, self.devices, seed) for seed in seeds]

    def rows(self, cell: Series, outcomes: Sequence[Hits]) -> list[SeriesRow]:
        """Return how often the adversary was right."""
        mechanism = self.mechanism(cell)
        if cell.memoised:
            old, new = _both(mechanism)
            bound = 1 - same_draw(mechanism, answers_of(mechanism)[old], answers_of(mechanism)[new]) / 2
        else:
            bound = 1 / (1 + math.exp(-cell.reports * mechanism.epsilon))
        return [SeriesRow(**self.summary(cell, outcomes), theory=None, bound=bound)]


def _told_apart(mechanism: Mechanism, cell: Series, count: int, seed: np.random.SeedSequence) -> Hits:
    """Return how many of ``count`` devices were judged rightly, after training on as many others."""
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
    return Hits(float((judged == changed[count:]).sum()), count)


def _statistics(device: Device, reports: int, moved: bool) -> tuple[float, float]:
    """Return two numbers that grow with a change: the series' distance, and the second's support of the new value."""
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
    """Return the places of two answers; of numbers the two ends."""
    return 0, len(answers_of(mechanism)) - 1 if mechanism.items.ordered else 1


def _learnt(seen: Floats, changed: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[float, float]:
    """Return the best share of right answers that a threshold between observed values reaches, and that threshold."""
    order = np.argsort(seen, kind="stable")
    lines = np.append(seen[order][0] - 1, seen[order])
    right = [float(((seen > line) == changed).mean()) for line in lines]
    best = int(np.argmax(right))
    return right[best], float(lines[best])
