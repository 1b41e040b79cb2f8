"""Exact draws of the tally of n users from its own law, at a cost that does not depend on n.

What an estimate needs of n reports is their tally, and the tally's law given the users' values is made of binomials
and multinomials. Drawing from it is not an approximation: device and sampler follow one law, up to the rounding of a
probability to a float (relative 2^-53). A mechanism joins by registering a function here; one without a sampler can
still be simulated device by device (``devices.py``).
"""

from functools import lru_cache, singledispatch

import numpy as np

from dither_server.tally import Tally
from dither_shared import Mechanism, ParameterError, RandomizedResponse, Rappor, SymmetricUnary

from .populations import Counts, Population, items_of

__all__ = ["expected_tally", "has_sampler", "sample_tally"]


@singledispatch
def sample_tally(mechanism: Mechanism, population: Population, rng: np.random.Generator) -> Tally:
    """Return the tally of one report from each user.

    The labels of ``population`` are those of the mechanism's domain, in order, or any strings for an open domain.
    Raises ParameterError for a mechanism whose law no sampler is registered for.
    """
    raise ParameterError(
        "mechanism", f"{mechanism.name} has no exact sampler; it can only be simulated device by device"
    )


@sample_tally.register
def _(mechanism: RandomizedResponse, population: Population, rng: np.random.Generator) -> Tally:
    """C = T + U with T_v ~ Bin(n_v, p - q) and U ~ Multinomial(n - ΣT, 1/k).

    For the truth with probability p and each other answer with q is the truth with probability p - q and otherwise
    any of the k answers, uniformly (Kairouz, Bonawitz and Ramage 2016). Where p < q, which only k = 2 allows, it is
    the same of the opposite answer.
    """
    counts = population.counts
    inclined = counts if mechanism.p > mechanism.q else counts[::-1]
    truths = rng.binomial(inclined, float(abs(mechanism.p - mechanism.q)))
    noise = rng.multinomial(int(counts.sum() - truths.sum()), np.full(mechanism.size, 1 / mechanism.size))
    return Tally(counts.sum(keepdims=True), (truths + noise)[np.newaxis])


@sample_tally.register
def _(mechanism: SymmetricUnary, population: Population, rng: np.random.Generator) -> Tally:
    """C_v ~ Bin(n_v, a) + Bin(n - n_v, b), independent over v, because the bits of a report are."""
    counts = population.counts
    return Tally(counts.sum(keepdims=True), _bits(mechanism, counts, counts.sum(), rng)[np.newaxis])


@sample_tally.register
def _(mechanism: Rappor, population: Population, rng: np.random.Generator) -> Tally:
    """Split each value's users over the cohorts, mark the Bloom bits, and flip: exact for one report from each user.

    n_(v,c) ~ Multinomial(n_v, 1/m); t_(c,b) is the number of users of cohort c whose value marks bit b; and
    C_(c,b) ~ Bin(t, a) + Bin(n_c - t, b), independent over c and b, a and b being those of the chain of the permanent
    and the instantaneous flip. (Several reports of one user share a permanent draw; that is another law.)
    """
    cohorts = mechanism.cohorts
    users = rng.multinomial(population.counts, np.full(cohorts, 1 / cohorts))  # (values, cohorts)
    marked = np.zeros((cohorts, mechanism.cells), dtype=np.int64)
    np.add.at(marked.reshape(-1), _cells(mechanism, population.labels), users[:, :, np.newaxis])
    reports = users.sum(axis=0)
    return Tally(reports, _bits(mechanism, marked, reports[:, np.newaxis], rng))


def has_sampler(family: type[Mechanism]) -> bool:
    """Return whether a law is registered for a family of mechanisms."""
    return sample_tally.dispatch(family) is not sample_tally.dispatch(Mechanism)


def expected_tally(mechanism: Mechanism, population: Population) -> Tally:
    """Return the tally that is expected of any mechanism: n_c (b + (a - b) Σ_v f_v [j ∈ marked(v, c)]), rounded."""
    cohorts, cells = mechanism.cohorts, mechanism.cells
    marked = np.zeros(cohorts * cells)
    np.add.at(marked, _cells(mechanism, population.labels), population.counts[:, np.newaxis, np.newaxis] / cohorts)
    reports = np.rint(np.full(cohorts, population.users / cohorts)).astype(np.int64)
    a, b = float(mechanism.a), float(mechanism.b)
    expected = reports[:, np.newaxis] * b + (a - b) * marked.reshape(cohorts, cells)
    return Tally(reports, np.rint(expected).astype(np.int64))


def _bits(mechanism: Mechanism, marked: Counts, reports: Counts, rng: np.random.Generator) -> Counts:
    """Return how many of ``reports`` set each bit, of which ``marked`` mark it."""
    return rng.binomial(marked, float(mechanism.a)) + rng.binomial(reports - marked, float(mechanism.b))


@lru_cache(maxsize=8)
def _cells(mechanism: Mechanism, labels: tuple[str, ...]) -> Counts:
    """Return the flat index c·cells + j of each cell marked, shape (values, cohorts, cells marked by a value).

    Remembered, for hashing is most of the work and every trial of a sweep asks for the same.
    """
    items = items_of(mechanism, labels)
    cells = [[mechanism.marked(item, cohort) for cohort in range(mechanism.cohorts)] for item in items]
    flat = np.array(cells, dtype=np.int64) + np.arange(mechanism.cohorts)[:, np.newaxis] * mechanism.cells
    flat.setflags(write=False)
    return flat
