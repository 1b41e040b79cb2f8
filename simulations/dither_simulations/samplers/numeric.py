"""Samplers of mechanisms for numbers: the dithered response, and the laws that are tables."""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither_server.tally.tally import Tally
from dither_shared import DiscreteGaussian, DiscreteLaplace, DitheredResponse, Exponential
from dither_shared.mechanisms.numeric import TabulatedMechanism

from ..users.populations import Counts, Floats, Population
from .registry import over_cohorts, responses, sample_tally


@sample_tally.register
def _(mechanism: DitheredResponse, population: Population, rng: np.random.Generator) -> Tally:
    """Split each point's users over the phases, put them into their cells, and perturb these; O(points · phases).

    n_(v,c) ~ Multinomial(n_v, 1/d). Of the d points of a step, those with v mod d + c < d are in the step's own cell in
    phase c, the others in the next. With a permanent part or without, one report has the truth of the chain.
    """
    steps, phases = mechanism.steps, mechanism.cohorts
    users = over_cohorts(mechanism, population, rng)
    blocks = users[:-1].reshape(steps, phases, phases)
    stay = np.add.outer(np.arange(phases), np.arange(phases)) < phases
    inside = (blocks * stay).sum(axis=1)
    cells = np.zeros((phases, mechanism.cells), dtype=np.int64)
    cells[:, :-1] += inside.T
    cells[:, 1:] += (blocks.sum(axis=1) - inside).T
    cells[:, -1] += users[-1]
    return Tally(cells.sum(axis=1), responses(float(mechanism.p), cells, rng))


@sample_tally.register(DiscreteLaplace)
@sample_tally.register(Exponential)
def _(mechanism: TabulatedMechanism, population: Population, rng: np.random.Generator) -> Tally:
    """Draw the cells of each point's users from its row of the table."""
    drawn = _multinomials(_chances(mechanism), population.counts, rng)
    counts = np.array([some.sum() for some in drawn] + [0] * mechanism.cells)[: mechanism.cells]
    return Tally(population.counts.sum(keepdims=True), counts[np.newaxis])


@sample_tally.register
def _(mechanism: DiscreteGaussian, population: Population, rng: np.random.Generator) -> Tally:
    """Draw the noise of each point's users: the same law for all points, shifted to each point."""
    counts = np.zeros(mechanism.cells, dtype=np.int64)
    for noise, some in enumerate(_multinomials(_noise(mechanism), population.counts, rng)):
        counts[noise : noise + mechanism.size] += some
    return Tally(population.counts.sum(keepdims=True), counts[np.newaxis])


def _multinomials(chances: Floats, users: Counts, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield how many of the users of each group have outcome 0, 1, …, until all have one.

    ``chances[i]`` is the probability of outcome i given that no earlier one occurred, for all groups or for each.
    (numpy's own multinomial subtracts floats from 1, which makes rare outcomes at the end wrong.)
    """
    left = users.copy()
    for chance in chances:
        if not left.any():
            return
        some = rng.binomial(left, chance)
        left -= some
        yield some


@lru_cache(maxsize=16)
def _chances(mechanism: TabulatedMechanism) -> Floats:
    """Return the chance of each cell given that no earlier one occurred, for each point; shape (cells, points)."""
    return np.array([_conditional(mechanism.cell_law(point)) for point in range(mechanism.size)]).T


@lru_cache(maxsize=16)
def _noise(mechanism: DiscreteGaussian) -> Floats:
    """Return the same of the noise, which is that of point 0."""
    return np.array(_conditional(mechanism.cell_law(0)[: mechanism.cells - mechanism.size + 1]))


def _conditional(law: tuple[Fraction, ...]) -> list[float]:
    """Return the chance of each outcome given that no earlier one occurred, from exact ones."""
    left, conditional = Fraction(1), []
    for chance in law:
        conditional.append(float(chance / left) if left else 1.0)
        left -= chance
    return conditional
