"""Compute the fast transform over vectors of a finite field, from which the supports of a tally follow.

For an additive character χ of GF(q) the transform of a table N over GF(q)^t is

    N̂(y) = Σ_w N(w) χ(⟨w, y⟩),

computed axis by axis in t products with the q x q matrix χ(wy): q^t · q · t multiplications instead of q^2t. With
q = 2 it is the Walsh-Hadamard transform.

Projective geometry uses ``hyperplane_sums``; local hashing uses ``supporting_reports`` and ``supported_values``.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither_shared.mechanisms.local_hashing import LocalHashing, vector_length
from dither_shared.primitives.galois import Field
from dither_shared.primitives.galois import field as galois_field

from ..tally.arrays import Counts, Floats, Indices

Table = NDArray[np.inexact[Any]]


@dataclass(frozen=True)
class _Plane:
    """GF(q) as arrays: ``products`` and ``characters`` χ(xy), both of shape (q, q), and ``inverses`` of shape (q,)."""

    order: int
    minus_one: int
    products: Indices
    inverses: Indices
    characters: Table

    def transform(self, table: Table, length: int) -> Table:
        """Return N̂ of tables of order^length entries, indexed by base-q numbers, most significant digit first.

        The last axis holds the entries of a table; any axes before it index the tables.
        """
        result = table.reshape(-1, *(self.order,) * length)
        for _ in range(length):  # each product moves an axis to the end; the last restores the order
            result = np.tensordot(result, self.characters, axes=(1, 0))
        return result.reshape(table.shape)

    def digits(self, numbers: Indices, length: int) -> Indices:
        """Return the base-q digits of numbers, most significant first; shape (len(numbers), length)."""
        return numbers[:, None] // self._powers(length) % self.order

    def numbers(self, digits: Indices) -> Indices:
        """Return the numbers whose base-q digits are the last axis."""
        return np.asarray(digits @ self._powers(digits.shape[-1]), dtype=np.intp)

    def multiples(self, length: int) -> Indices:
        """Return the numbers of the vectors z·v for every projective point v and every z; shape (points, order).

        Every vector except 0 occurs once, if z = 0 is left out.
        """
        return _multiples(self.order, length)

    def _powers(self, length: int) -> Indices:
        return np.asarray(self.order ** np.arange(length - 1, -1, -1, dtype=np.intp), dtype=np.intp)


@cache
def plane(order: int) -> _Plane:
    """Return the tables of GF(order), computed once."""
    space = galois_field(order)
    elements = range(order)
    products = np.array([[space.multiply(one, two) for two in elements] for one in elements], dtype=np.intp)
    inverses = np.array([0] + [space.inverse(element) for element in elements[1:]], dtype=np.intp)
    return _Plane(order, space.negative(1), products, inverses, _character(space)[products])


@cache
def _multiples(order: int, length: int) -> Indices:
    space = plane(order)
    points = np.concatenate([np.arange(order**free, 2 * order**free) for free in range(length)])
    digits = space.digits(points, length)
    return np.stack([space.numbers(space.products[z][digits]) for z in range(order)], axis=1)


def _character(space: Field) -> Table:
    """Return χ(x) = exp(2πi Tr(x)/p) for each element; real if p = 2."""
    traces = []
    for element in range(space.order):
        trace, power = 0, element
        for _ in range(space.degree):  # x + x^p + x^p² + … lies in GF(p)
            trace, raised = space.add(trace, power), 1
            for _ in range(space.characteristic):
                raised = space.multiply(raised, power)
            power = raised
        traces.append(trace)
    if space.characteristic == 2:
        return np.where(np.array(traces) == 0, 1.0, -1.0)
    return np.exp(2j * np.pi * np.array(traces) / space.characteristic)


def hyperplane_sums(order: int, length: int, reports: Floats) -> Floats:
    """Return Σ_u reports[u] [⟨u, v⟩ = 0] for every point v of PG(length - 1, order), from the ``reports`` by point.

    The recursion is over the length. The points whose first entry is 0 are the points of length - 1; the others are (1,
    w) with any vector w. Let ℓ(y', s) = Σ_w reports[(1, w)] [⟨w, y'⟩ = s]. Then for v = (0, y')

        S(v) = ℓ(y', 0) + S'(y'),

    and for v = (1, λy'), λ ≠ 0,

        S(v) = ℓ(y', -1/λ) + S'(y'),

    while v = (1, 0) owns exactly the points that begin with 0. ℓ(y', ·) is a slice of the transform of the reports
    along the line through y', transformed back. The work is O(K q length) at most, K the number of points.
    """
    space = plane(order)
    sums = np.zeros(1)  # of the only point of length 1, which is not on its own hyperplane
    for entries in range(1, length):
        inner, outer = reports[: len(sums)], reports[len(sums) : len(sums) + order**entries]
        sums = _longer(space, entries, inner, outer, sums)
    return sums


def _longer(space: _Plane, length: int, inner: Floats, outer: Floats, sums: Floats) -> Floats:
    """Return the sums for points with one more entry: ``inner`` reports begin with 0, ``outer`` ones with 1."""
    multiples = space.multiples(length)
    lines = space.transform(outer, length)[multiples]
    slices = np.rint(np.real(lines @ space.characters.conj()) / space.order)
    tails = np.empty(len(outer))
    tails[0] = inner.sum()
    tails[multiples[:, 1:]] = slices[:, space.products[space.minus_one, space.inverses[1:]]] + sums[:, None]
    return np.concatenate([slices[:, 0] + sums, tails])


def supporting_reports(mechanism: LocalHashing, counts: Counts) -> Floats:
    """Return Σ_c counts[c, ⟨c, v⟩] for every value v, ``counts`` being any numbers by seed and symbol.

    All seeds λc of one direction c hash by the same inner product ⟨c, v⟩, and the vectors zc of all directions and all
    z ≠ 0 are distinct, so one transform is enough. A direction c contributes only through R[c, s] = Σ_(λ≠0) N[λc, λs].
    With R̃ the transform of R over s,

        Σ_c R[c, ⟨c, v⟩] = (1/g) (Σ R + Σ_c Σ_(z≠0) R̃[c, z] χ(⟨zc, v⟩)).

    The seed 0 maps every value to symbol 0.
    """
    g = mechanism.symbols
    space, length = plane(g), vector_length(g, mechanism.size)
    multiples = space.multiples(length)
    folded = np.zeros((len(multiples), g))
    for factor in range(1, g):
        folded += counts[multiples[:, factor]][:, space.products[factor]]
    table = np.zeros_like(space.characters, shape=mechanism.cohorts)
    table[multiples[:, 1:]] = (folded @ space.characters.conj())[:, 1:]
    sums = (folded.sum() + np.real(space.transform(table, length)[: mechanism.size])) / g
    return np.asarray(counts[0, 0] + sums)


def supported_values(mechanism: LocalHashing, values: Floats) -> Floats:
    """Return Σ_v values[v] [⟨c, v⟩ = s] for every seed c and symbol s; shape (cohorts, cells).

    Along a direction it is the inverse transform of the transform of ``values``; and ⟨λc, v⟩ = λs if ⟨c, v⟩ = s.
    """
    g = mechanism.symbols
    space, length = plane(g), vector_length(g, mechanism.size)
    multiples, padding = space.multiples(length), np.zeros(mechanism.cohorts - len(values))
    lines = space.transform(np.concatenate([values, padding]), length)[multiples]
    along = np.real(lines @ space.characters.conj()) / g
    sums = np.zeros((mechanism.cohorts, g))
    sums[0, 0] = values.sum()
    for factor in range(1, g):
        sums[multiples[:, factor, np.newaxis], space.products[factor]] = along
    return sums
