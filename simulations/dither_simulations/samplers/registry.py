"""The registry of samplers, the cost of a draw, and the marginal law: the support of each value drawn separately.

Mechanisms whose cells are the values come first: randomized response, the unary encodings, and subset selection. The
counts of subset selection are not independent: each report has exactly d ones.

The marginal law is exact for each value, without the dependence between values. The mean squared error and the coverage
of intervals are averages over values, so their expectation is the same as under the joint law; their variation from
trial to trial, and the largest error, differ slightly. It takes two binomials per value.
"""

from dataclasses import dataclass, field
from functools import lru_cache, singledispatch
from typing import ClassVar, Self

import numpy as np

from dither_server.estimation.decoders.decoder import Decoder, Support
from dither_server.estimation.decoders.support import DECODERS
from dither_server.estimation.hashing import marks_of
from dither_server.tally.tally import Tally
from dither_shared import (
    BitFlip,
    CountMeanSketch,
    Entropy,
    Mechanism,
    OptimizedUnary,
    ParameterError,
    RandomizedResponse,
    Rappor,
    Shape,
    SubsetSelection,
    SymmetricUnary,
)
from dither_shared.mechanism import LISTED, Item
from dither_shared.mechanisms.count_mean_sketch import Sketch

from ..users.populations import Counts, Floats, Population, items_of


@singledispatch
def sample_tally(mechanism: Mechanism, population: Population, rng: np.random.Generator) -> Tally:
    """Return the tally of one report from each user, from the joint law of its counts.

    The labels of ``population`` are those of the mechanism's domain, in order, or any strings for an open domain.
    Raises ParameterError for a mechanism whose law no sampler is registered for.
    """
    raise ParameterError(
        "mechanism", f"{mechanism.name} has no exact sampler; it can only be simulated device by device"
    )


@singledispatch
def joint_draws(mechanism: Mechanism, population: Population) -> float:
    """Return about how many binomial draws ``sample_tally`` makes for listed values, each some 60 ns."""
    return mechanism.cohorts * mechanism.cells


@singledispatch
def collision_bias(mechanism: Mechanism, population: Population) -> Floats:
    """Return the bias that fixed hash functions add to each estimate; 0 for mechanisms without any."""
    return np.zeros(len(population.labels))


def has_sampler(family: type[Mechanism]) -> bool:
    """Return whether a law is registered for a family of mechanisms."""
    return sample_tally.dispatch(family) is not sample_tally.dispatch(Mechanism)


def signal_probability(mechanism: Mechanism) -> float:
    """Return λ: with probability λ a report is uniform over the cells that its value owns, otherwise over all cells.

    Every mechanism whose cells have two probabilities, a and b, is such a mixture; b comes only from the uniform part.
    """
    return float(1 - mechanism.cells * mechanism.b)


@dataclass(frozen=True, kw_only=True)
class Marginal(Mechanism):
    """A mechanism seen one value at a time: the pure protocol (Wang et al. 2017) of each value.

    Its tally has a cohort of one cell for every value: the reports that cover the value, and those that support it. It
    is made from a mechanism over a listed domain; no device runs it.
    """

    name: ClassVar[str] = "marginal"

    size: int = field(init=False)
    whole: Mechanism

    def __post_init__(self) -> None:
        whole = self.whole
        self._derive(
            shape=Shape.BITS,
            size=whole.size,
            cohorts=whole.size,
            cells=1,
            a=whole.p,
            b=whole.q,
            p=whole.p,
            q=whole.q,
            coverage=whole.coverage,
            ratio=whole.ratio,
        )

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float) -> Self:
        """Refuse: it is made from a mechanism, and not by itself."""
        raise NotImplementedError

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the one cell of the value's own cohort."""
        return (0,) if item == cohort else ()

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        """Refuse: no device runs it."""
        raise NotImplementedError


class _Marginals(Decoder[Marginal]):
    def support(self, mechanism: Marginal, tally: Tally, labels: tuple[str, ...]) -> Support:
        return Support(tally.counts[:, 0], tally.reports)


DECODERS[Marginal] = _Marginals()


def has_marginal(mechanism: Mechanism) -> bool:
    """Return whether the support of each value is binomial: in every listed domain; not under fixed hashing."""
    return mechanism.items == LISTED


def sample_support(mechanism: Mechanism, population: Population, rng: np.random.Generator) -> Tally:
    """Return a tally of ``Marginal(whole=mechanism)``: for each value, its support among one report from each user.

    Bin(n_v, p) + Bin(n - n_v, q), after thinning both groups if not every report covers the value.
    """
    holders, others = population.counts, population.users - population.counts
    if mechanism.coverage != 1:
        holders, others = (rng.binomial(group, float(mechanism.coverage)) for group in (holders, others))
    supporting = rng.binomial(holders, float(mechanism.p)) + rng.binomial(others, float(mechanism.q))
    return Tally(holders + others, supporting[:, np.newaxis])


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
    """Draw which reports contain the next of the ``left`` items that remain; return how many do.

    ``places[r]`` is the number of reports with r places to fill; it is updated in place.
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


MAX_TABLE = 1 << 26
"""The largest table of values by cohorts: 512 MiB of counters."""


@sample_tally.register(Rappor)
@sample_tally.register(CountMeanSketch)
def _(mechanism: Rappor | CountMeanSketch, population: Population, rng: np.random.Generator) -> Tally:
    """Split each value's users over the cohorts, mark their bits, and flip: exact for one report from each user.

    n_(v,c) ~ Multinomial(n_v, 1/m); t_(c,b) is the number of users of cohort c whose value marks bit b; and
    C_(c,b) ~ Bin(t, a) + Bin(n_c - t, b), independent over c and b, a and b being those of the chain of the permanent
    and the instantaneous flip. (Several reports of one user share a permanent draw; that is another law.)
    """
    users = over_cohorts(mechanism, population, rng)
    marked = np.zeros((mechanism.cohorts, mechanism.cells), dtype=np.int64)
    cohorts = np.arange(mechanism.cohorts)[:, np.newaxis]
    np.add.at(marked, (cohorts, positions(mechanism, population.labels)), users[:, :, np.newaxis])
    reports = users.sum(axis=0)
    return Tally(reports, bits(float(mechanism.a), float(mechanism.b), marked, reports[:, np.newaxis], rng))


@sample_tally.register
def _(mechanism: BitFlip, population: Population, rng: np.random.Generator) -> Tally:
    """Split each value's users over the windows; the bits of a window are then independent.

    Bit i of window c is marked by its users of value c + i, so t_(c,i) = n_(c+i, c).
    """
    users = over_cohorts(mechanism, population, rng)
    windows = np.arange(mechanism.cohorts)[:, np.newaxis]
    marked = users[(windows + np.arange(mechanism.bits)) % mechanism.size, windows]
    reports = users.sum(axis=0)
    return Tally(reports, bits(float(mechanism.a), float(mechanism.b), marked, reports[:, np.newaxis], rng))


@joint_draws.register
def _(mechanism: BitFlip, population: Population) -> float:
    return mechanism.cohorts * (mechanism.cells + len(population.labels))


def over_cohorts(mechanism: Mechanism, population: Population, rng: np.random.Generator) -> Counts:
    """Return how many users of each value are in each cohort, by its ``cohort_law``; shape (values, cohorts).

    Raises ParameterError if that is too large a table.
    """
    cohorts = mechanism.cohorts
    if cohorts * len(population.labels) > MAX_TABLE:
        many = f"{len(population.labels)} values by {cohorts} cohorts"
        raise ParameterError("size", f"{many} are too many for the joint law of {mechanism.name}")
    return rng.multinomial(population.counts, cohort_shares(mechanism))


def cohort_shares(mechanism: Mechanism) -> Floats:
    """Return P[a report is of each cohort], shape (cohorts,)."""
    law = mechanism.cohort_law
    return np.full(mechanism.cohorts, 1 / mechanism.cohorts) if law is None else np.array([float(each) for each in law])


def expected_tally(mechanism: Mechanism, population: Population) -> Tally:
    """Return the expected tally of any mechanism: n_c (b + (a - b) Σ_v f_v [j ∈ marked(v, c)]), rounded.

    Most of the work is to find the cells that every value marks in every cohort.
    """
    shares = cohort_shares(mechanism)
    marked = np.zeros((mechanism.cohorts, mechanism.cells))
    for item, users in zip(items_of(mechanism, population.labels), population.counts.tolist(), strict=True):
        for cohort, share in enumerate(shares.tolist()):
            marked[cohort, list(mechanism.marked(item, cohort))] += users * share
    reports = np.rint(population.users * shares).astype(np.int64)
    a, b = float(mechanism.a), float(mechanism.b)
    return Tally(reports, np.rint(reports[:, np.newaxis] * b + (a - b) * marked).astype(np.int64))


@collision_bias.register
def _(mechanism: Sketch, population: Population) -> Floats:
    return bias_in(positions(mechanism, population.labels)[:, :, 0], mechanism.bits, population.shares)


def bias_in(buckets: Counts, size: int, shares: Floats) -> Floats:
    """Return m/(m-1) Σ_(u≠v) f_u (share of rows in which u and v collide - 1/m), m being the ``size`` of a row.

    ``buckets`` are those of each value in each row; shape (values, rows).
    """
    rows = np.arange(buckets.shape[1])
    load = np.zeros((len(rows), size))
    np.add.at(load, (rows, buckets), shares[:, np.newaxis])
    others = load[rows, buckets].mean(axis=1) - shares
    chance = 1 / size
    return np.asarray((others - chance * (1 - shares)) / (1 - chance))


@lru_cache(maxsize=8)
def positions(mechanism: Rappor | Sketch, labels: tuple[str, ...]) -> Counts:
    """Return the hash positions of each value, shape (values, cohorts, hash functions of a cohort).

    Cached, because hashing is most of the work and every trial of a sweep needs the same positions.
    """
    marks = marks_of(labels, mechanism.cohorts, mechanism.bits, mechanism.hashes)
    table = np.ascontiguousarray(marks.transpose(2, 0, 1), dtype=np.int64)
    table.setflags(write=False)
    return table
