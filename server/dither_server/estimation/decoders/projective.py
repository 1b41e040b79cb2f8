"""Compute the supports under projective geometry response: for each point v, the reports on its hyperplane."""

import numpy as np

from ...tally.arrays import Floats
from .transform import Plane, plane

__all__ = ["hyperplane_sums"]


def hyperplane_sums(order: int, length: int, reports: Floats) -> Floats:
    """Return Σ_u reports[u] [⟨u, v⟩ = 0] for every point v of PG(length - 1, order); ``reports`` has one entry a point.

    By recursion over the length. The points whose first entry is 0 are those of one entry less; the others are
    (1, w) with w any vector. Let ℓ(y', s) = Σ_w reports[(1, w)] [⟨w, y'⟩ = s]. Then for v = (0, y')

        S(v) = ℓ(y', 0) + S'(y'),

    and for v = (1, λy'), λ ≠ 0,

        S(v) = ℓ(y', -1/λ) + S'(y'),

    while v = (1, 0) owns just the points that begin with 0. ℓ(y', ·) is a slice of the transform of the reports along
    the line through y', transformed back. The work is O(K q length) at most, K the number of points.
    """
    space = plane(order)
    sums = np.zeros(1)  # of the only point of length 1, which is not on its own hyperplane
    for entries in range(1, length):
        inner, outer = reports[: len(sums)], reports[len(sums) : len(sums) + order**entries]
        sums = _longer(space, entries, inner, outer, sums)
    return sums


def _longer(space: Plane, length: int, inner: Floats, outer: Floats, sums: Floats) -> Floats:
    """Return the sums for points of one more entry: ``inner`` reports begin with 0, ``outer`` ones with 1."""
    multiples = space.multiples(length)
    lines = space.transform(outer, length)[multiples]
    slices = np.rint(np.real(lines @ space.characters.conj()) / space.order)
    tails = np.empty(len(outer))
    tails[0] = inner.sum()
    tails[multiples[:, 1:]] = slices[:, space.products[space.minus_one, space.inverses[1:]]] + sums[:, None]
    return np.concatenate([slices[:, 0] + sums, tails])
