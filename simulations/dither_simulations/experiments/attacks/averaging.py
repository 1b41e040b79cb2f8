"""Averaging: guess a value from many reports of it, with memory and without.

Each device has a uniformly random value, and the guess is the value that most of its reports support. Without memory
the guess becomes as good as one likes; with memory, no better than the permanent draw allows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from dither_shared import Mechanism, Shape

from .common import Hits, Series, SeriesExperiment, SeriesRow
from .series import answers_of, devices, scores


@dataclass(frozen=True)
class Averaging(SeriesExperiment):
    """The experiment. Its bound is e^E/(e^E + k - 1), E being the exact loss of the reports: a guess is no better.

    That is the posterior probability of a value, of k equally likely ones, which no loss of E lets exceed.
    """

    def trials(self, cell: Series, seeds: Sequence[np.random.SeedSequence]) -> list[Hits]:
        """Attack some devices for each seed."""
        mechanism = self.mechanism(cell)
        return [_guessed(mechanism, cell, self.devices, seed) for seed in seeds]

    def rows(self, cell: Series, outcomes: Sequence[Hits]) -> list[SeriesRow]:
        """Return how often the guesses were right; theory says it of the majority of reports of two values."""
        mechanism = self.mechanism(cell)
        others = len(answers_of(mechanism)) - 1
        bound = 1 / (1 + others * math.exp(-mechanism.epsilon_after(cell.reports)))
        theory = majority(mechanism, cell.reports)
        return [SeriesRow(**self.summary(cell, outcomes), theory=theory, bound=bound)]


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


def _guessed(mechanism: Mechanism, cell: Series, count: int, seed: np.random.SeedSequence) -> Hits:
    """Return how many values were guessed; a device of which several are as likely counts as the chance of its own."""
    draw, noise = seed.spawn(2)
    answers = answers_of(mechanism)
    held = np.random.default_rng(draw).integers(len(answers), size=count).tolist()
    successes = 0.0
    for place, device in zip(held, devices(mechanism, count, cell.memoised, noise), strict=True):
        score = scores(mechanism, device.reports(answers[place], cell.reports))
        best = score == score.max()
        successes += float(best[place]) / int(best.sum())
    return Hits(successes, count)
