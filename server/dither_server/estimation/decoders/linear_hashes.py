"""Compute what local hashing with linear seeds needs: reports that support a value, and values that a report supports.

Seeds λc of one direction c speak of the same inner product ⟨c, v⟩, and the vectors zc of all directions and all z ≠ 0
are all different: one transform does for either.
"""

import numpy as np

from dither_shared.mechanisms.local_hashing import LocalHashing, vector_length

from ...tally.arrays import Counts, Floats
from .transform import plane

__all__ = ["supported_values", "supporting_reports"]


def supporting_reports(mechanism: LocalHashing, counts: Counts) -> Floats:
    """Return Σ_c counts[c, ⟨c, v⟩] for every value v, ``counts`` of seeds and symbols, of any numbers.

    All that is needed of a direction c is R[c, s] = Σ_(λ≠0) N[λc, λs]. With R̃ the transform of R over s,

        Σ_c R[c, ⟨c, v⟩] = (1/g) (Σ R + Σ_c Σ_(z≠0) R̃[c, z] χ(⟨zc, v⟩)).

    The seed 0 sends every value to symbol 0.
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

    Along a direction it is the transform of ``values``, transformed back; and ⟨λc, v⟩ = λs where ⟨c, v⟩ = s.
    """
    g = mechanism.symbols
    space, length = plane(g), vector_length(g, mechanism.size)
    multiples, padding = space.multiples(length), np.zeros(mechanism.cohorts - len(values))
    lines = space.transform(np.concatenate([values, padding]), length)[multiples]
    along = np.real(lines @ space.characters.conj()) / g
    found = np.zeros((mechanism.cohorts, g))
    found[0, 0] = values.sum()
    for factor in range(1, g):
        found[multiples[:, factor, np.newaxis], space.products[factor]] = along
    return found
