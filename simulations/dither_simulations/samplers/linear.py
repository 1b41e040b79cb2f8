"""Samplers of mechanisms in which a value owns the solutions of a linear equation over a finite field.

Hadamard response, projective geometry response, linear local hashing and the Hadamard sketch have this in common: a
report with information about a value is a uniform solution y of ⟨y, x⟩ = s, with x and s known of the value. How often
each y is drawn by n users follows in one pass over the entries of y, as in a fast transform: users who have drawn
the same entries so far, and for whom the same equation is left over, are alike, so that a multinomial draw splits them
all at once. The work is about that of the decoder.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dither_server.estimation.decoders.transform import plane
from dither_server.tally.tally import Tally
from dither_shared import HadamardCountMeanSketch, HadamardResponse, LocalHashing
from dither_shared.mechanisms.local_hashing import vector_length
from dither_shared.primitives.galois import field as galois_field

from ..users.populations import Counts, Population
from .hashed import over_cohorts, positions
from .registry import joint_draws, responses, sample_tally, signal_probability


@sample_tally.register
def _(mechanism: HadamardResponse, population: Population, rng: np.random.Generator) -> Tally:
    """Value v owns the y with ⟨y, v + 1⟩ = 0 over GF(2)."""
    certain = rng.binomial(population.counts, signal_probability(mechanism))
    rows = np.arange(1, mechanism.size + 1)
    length = mechanism.cells.bit_length() - 1
    counts = solutions(2, length, 1, np.stack([0 * rows, rows, 0 * rows, certain]), rng)
    return with_uniform(counts, population.counts.sum(keepdims=True), rng)


@sample_tally.register
def _(mechanism: LocalHashing, population: Population, rng: np.random.Generator) -> Tally:
    """Draw the seed c and the symbol s = ⟨c, v⟩, a uniform solution (c, s) of ⟨c, v⟩ - s = 0; then perturb s.

    With a permanent part or without, one report shows s with the effective truth of the chain.
    """
    g = mechanism.symbols
    values = np.arange(mechanism.size) * g + plane(g).minus_one
    groups = np.stack([0 * values, values, 0 * values, population.counts])
    symbols = solutions(g, vector_length(g, mechanism.size) + 1, 1, groups, rng).reshape(mechanism.cohorts, g)
    return Tally(symbols.sum(axis=1), responses(float(mechanism.p), symbols, rng))


@sample_tally.register
def _(mechanism: HadamardCountMeanSketch, population: Population, rng: np.random.Generator) -> Tally:
    """In each cohort, the column c of a value owns the symbols (l, sign) with ⟨l, c⟩ + sign = 0 over GF(2)."""
    users = over_cohorts(mechanism, population, rng)
    certain = rng.binomial(users, signal_probability(mechanism))
    columns = positions(mechanism, population.labels)[:, :, 0]
    cohorts = np.broadcast_to(np.arange(mechanism.cohorts), users.shape)
    groups = np.stack([cohorts, 2 * columns + 1, 0 * columns, certain]).reshape(4, -1)
    counts = solutions(2, mechanism.cells.bit_length() - 1, mechanism.cohorts, groups, rng)
    return with_uniform(counts, users.sum(axis=0), rng)


@joint_draws.register
def _(mechanism: HadamardResponse, population: Population) -> float:
    return 2 * mechanism.cells * mechanism.cells.bit_length()


@joint_draws.register
def _(mechanism: LocalHashing, population: Population) -> float:
    g = mechanism.symbols
    return mechanism.cohorts * g**2 * vector_length(g, mechanism.size)


@joint_draws.register
def _(mechanism: HadamardCountMeanSketch, population: Population) -> float:
    cohorts = mechanism.cohorts
    return cohorts * (len(population.labels) + 2 * mechanism.cells * mechanism.cells.bit_length())


def solutions(order: int, length: int, lanes: int, groups: Counts, rng: np.random.Generator) -> Counts:
    """Return how many users draw each y of GF(order)^length; shape (lanes, order^length).

    ``groups`` has four rows: a lane, the number of a vector x (its base-q digits, most significant first), s, and how
    many users draw y uniformly from the solutions of ⟨y, x⟩ = s, which must have some. Lanes are tables of their own.
    """
    prefix, rest, left, users = groups
    for remaining in range(length, 0, -1):
        (prefix, rest, left), users = _merged(order, remaining, (prefix, rest, left), users)
        head, rest = np.divmod(rest, order ** (remaining - 1))
        drawn = _entries(order, (head == 1) & (rest == 0), left, users, rng)
        entry = np.arange(order)
        left = np.where(head[:, np.newaxis] == 1, _differences(order)[left], left[:, np.newaxis])
        prefix, rest = prefix[:, np.newaxis] * order + entry, np.repeat(rest, order)
        some = np.flatnonzero(drawn)
        prefix, rest, left, users = prefix.ravel()[some], rest[some], left.ravel()[some], drawn.ravel()[some]
    counts = np.zeros(lanes * order**length, dtype=np.int64)
    np.add.at(counts, prefix, users)
    return counts.reshape(lanes, -1)


def _entries(order: int, forced: NDArray[np.bool_], left: Counts, users: Counts, rng: np.random.Generator) -> Counts:
    """Return how many users of each group draw each next entry of y; shape (groups, order).

    If non-zero entries of x follow, or if none came before, each value is equally likely; at the last non-zero entry
    (which is 1, because the equation is scaled) the entry of y must be the rest of s.
    """
    drawn = np.zeros((len(users), order), dtype=np.int64)
    drawn[forced, left[forced]] = users[forced]
    if order == 2:
        drawn[~forced, 0] = rng.binomial(users[~forced], 0.5)
        drawn[~forced, 1] = users[~forced] - drawn[~forced, 0]
    else:
        drawn[~forced] = rng.multinomial(users[~forced], np.full(order, 1 / order))
    return drawn


def _merged(
    order: int, length: int, keys: tuple[Counts, Counts, Counts], users: Counts
) -> tuple[tuple[Counts, Counts, Counts], Counts]:
    """Merge the users with the same prefix and equation, scaled so that x begins with 1."""
    prefix, rest, left = keys
    lead, scaled = _scaling(order, length)
    space = plane(order)
    left = space.products[space.inverses[lead[rest]], left]
    rest = scaled[rest]
    flat = (prefix * order**length + rest) * order + left
    order_of, start = np.argsort(flat, kind="stable"), np.empty(0, dtype=np.intp)
    flat = flat[order_of]
    start = np.flatnonzero(np.diff(flat, prepend=-1))
    users = np.add.reduceat(users[order_of], start) if len(users) else users
    flat, left = np.divmod(flat[start], order)
    prefix, rest = np.divmod(flat, order**length)
    return (prefix, rest, left), users


@lru_cache(maxsize=32)
def _scaling(order: int, length: int) -> tuple[Counts, Counts]:
    """Return each vector's leading entry, and the number of the vector divided by it; 1 and 0 for vector 0."""
    space = plane(order)
    digits = space.digits(np.arange(order**length), length)
    lead = digits[np.arange(len(digits)), np.argmax(digits != 0, axis=1)]
    lead[0] = 1
    return lead, space.numbers(space.products[space.inverses[lead][:, np.newaxis], digits])


@lru_cache(maxsize=32)
def _differences(order: int) -> Counts:
    """Return the table of s - y, shape (order, order)."""
    space = galois_field(order)
    return np.array([[space.add(s, space.negative(y)) for y in range(order)] for s in range(order)])


def with_uniform(counts: Counts, reports: Counts, rng: np.random.Generator) -> Tally:
    """Add the reports that are uniform over all cells, which are missing in ``counts``; shape (cohorts, cells)."""
    cells = counts.shape[1]
    return Tally(reports, counts + rng.multinomial(reports - counts.sum(axis=1), np.full(cells, 1 / cells)))
