"""Count support: for each value the reports that support it, out of those that could have."""

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_shared import (
    BitFlip,
    CountMeanSketch,
    HadamardCountMeanSketch,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    ProjectiveGeometry,
)
from dither_shared.mechanisms.local_hashing import vector_length

from ..tally import Tally
from .hashing import columns_of
from .projective import hyperplane_sums
from .transform import plane

__all__ = ["Support", "support"]

Counts = NDArray[np.int64]


class Support(NamedTuple):
    """``supporting[v]`` of ``trials[v]`` reports support value v."""

    supporting: Counts
    trials: Counts


@singledispatch
def support(mechanism: Mechanism, tally: Tally, labels: tuple[str, ...]) -> Support:
    """Return the support of every value of a listed domain, or of ``labels`` under a sketch.

    The work depends on the size of the tally and not on the number of reports. Where a mechanism has no decoder of
    its own, a value's support is its cell: unary encodings, subset selection and randomized response.
    """
    return _of_all(tally, tally.counts[0])


@support.register
def _(mechanism: HadamardResponse, tally: Tally, labels: tuple[str, ...]) -> Support:
    """Half the symbols are owned: their sum follows from the transform's ±1 sum."""
    signed = plane(2).transform(tally.counts[0].astype(np.float64), mechanism.cells.bit_length() - 1)
    return _of_all(tally, (tally.total + np.real(signed[1 : mechanism.size + 1])) / 2)


@support.register
def _(mechanism: ProjectiveGeometry, tally: Tally, labels: tuple[str, ...]) -> Support:
    return _of_all(tally, hyperplane_sums(mechanism, tally.counts[0].astype(np.float64))[: mechanism.size])


@support.register
def _(mechanism: LocalHashing, tally: Tally, labels: tuple[str, ...]) -> Support:
    """Sum over seeds c the reports N of symbol ⟨c, v⟩.

    Seeds λc of one direction c speak of the same inner product, so R[c, s] = Σ_(λ≠0) N[λc, λs] is all that is needed
    of them. With R̃ the transform of R over s,

        Σ_c R[c, ⟨c, v⟩] = (1/g) (Σ R + Σ_c Σ_(z≠0) R̃[c, z] χ(⟨zc, v⟩)),

    and the vectors zc are all different: one transform does. The seed 0 sends every value to symbol 0.
    """
    g = mechanism.symbols
    space, length = plane(g), vector_length(g, mechanism.size)
    multiples = space.multiples(length)
    folded = np.zeros((len(multiples), g))
    for factor in range(1, g):
        folded += tally.counts[multiples[:, factor]][:, space.products[factor]]
    table = np.zeros_like(space.characters, shape=mechanism.cohorts)
    table[multiples[:, 1:]] = (folded @ space.characters.conj())[:, 1:]
    sums = (folded.sum() + np.real(space.transform(table, length)[: mechanism.size])) / g
    return _of_all(tally, tally.counts[0, 0] + sums)


@support.register
def _(mechanism: BitFlip, tally: Tally, labels: tuple[str, ...]) -> Support:
    """Bucket v is cell i of the window that begins at v - i."""
    windows = (np.arange(mechanism.size)[:, None] - np.arange(mechanism.bits)) % mechanism.size
    supporting = tally.counts[windows, np.arange(mechanism.bits)].sum(axis=1)
    return Support(supporting, tally.reports[windows].sum(axis=1))


@support.register
def _(mechanism: CountMeanSketch, tally: Tally, labels: tuple[str, ...]) -> Support:
    return _of_all(tally, _gathered(tally.counts, columns_of(labels, mechanism.cohorts, mechanism.bits)))


@support.register
def _(mechanism: HadamardCountMeanSketch, tally: Tally, labels: tuple[str, ...]) -> Support:
    signed = (tally.counts[:, 0::2] - tally.counts[:, 1::2]).astype(np.float64)
    rows = np.stack([plane(2).transform(row, mechanism.bits.bit_length() - 1) for row in signed])
    sums = _gathered(np.real(rows), columns_of(labels, mechanism.cohorts, mechanism.bits))
    return _of_all(tally, (tally.total + sums) / 2)


def _gathered(table: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    """Return the sum over the cohorts of each label's column; cohort by cohort, or all look-ups take gigabytes."""
    sums = np.zeros(columns.shape[1], dtype=table.dtype)
    for row, places in zip(table, columns, strict=True):
        sums += row[places]
    return sums


def _of_all(tally: Tally, supporting: NDArray[np.float64] | Counts) -> Support:
    counts = np.rint(supporting).astype(np.int64)
    return Support(counts, np.full(len(counts), tally.total))
