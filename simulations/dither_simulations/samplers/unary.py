"""Samplers of mechanisms whose cells are the values: randomized response, the unary encodings, and subset selection.

The counts of subset selection are not independent: each report has exactly d ones.
"""

import numpy as np

from dither_server.tally.tally import Tally
from dither_shared import OptimizedUnary, RandomizedResponse, SubsetSelection, SymmetricUnary

from ..users.populations import Counts, Population
from .registry import joint_draws, sample_tally


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

    C = T + U with T_s ~ Bin(n_s, p - q) and U ~ Multinomial(n - ΣT, 1/g) in each cohort: the truth with probability p
    and each other symbol with q is the same as the truth with probability p - q and otherwise any of the g, uniformly
    (Kairouz, Bonawitz and Ramage 2016). If p < q, which only g = 2 allows, the opposite symbol takes the place of the
    truth.
    """
    size = symbols.shape[1]
    gap = truth - (1 - truth) / (size - 1)
    truths = rng.binomial(symbols if gap > 0 else symbols[:, ::-1], abs(gap))
    noise = rng.multinomial(symbols.sum(axis=1) - truths.sum(axis=1), np.full(size, 1 / size))
    return np.asarray(truths + noise)


def bits(a: float, b: float, marked: Counts, reports: Counts, rng: np.random.Generator) -> Counts:
    """Return how many of ``reports`` set each bit, of which ``marked`` mark it."""
    return np.asarray(rng.binomial(marked, a) + rng.binomial(reports - marked, b))


_MOST_REPORTS = 500_000_000
"""The limit of numpy's hypergeometric draw, which is exact below 10^9: more users are drawn in several parts."""


@sample_tally.register
def _(mechanism: SubsetSelection, population: Population, rng: np.random.Generator) -> Tally:
    """With probability λ a report is its value and d - 1 of the others, uniformly; with 1 - λ, any d of the k.

    λ + (1-λ) d/k is the probability p that the value is among them.
    """
    share = mechanism.subset / mechanism.size
    signal = (float(mechanism.p) - share) / (1 - share)
    counts = np.zeros(mechanism.size, dtype=np.int64)
    for part in _parts(population.counts):
        certain = rng.binomial(part, signal)
        counts += subset_counts(mechanism.subset, certain, int(part.sum() - certain.sum()), rng)
    return Tally(population.counts.sum(keepdims=True), counts[np.newaxis])


@joint_draws.register
def _(mechanism: SubsetSelection, population: Population) -> float:
    """Estimate the work: at each item, the reports have one of some 12 standard deviations of numbers of free places.

    In addition to the draws, an item costs about 60 µs in calls, as much as 1000 draws.
    """
    k, d = mechanism.size, mechanism.subset
    states = min(d + 1.0, 2 + 8 * (d * (1 - d / k) / 4) ** 0.5)
    return float((1 + population.users // _MOST_REPORTS) * k * (2 * states + 1000))


def subset_counts(size: int, certain: Counts, free: int, rng: np.random.Generator) -> Counts:
    """Return how often each of k items is in reports of ``size`` items each.

    ``certain[v]`` of them hold v and a uniform subset of the others; ``free`` of them are uniform subsets. Item by
    item: of the reports with r places still to fill from m items still to come, Bin(r/m) take the next one. Reports
    whose certain item is yet to come have one place less to fill, from one item less; as they are alike until then,
    those of item v are a sample without replacement of them, that is a multivariate hypergeometric draw.
    """
    items = len(certain)
    passed, ahead = np.zeros(size + 1, dtype=np.int64), np.zeros(size, dtype=np.int64)
    passed[size], ahead[size - 1] = free, certain.sum()
    counts = certain.copy()
    for item in range(items):
        left = items - item
        arrived = _sample(ahead, int(certain[item]), rng)
        ahead -= arrived
        counts[item] += _fill(ahead, left - 1, rng) + _fill(passed, left, rng)
        passed[:size] += arrived
    return counts


def _fill(places: Counts, left: int, rng: np.random.Generator) -> int:
    """Let each report take the next of ``left`` items or not, in place; return how many took it.

    ``places[r]`` reports have r places to fill.
    """
    present = np.flatnonzero(places)
    if not len(present):
        return 0
    low, high = int(present[0]), int(present[-1]) + 1
    taking = rng.binomial(places[low:high], np.arange(low, high) / left)
    places[low:high] -= taking
    first = max(low, 1)  # a report without remaining places takes nothing
    places[first - 1 : high - 1] += taking[first - low :]
    return int(taking.sum())


def _sample(kinds: Counts, size: int, rng: np.random.Generator) -> Counts:
    """Return a sample without replacement of ``size`` reports, by kind."""
    sample = np.zeros_like(kinds)
    present = np.flatnonzero(kinds)
    if size:
        sample[present] = rng.multivariate_hypergeometric(kinds[present], size, method="marginals")
    return sample


def _parts(counts: Counts) -> list[Counts]:
    """Return users in parts small enough for the hypergeometric draw; tallies of parts add up."""
    number = int(counts.sum()) // _MOST_REPORTS + 1
    return [counts // number + (part < counts % number) for part in range(number)]
