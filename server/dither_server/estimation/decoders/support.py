"""Support counts: for each value the reports that support it, out of those that could have.

``DECODERS`` is the one list of decoders. A mechanism needs one of its own only if its support takes a fast transform to
be quick; all others are gathered from the cells that their values mark.
"""

from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

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
    Rappor,
)
from dither_shared.mechanism import Item
from dither_shared.mechanisms.count_mean_sketch import Sketch

from ...tally.arrays import Counts, Floats, Indices
from ...tally.tally import Tally
from ..hashing import columns_of
from ..regression import rappor
from .linear_hashes import supported_values, supporting_reports
from .projective import hyperplane_sums
from .transform import plane

__all__ = ["DECODERS", "Decoder", "Loads", "Support", "decoder_of", "support"]

Decoded = TypeVar("Decoded", bound=Mechanism)
Sketched = TypeVar("Sketched", bound=Sketch)

_COMPUTED = 16
_GATHERED = 1024
"""So many look-ups in a sketch cost as much as a value that is shown."""

_FIT, _STRING = 5_000, 25
"""What a regression on strings costs, and each string more."""


class Support(NamedTuple):
    """``supporting[v]`` of ``trials[v]`` reports support value v."""

    supporting: Counts
    trials: Counts


class Loads(NamedTuple):
    """``users``: the debiased users of each column, shape (cohorts, columns); ``own``: Σ over reports of Σ_j r_j².

    r_j is what a report adds to the users of column j.
    """

    users: Floats
    own: float


class Decoder(Generic[Decoded]):
    """Reads a tally by the cells that values mark; what mechanisms without a decoder of their own have.

    Under a mechanism that is not ``pure`` there is no support but a ``fit``, under one with collisions there are
    ``loads``, too.
    """

    def support(self, mechanism: Decoded, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return the support of every value of a listed domain, or of ``labels`` of an open one."""
        if mechanism.own_cells:
            return _of_all(tally, tally.counts[0])
        return _gathered_cells(mechanism, tally, labels)

    def together(self, mechanism: Decoded, tally: Tally, group: Indices) -> Counts | None:
        """Return how often a report supports each value, times how many of the value's ``group`` it then supports.

        None where a tally does not tell, for it counts the cells of a report apart.
        """
        return None

    def spoken(self, mechanism: Decoded, tally: Tally, weights: Floats, group: Indices) -> Floats:
        """Return for each value the weights of its ``group``, each times the reports that speak of it and the value."""
        return np.asarray(tally.total * np.bincount(group, weights)[group], dtype=np.float64)

    def cost_together(self, mechanism: Decoded, values: int, groups: int) -> int:
        """Return the work of ``together`` or ``spoken`` over so many groups, like ``cost``."""
        return values // _COMPUTED

    def loads(self, mechanism: Decoded, tally: Tally) -> Loads:
        """Return how the users are spread over the columns on which values collide."""
        raise NotImplementedError(f"{mechanism.name} has no columns")

    def fit(self, mechanism: Decoded, labels: tuple[str, ...], tally: Tally, confidence: float) -> rappor.Fit:
        """Fit the frequencies of ``labels`` to a tally with at least one report."""
        raise NotImplementedError(f"{mechanism.name} has no regression")

    def cost(self, mechanism: Decoded, values: int) -> int:
        """Return the work of an estimate of so many values, in values shown (``costs``)."""
        return max(values, mechanism.cohorts * mechanism.cells // _COMPUTED) // _COMPUTED


class _Symbols(Decoder[Decoded]):
    """What mechanisms share whose tally tells which reports there were: each is a symbol that may support many."""

    def supported(self, mechanism: Decoded, values: Floats) -> Floats:
        """Return how many of the ``values``, 1 for each that counts, a report of each cohort and symbol supports."""
        raise NotImplementedError

    def together(self, mechanism: Decoded, tally: Tally, group: Indices) -> Counts:
        """Weigh reports by how many of a group they support, and decode."""
        found = np.zeros(len(group), dtype=np.int64)
        for one in range(int(group.max()) + 1):
            own = group == one
            weights = np.rint(self.supported(mechanism, own.astype(np.float64))).astype(np.int64)
            table = tally.counts * weights.reshape(tally.counts.shape)
            found[own] = self.support(mechanism, Tally(table.sum(axis=1), table), ()).supporting[own]
        return found

    def cost_together(self, mechanism: Decoded, values: int, groups: int) -> int:
        """Count two transforms a group."""
        return 2 * groups * self.cost(mechanism, values)


class _Halves(_Symbols[HadamardResponse]):
    def support(self, mechanism: HadamardResponse, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Half the symbols are owned: their sum follows from the transform's ±1 sum."""
        signed = plane(2).transform(tally.counts[0].astype(np.float64), mechanism.cells.bit_length() - 1)
        return _of_all(tally, (tally.total + np.real(signed[1 : mechanism.size + 1])) / 2)

    def supported(self, mechanism: HadamardResponse, values: Floats) -> Floats:
        rows = np.concatenate([[0.0], values, np.zeros(mechanism.cells - 1 - len(values))])
        return np.asarray((rows.sum() + np.real(plane(2).transform(rows, mechanism.cells.bit_length() - 1))) / 2)


class _Hyperplanes(_Symbols[ProjectiveGeometry]):
    def support(self, mechanism: ProjectiveGeometry, tally: Tally, labels: tuple[str, ...]) -> Support:
        return _of_all(tally, hyperplane_sums(mechanism, tally.counts[0].astype(np.float64))[: mechanism.size])

    def supported(self, mechanism: ProjectiveGeometry, values: Floats) -> Floats:
        """Return the values on each point's hyperplane: who is on whose is mutual."""
        return hyperplane_sums(mechanism, np.concatenate([values, np.zeros(mechanism.cells - len(values))]))


class _LinearHashes(_Symbols[LocalHashing]):
    def support(self, mechanism: LocalHashing, tally: Tally, labels: tuple[str, ...]) -> Support:
        return _of_all(tally, supporting_reports(mechanism, tally.counts))

    def supported(self, mechanism: LocalHashing, values: Floats) -> Floats:
        return supported_values(mechanism, values)


class _Windows(Decoder[BitFlip]):
    def support(self, mechanism: BitFlip, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Bucket v is cell i of the window that begins at v - i."""
        windows = (np.arange(mechanism.size)[:, None] - np.arange(mechanism.bits)) % mechanism.size
        supporting = tally.counts[windows, np.arange(mechanism.bits)].sum(axis=1)
        return Support(supporting, tally.reports[windows].sum(axis=1))

    def spoken(self, mechanism: BitFlip, tally: Tally, weights: Floats, group: Indices) -> Floats:
        """Sum the weights in each window, and then over the windows that hold a value."""
        windows = (np.arange(mechanism.size)[:, None] + np.arange(mechanism.bits)) % mechanism.size
        found = np.zeros(len(group))
        for one in range(int(group.max()) + 1):
            own = group == one
            inside = tally.reports * np.where(own, weights, 0.0)[windows].sum(axis=1)
            holding = (np.flatnonzero(own)[:, None] - np.arange(mechanism.bits)) % mechanism.size
            found[own] = inside[holding].sum(axis=1)
        return found

    def cost_together(self, mechanism: BitFlip, values: int, groups: int) -> int:
        return groups * values * mechanism.bits // _GATHERED


class _Columns(Decoder[Sketched]):
    """What the sketches share."""

    def cost(self, mechanism: Sketched, values: int) -> int:
        """Count look-ups: each value and each column in each cohort."""
        return (values + mechanism.bits) * mechanism.cohorts // _GATHERED


class _BitColumns(_Columns[CountMeanSketch]):
    def support(self, mechanism: CountMeanSketch, tally: Tally, labels: tuple[str, ...]) -> Support:
        return _of_all(tally, _gathered(tally.counts, columns_of(labels, mechanism.cohorts, mechanism.bits)))

    def loads(self, mechanism: CountMeanSketch, tally: Tally) -> Loads:
        counts = tally.counts.astype(np.float64)
        a, b = float(mechanism.a), float(mechanism.b)
        ones, all_bits = counts.sum(), float(tally.total * mechanism.bits)
        users = (counts - b * tally.reports[:, np.newaxis]) / (a - b)
        return Loads(users, (ones * (1 - b) ** 2 + (all_bits - ones) * b**2) / (a - b) ** 2)


class _SignedColumns(_Columns[HadamardCountMeanSketch]):
    def support(self, mechanism: HadamardCountMeanSketch, tally: Tally, labels: tuple[str, ...]) -> Support:
        signed = (tally.counts[:, 0::2] - tally.counts[:, 1::2]).astype(np.float64)
        rows = np.stack([plane(2).transform(row, mechanism.bits.bit_length() - 1) for row in signed])
        sums = _gathered(np.real(rows), columns_of(labels, mechanism.cohorts, mechanism.bits))
        return _of_all(tally, (tally.total + sums) / 2)

    def loads(self, mechanism: HadamardCountMeanSketch, tally: Tally) -> Loads:
        counts, gap = tally.counts.astype(np.float64), float(2 * mechanism.inside - 1)
        signed = (counts[:, 0::2] - counts[:, 1::2]) / gap
        rows = np.stack([np.real(plane(2).transform(row, mechanism.bits.bit_length() - 1)) for row in signed])
        return Loads(rows, tally.total * mechanism.bits / gap**2)


class _Regression(Decoder[Rappor]):
    def support(self, mechanism: Rappor, tally: Tally, labels: tuple[str, ...]) -> Support:
        raise NotImplementedError(f"{mechanism.name} has no support of a value, but a fit")

    def fit(self, mechanism: Rappor, labels: tuple[str, ...], tally: Tally, confidence: float) -> rappor.Fit:
        return rappor.regress(mechanism, labels, tally, confidence)

    def cost(self, mechanism: Rappor, values: int) -> int:
        return _FIT + _STRING * values


DECODERS: dict[type[Mechanism], Decoder[Any]] = {
    HadamardResponse: _Halves(),
    ProjectiveGeometry: _Hyperplanes(),
    LocalHashing: _LinearHashes(),
    BitFlip: _Windows(),
    CountMeanSketch: _BitColumns(),
    HadamardCountMeanSketch: _SignedColumns(),
    Rappor: _Regression(),
}
"""The decoders of those families that are not simply gathered; more may be added from outside."""

_GATHERING: Decoder[Any] = Decoder()


def decoder_of(mechanism: Mechanism) -> Decoder[Any]:
    """Return the decoder of a mechanism's family, or of the one that it is derived from."""
    return next((DECODERS[family] for family in type(mechanism).__mro__ if family in DECODERS), _GATHERING)


def support(mechanism: Mechanism, tally: Tally, labels: tuple[str, ...]) -> Support:
    """Return the support of every value of a listed domain, or of ``labels`` of an open one.

    The work depends on the size of the tally and not on the number of reports.
    """
    return decoder_of(mechanism).support(mechanism, tally, labels)


def _gathered_cells(mechanism: Mechanism, tally: Tally, labels: tuple[str, ...]) -> Support:
    """Return for each value the sum of the cells that it marks, and the reports of the cohorts in which it marks any.

    That is the support if a report has at most one of them.
    """
    items: tuple[Item, ...] = tuple(range(mechanism.size or 0))
    if mechanism.items.open:
        items = tuple(label.encode("utf-8") for label in labels)
    cells, owners, cohorts, speaking = _marked(mechanism, items)
    supporting, trials = np.zeros(len(items), dtype=np.int64), np.zeros(len(items), dtype=np.int64)
    np.add.at(supporting, owners, tally.counts.ravel()[cells])
    np.add.at(trials, speaking, tally.reports[cohorts])
    return Support(supporting, trials)


@lru_cache(maxsize=8)
def _marked(mechanism: Mechanism, items: tuple[Item, ...]) -> tuple[Counts, Counts, Counts, Counts]:
    """Return the cells of the whole tally that items mark, whose each is; cohorts in which they mark any, and who."""
    cells: list[tuple[int, int]] = []
    spoken: list[tuple[int, int]] = []
    for owner, item in enumerate(items):
        for cohort in range(mechanism.cohorts):
            marked = mechanism.marked(item, cohort)
            cells += [(cohort * mechanism.cells + cell, owner) for cell in marked]
            spoken += [(cohort, owner)] if marked else []
    places, owners = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    cohorts, speaking = np.array(spoken, dtype=np.int64).reshape(-1, 2).T
    return places, owners, cohorts, speaking


def _gathered(table: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    """Return the sum over the cohorts of each label's column; cohort by cohort, or all look-ups take gigabytes."""
    sums = np.zeros(columns.shape[1], dtype=table.dtype)
    for row, places in zip(table, columns, strict=True):
        sums += row[places]
    return sums


def _of_all(tally: Tally, supporting: Floats | Counts) -> Support:
    counts = np.rint(supporting).astype(np.int64)
    return Support(counts, np.full(len(counts), tally.total))
