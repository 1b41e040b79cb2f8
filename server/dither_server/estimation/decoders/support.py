"""Support counts: for each value the reports that support it, out of those that could have.

``DECODERS`` is the one list of decoders. A mechanism needs one of its own only if its support takes a fast transform to
be quick; all others are gathered from the cells that their values mark.
"""

from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither_shared import (
    BitFlip,
    CountMeanSketch,
    HadamardCountMeanSketch,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    PrefixSketch,
    PrivSet,
    ProjectiveGeometry,
    ProjectiveSketch,
    Rappor,
    SetResponse,
)
from dither_shared.mechanisms.count_mean_sketch import Sketch
from dither_shared.primitives.projective import point_length

from ...tally.arrays import Floats
from ...tally.tally import Tally
from ..fit import Fit
from ..hashing import columns_of
from ..regression import rappor
from ..strings.selection import BucketSketch
from .decoder import Decoder, Loads, Support, Symbols, of_all
from .sets import BitWindows, ListedSets, PatternWindows
from .transform import hyperplane_sums, plane, supported_values, supporting_reports

Sketched = TypeVar("Sketched", bound=Sketch)

_GATHERED = 1024
"""So many look-ups in a sketch cost as much as a value that is shown."""

_FIT, _STRING = 5_000, 25
"""What a regression on strings costs, and each string more."""


class _Halves(Symbols[HadamardResponse]):
    def support(self, mechanism: HadamardResponse, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Half the symbols are owned: their sum follows from the transform's ±1 sum."""
        signed = plane(2).transform(tally.counts[0].astype(np.float64), mechanism.cells.bit_length() - 1)
        return of_all(tally, (tally.total + np.real(signed[1 : mechanism.size + 1])) / 2)

    def supported(self, mechanism: HadamardResponse, values: Floats) -> Floats:
        rows = np.concatenate([[0.0], values, np.zeros(mechanism.cells - 1 - len(values))])
        return np.asarray((rows.sum() + np.real(plane(2).transform(rows, mechanism.cells.bit_length() - 1))) / 2)


class _Hyperplanes(Symbols[ProjectiveGeometry]):
    def support(self, mechanism: ProjectiveGeometry, tally: Tally, labels: tuple[str, ...]) -> Support:
        length = point_length(mechanism.order, mechanism.size)
        sums = hyperplane_sums(mechanism.order, length, tally.counts[0].astype(np.float64))
        return of_all(tally, sums[: mechanism.size])

    def supported(self, mechanism: ProjectiveGeometry, values: Floats) -> Floats:
        """Return the values on each point's hyperplane: who is on whose is mutual."""
        length = point_length(mechanism.order, mechanism.size)
        return hyperplane_sums(mechanism.order, length, np.append(values, np.zeros(mechanism.cells - len(values))))


class _LinearHashes(Symbols[LocalHashing]):
    def support(self, mechanism: LocalHashing, tally: Tally, labels: tuple[str, ...]) -> Support:
        return of_all(tally, supporting_reports(mechanism, tally.counts))

    def supported(self, mechanism: LocalHashing, values: Floats) -> Floats:
        return supported_values(mechanism, values)


class _Columns(Decoder[Sketched]):
    """What the sketches share."""

    def cost(self, mechanism: Sketched, values: int) -> int:
        """Count look-ups: each value and each column in each cohort."""
        return (values + mechanism.bits) * mechanism.cohorts // _GATHERED


class _BitColumns(_Columns[CountMeanSketch]):
    def support(self, mechanism: CountMeanSketch, tally: Tally, labels: tuple[str, ...]) -> Support:
        return of_all(tally, _gathered(tally.counts, columns_of(labels, mechanism.cohorts, mechanism.bits)))

    def loads(self, mechanism: CountMeanSketch, tally: Tally) -> Loads:
        counts = tally.counts.astype(np.float64)
        a, b = float(mechanism.a), float(mechanism.b)
        ones, all_bits = counts.sum(), float(tally.total * mechanism.bits)
        users = (counts - b * tally.reports[:, np.newaxis]) / (a - b)
        return Loads(users, (ones * (1 - b) ** 2 + (all_bits - ones) * b**2) / (a - b) ** 2)


class _SignedColumns(_Columns[HadamardCountMeanSketch]):
    def support(self, mechanism: HadamardCountMeanSketch, tally: Tally, labels: tuple[str, ...]) -> Support:
        signed = (tally.counts[:, 0::2] - tally.counts[:, 1::2]).astype(np.float64)
        rows = np.real(plane(2).transform(signed, mechanism.bits.bit_length() - 1))
        sums = _gathered(rows, columns_of(labels, mechanism.cohorts, mechanism.bits))
        return of_all(tally, (tally.total + sums) / 2)

    def loads(self, mechanism: HadamardCountMeanSketch, tally: Tally) -> Loads:
        counts, gap = tally.counts.astype(np.float64), float(2 * mechanism.inside - 1)
        signed = (counts[:, 0::2] - counts[:, 1::2]) / gap
        rows = np.real(plane(2).transform(signed, mechanism.bits.bit_length() - 1))
        return Loads(rows, tally.total * mechanism.bits / gap**2)


class _Regression(Decoder[Rappor]):
    fits: ClassVar[bool] = True

    def support(self, mechanism: Rappor, tally: Tally, labels: tuple[str, ...]) -> Support:
        raise NotImplementedError(f"{mechanism.name} has no support of a value, but a fit")

    def fit(self, mechanism: Rappor, labels: tuple[str, ...], tally: Tally, confidence: float) -> Fit:
        return rappor.regress(mechanism, labels, tally, confidence)

    def cost(self, mechanism: Rappor, values: int) -> int:
        return _FIT + _STRING * values


DECODERS: dict[type[Mechanism], Decoder[Any]] = {
    HadamardResponse: _Halves(),
    ProjectiveGeometry: _Hyperplanes(),
    LocalHashing: _LinearHashes(),
    BitFlip: BitWindows(),
    SetResponse: PatternWindows(),
    PrivSet: ListedSets(),
    CountMeanSketch: _BitColumns(),
    HadamardCountMeanSketch: _SignedColumns(),
    ProjectiveSketch: BucketSketch(),
    PrefixSketch: BucketSketch(),
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


def _gathered(table: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    """Return the sum over the cohorts of each label's column; cohort by cohort, or all look-ups take gigabytes."""
    sums = np.zeros(columns.shape[1], dtype=table.dtype)
    for row, places in zip(table, columns, strict=True):
        sums += row[places]
    return sums
