"""Poisoning of a mean: forged reports that raise it, as far as one report can (``NumericMechanism.reach``).

- ``random-report``: any report that the collector takes, uniformly;
- ``crafted-input``: the high end of the range, sent through the honest randomizer: an honest lie;
- ``crafted-report``: the report of the greatest score.

A share β of all reports whose scores are g on average moves the mean by β (g - mean of the honest).
"""

from dataclasses import dataclass

import numpy as np

from dither_server.estimation.numeric.laws.registry import law_of
from dither_server.tally.tally import Tally
from dither_shared import Mechanism

from ....samplers import sample_tally
from ....users.numbers import Numbers
from ....users.populations import Floats, Population, numbered
from .poisoning import Forged, Poisoning


@dataclass(frozen=True)
class NumberPoisoning(Poisoning):
    """The experiment: every mechanism of numbers, attack and share; the honest are even over the range.

    ``size`` and ``targets`` mean nothing to it.
    """

    def _estimated(self, mechanism: Mechanism, tally: Tally) -> float:
        return law_of(mechanism).scores(tally).mean

    def _honest(self, mechanism: Mechanism) -> Population:
        points = mechanism.size or 2
        return Population.spread(numbered(points), Numbers("uniform").shares(points), self.users)

    def _forged(self, cell: Forged, mechanism: Mechanism, rng: np.random.Generator) -> Tally:
        count, points = self._number(cell), mechanism.size or 2
        if cell.attack == "crafted-input":
            return sample_tally(
                mechanism, Population(numbered(points), count * np.eye(1, points, points - 1, int)[0]), rng
            )
        chances = _random(mechanism) if cell.attack == "random-report" else _crafted(mechanism)
        counts = rng.multinomial(count, chances.ravel()).reshape(chances.shape)
        return Tally(counts.sum(axis=1), counts)

    def _theory(self, cell: Forged, mechanism: Mechanism) -> float:
        number, scores = self._number(cell), _scores(mechanism)
        score = {
            "random-report": float((_random(mechanism) * scores).sum()),
            "crafted-input": 1.0,
            "crafted-report": float(scores.max()),
        }[cell.attack]
        return number / (self.users + number) * (score - 0.5)


def _scores(mechanism: Mechanism) -> Floats:
    """Return the score of each report; shape (cohorts, cells)."""
    shape = (mechanism.cohorts, mechanism.cells)
    return np.broadcast_to(law_of(mechanism).scores(Tally.zero(mechanism)).values, shape)


def _random(mechanism: Mechanism) -> Floats:
    """Return the chances of reports drawn uniformly."""
    return np.full((mechanism.cohorts, mechanism.cells), 1 / (mechanism.cohorts * mechanism.cells))


def _crafted(mechanism: Mechanism) -> Floats:
    """Return the chances of reports of the greatest score, each alike."""
    best = _scores(mechanism) == _scores(mechanism).max()
    return np.asarray(best / best.sum())
