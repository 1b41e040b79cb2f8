"""Compute the fast transform over vectors of a finite field, by which supports follow from a tally.

For an additive character χ of GF(q) the transform of a table N over GF(q)^t is

    N̂(y) = Σ_w N(w) χ(⟨w, y⟩),

computed axis by axis in t products with the q x q matrix χ(wy): q^t · q · t multiplications instead of q^2t. With
q = 2 it is the Walsh-Hadamard transform.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither_shared.primitives.galois import Field
from dither_shared.primitives.galois import field as galois_field

from ...tally.arrays import Indices

__all__ = ["Plane", "plane"]

Table = NDArray[np.inexact[Any]]


@dataclass(frozen=True)
class Plane:
    """GF(q) as arrays: ``products`` and ``characters`` χ(xy), both of shape (q, q), and ``inverses`` of shape (q,)."""

    order: int
    minus_one: int
    products: Indices
    inverses: Indices
    characters: Table

    def transform(self, table: Table, length: int) -> Table:
        """Return N̂ of tables of order^length entries, indexed by base-q numbers, most significant digit first.

        The entries of a table are the last axis; what stands before it counts tables.
        """
        result = table.reshape(-1, *(self.order,) * length)
        for _ in range(length):  # each product moves an axis to the end, so that after all they are in place
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

        Every vector but 0 is there once, if z = 0 is left out.
        """
        return _multiples(self.order, length)

    def _powers(self, length: int) -> Indices:
        return np.asarray(self.order ** np.arange(length - 1, -1, -1, dtype=np.intp), dtype=np.intp)


@cache
def plane(order: int) -> Plane:
    """Return the tables of GF(order), made once."""
    space = galois_field(order)
    elements = range(order)
    products = np.array([[space.multiply(one, two) for two in elements] for one in elements], dtype=np.intp)
    inverses = np.array([0] + [space.inverse(element) for element in elements[1:]], dtype=np.intp)
    return Plane(order, space.negative(1), products, inverses, _character(space)[products])


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
