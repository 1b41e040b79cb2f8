"""Samplers of mechanisms in which a value owns the solutions of a linear equation over a finite field.

Hadamard response, projective geometry response, linear local hashing and the Hadamard sketch have this in common: a
report with information about a value is a uniform solution y of ⟨y, x⟩ = s, with x and s known of the value. How often
each y is drawn by n users follows in one pass over the entries of y, as in a fast transform: users who have drawn
the same entries so far, and for whom the same equation is left over, are alike, so that a multinomial draw splits them
all at once. The work is about that of the decoder.

In projective geometry response, of a listed value or of the bucket to which a string is hashed, a report with
information about a point v is a uniform point y of its hyperplane, ⟨y, v⟩ = 0. How often each y is drawn
is found in one of two ways: user by user, as a device draws, for many at once; or by ``solutions``, whose work
does not depend on the number of users.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dither_server.estimation.transform import plane
from dither_server.tally.tally import Tally
from dither_shared import (
    HadamardCountMeanSketch,
    HadamardResponse,
    LocalHashing,
    PrefixSketch,
    ProjectiveGeometry,
    ProjectiveSketch,
)
from dither_shared.mechanisms.local_hashing import vector_length
from dither_shared.mechanisms.projective_sketch import ProjectiveBuckets
from dither_shared.primitives.buckets import MAX_ROWS
from dither_shared.primitives.galois import field as galois_field
from dither_shared.primitives.projective import Points, point_count, point_length

from ..users.populations import Counts, Floats, Population, items_of
from .registry import (
    bias_in,
    collision_bias,
    joint_draws,
    over_cohorts,
    positions,
    responses,
    sample_tally,
    signal_probability,
)


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


_BLOCK = 1 << 19
"""Users who draw at once, one by one."""

_AT_ONCE = 1 << 22
"""Maximum number of groups of users, times the entries between which they split, that are drawn at once."""


@sample_tally.register
def _(mechanism: ProjectiveGeometry, population: Population, rng: np.random.Generator) -> Tally:
    """Value v owns the points y with ⟨y, v⟩ = 0 over GF(q)."""
    points = Points(mechanism.order, point_length(mechanism.order, mechanism.size))
    certain = rng.binomial(population.counts, signal_probability(mechanism))
    counts = owned_points(points, certain[np.newaxis], rng)
    return with_uniform(counts, population.counts.sum(keepdims=True), rng)


@sample_tally.register
def _(mechanism: ProjectiveBuckets, population: Population, rng: np.random.Generator) -> Tally:
    """Split each value's users over the cohorts, count them by bucket, and draw points of the buckets' hyperplanes.

    With a permanent part or without, one report has the law of a and b.
    """
    users = over_cohorts(mechanism, population, rng)
    held = np.zeros((mechanism.cohorts, mechanism.buckets), dtype=np.int64)
    np.add.at(held, (np.arange(mechanism.cohorts), buckets_of(mechanism, population.labels)), users)
    certain = rng.binomial(held, signal_probability(mechanism))
    points = Points(mechanism.order, mechanism.length)
    few = certain.sum() < mechanism.cohorts * mechanism.cells * mechanism.order
    counts = (points_by_user if few else owned_points)(points, certain, rng)
    return with_uniform(counts, users.sum(axis=0), rng)


@joint_draws.register
def _(mechanism: ProjectiveGeometry, population: Population) -> float:
    return mechanism.cells * mechanism.order * point_length(mechanism.order, mechanism.size)


def owned_points(points: Points, users: Counts, rng: np.random.Generator) -> Counts:
    """Return how many users draw each point; shape (lanes, points).

    ``users`` has shape (lanes, values): that many draw uniformly from the hyperplane of each value, the point of that
    number. Points are numbered in blocks, by the number r of entries after the leading 1. In block r the equation is
    ⟨w, tail⟩ = -lead, where w and tail are the last r entries of y and v, and lead is the entry before the tail.
    """
    order, length = points.order, points.length
    leads, tails, owned = _blocks(order, length, users.shape[1])
    lanes, values = np.nonzero(users)
    in_block = rng.multinomial(users[lanes, values], owned[values])
    negative = galois_field(order).negative
    minus = np.array([negative(element) for element in range(order)])
    blocks = []
    for r in range(length):
        groups = np.stack([lanes, tails[r][values], minus[leads[r][values]], in_block[:, r]])
        groups = groups[:, in_block[:, r] > 0]
        parts = np.array_split(groups, 1 + groups.shape[1] * order // _AT_ONCE, axis=1)
        blocks.append(sum(solutions(order, r, len(users), part, rng) for part in parts))
    return np.concatenate(blocks, axis=1)


def points_by_user(points: Points, users: Counts, rng: np.random.Generator) -> Counts:
    """Return the same as ``owned_points``, drawn as ``Points.draw`` does, for each user."""
    counts = np.zeros(users.shape[0] * points.count, dtype=np.int64)
    flat = users.ravel()
    ends = np.cumsum(flat)
    for start in range(0, int(ends[-1]), _BLOCK):
        drawing = np.arange(start, min(start + _BLOCK, int(ends[-1])))
        lanes, values = np.divmod(np.searchsorted(ends, drawing, side="right"), users.shape[1])
        np.add.at(counts, lanes * points.count + _drawn(points, values, rng), 1)
    return counts.reshape(users.shape[0], -1)


def _drawn(points: Points, values: Counts, rng: np.random.Generator) -> Counts:
    """Return a uniform point of the hyperplane of each value."""
    order, length = points.order, points.length
    space, rows = plane(order), np.arange(len(values))
    of, firsts = space.digits(_vectors(order, length, values), length), _firsts(order, length)
    lead = np.argmax(of != 0, axis=1)
    # A number of length - 1 digits, not 0; the digit at v's leading 1 is put in between, 0 at first.
    free = rng.integers(1, order ** (length - 1), len(values))
    high, low = np.divmod(free, order ** (length - 1 - lead))
    digits = space.digits(high * order ** (length - lead) + low, length)
    digits[rows, lead] = _negative_sums(order, space.products[digits, of])
    first = np.argmax(digits != 0, axis=1)
    scaled = space.products[space.inverses[digits[rows, first]][:, np.newaxis], digits]
    behind = length - 1 - first
    return np.asarray(firsts[behind] + space.numbers(scaled) - order**behind)


def _negative_sums(order: int, terms: Counts) -> Counts:
    """Return the negative of the sum of each row over GF(order)."""
    space = galois_field(order)
    if space.degree == 1:
        return np.asarray(-terms.sum(axis=1) % order)
    if space.characteristic == 2:
        return np.asarray(np.bitwise_xor.reduce(terms, axis=1))
    sums = _sums(order)
    total = terms[:, 0]
    for column in terms.T[1:]:
        total = sums[total, column]
    return np.asarray(plane(order).products[plane(order).minus_one, total])


@lru_cache(maxsize=8)
def _sums(order: int) -> Counts:
    space = galois_field(order)
    return np.array([[space.add(one, two) for two in range(order)] for one in range(order)])


def _firsts(order: int, length: int) -> Counts:
    """Return the first point of each block."""
    return np.array([point_count(order, r) if r else 0 for r in range(length)])


def _vectors(order: int, length: int, values: Counts) -> Counts:
    """Return the number of the vector of each point, whose first entry that is not 0 is 1."""
    first = _firsts(order, length)
    behind = np.searchsorted(first, values, side="right") - 1
    return np.asarray(order**behind + values - first[behind])


@lru_cache(maxsize=8)
def _blocks(order: int, length: int, size: int) -> tuple[Counts, Counts, NDArray[np.float64]]:
    """Return for each block r and value v the lead, the tail's number, and the share of v's points; the last as (v, r).

    Of the q^r points of block r, v owns q^(r-1) if its tail is not 0, else all or none, as the lead is 0 or not.
    """
    numbers = _vectors(order, length, np.arange(size))
    powers = order ** np.arange(length)[:, np.newaxis]
    leads, tails = numbers // powers % order, numbers % powers
    owned = np.where(tails != 0, powers // order, np.where(leads == 0, powers, 0)).T
    return leads, tails, owned / owned.sum(axis=1, keepdims=True)


@collision_bias.register
def _(mechanism: ProjectiveSketch, population: Population) -> Floats:
    return bias_in(buckets_of(mechanism, population.labels), mechanism.buckets, population.shares)


@collision_bias.register
def _(mechanism: PrefixSketch, population: Population) -> Floats:
    """Return the bias of the tally of whole strings, in the rows of the confirming level."""
    rows = buckets_of(mechanism, population.labels)[:, -mechanism.rows :]
    return bias_in(rows, mechanism.buckets, population.shares)


@lru_cache(maxsize=8)
def buckets_of(mechanism: ProjectiveBuckets, labels: tuple[str, ...]) -> Counts:
    """Return the bucket of each value in each cohort; shape (values, cohorts).

    Cached, because hashing is most of the work and every trial of a sweep needs the same buckets.
    """
    items = items_of(mechanism, labels)
    levels = range(mechanism.cohorts // mechanism.rows)
    words = [
        np.frombuffer(b"".join([mechanism.digest(item, level) for item in items]), dtype=">u4") for level in levels
    ]
    table = np.concatenate([each.reshape(-1, MAX_ROWS)[:, : mechanism.rows] for each in words], axis=1)
    table = np.asarray(table % mechanism.buckets, dtype=np.int64)
    table.setflags(write=False)
    return table
