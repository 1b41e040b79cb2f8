"""Samplers where a value's cell is the value: randomized response and the unary encodings."""

import numpy as np

from dither_server.tally.tally import Tally
from dither_shared import OptimizedUnary, RandomizedResponse, SymmetricUnary

from ..users.populations import Counts, Population
from .registry import sample_tally


@sample_tally.register
def _(mechanism: RandomizedResponse, population: Population, rng: np.random.Generator) -> Tally:
    """One report from each user; p and q are those of the chain, if there is a permanent part."""
    counts = population.counts[np.newaxis]
    return Tally(counts.sum(axis=1), responses(float(mechanism.p), counts, rng))


@sample_tally.register(SymmetricUnary)
@sample_tally.register(OptimizedUnary)
def _(mechanism: SymmetricUnary | OptimizedUnary, population: Population, rng: np.random.Generator) -> Tally:
    """C_v ~ Bin(n_v, a) + Bin(n - n_v, b), independent over v, because the bits of a report are."""
    counts = population.counts[np.newaxis]
    reports = counts.sum(axis=1)
    return Tally(reports, bits(float(mechanism.a), float(mechanism.b), counts, reports[:, np.newaxis], rng))


def responses(truth: float, symbols: Counts, rng: np.random.Generator) -> Counts:
    """Return the reported symbols of users who hold ``symbols``; counts of shape (cohorts, g).

    C = T + U with T_s ~ Bin(n_s, p - q) and U ~ Multinomial(n - ΣT, 1/g) in each cohort. For the truth with
    probability p and each other symbol with q is the truth with probability p - q and otherwise any of the g,
    uniformly (Kairouz, Bonawitz and Ramage 2016). Where p < q, which only g = 2 allows, it is the same of the opposite.
    """
    size = symbols.shape[1]
    gap = truth - (1 - truth) / (size - 1)
    truths = rng.binomial(symbols if gap > 0 else symbols[:, ::-1], abs(gap))
    noise = rng.multinomial(symbols.sum(axis=1) - truths.sum(axis=1), np.full(size, 1 / size))
    return np.asarray(truths + noise)


def bits(a: float, b: float, marked: Counts, reports: Counts, rng: np.random.Generator) -> Counts:
    """Return how many of ``reports`` set each bit, of which ``marked`` mark it."""
    return np.asarray(rng.binomial(marked, a) + rng.binomial(reports - marked, b))
