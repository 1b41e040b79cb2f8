"""Linkage: match two series of uploads, to find those of one device.

An adversary, such as a collector that turned bad, has a named series of uploads from each of N devices, and a later
series from each without a name. For each later series it names the device whose earlier series is the most similar. All
devices have the same value, so whatever it finds out comes from the noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_shared import Mechanism

from .common import Hits, Series, SeriesExperiment, SeriesRow
from .permanent import distinct, permanent_draw
from .series import answers_of, devices, profiles


@dataclass(frozen=True)
class Linkage(SeriesExperiment):
    """The experiment. Its bound is what knowing every permanent draw would give, in expectation.

    As many devices can be told apart as there are different draws among them, and of those with the same one any is as
    likely. Without memory the bound is that of a guess.
    """

    def trials(self, cell: Series, seeds: Sequence[np.random.SeedSequence]) -> list[Hits]:
        """Match the series of so many devices for each seed."""
        mechanism = self.mechanism(cell)
        return [_matched(mechanism, cell, self.devices, seed) for seed in seeds]

    def rows(self, cell: Series, outcomes: Sequence[Hits]) -> list[SeriesRow]:
        """Return how often the matches were right."""
        mechanism = self.mechanism(cell)
        draw = permanent_draw(mechanism) if cell.memoised else None
        bound = (1.0 if draw is None else distinct(mechanism, draw, self.devices)) / self.devices
        return [SeriesRow(**self.summary(cell, outcomes), theory=None, bound=bound)]


def _matched(mechanism: Mechanism, cell: Series, count: int, seed: np.random.SeedSequence) -> Hits:
    """Return how many later series were matched; of equally similar devices any may be named."""
    item = answers_of(mechanism)[0]
    pairs = [
        [device.reports(item, cell.reports) for _ in range(2)]
        for device in devices(mechanism, count, cell.memoised, seed)
    ]
    earlier, later = (profiles(mechanism, series) for series in zip(*pairs, strict=True))
    # The inner products of profiles less their means, of which whole tables would not fit the memory.
    usual = np.asarray(earlier.mean(axis=0)), np.asarray(later.mean(axis=0))
    lean = (earlier @ usual[1])[np.newaxis, :] + (later @ usual[0])[:, np.newaxis]
    similar = (later @ earlier.T).toarray() - lean + usual[0] @ usual[1]
    ties = similar >= similar.max(axis=1, keepdims=True) - 1e-4
    return Hits(float((ties.diagonal() / ties.sum(axis=1)).sum()), count)
