"""Count for each value the reports that support it, out of those that cover it.

``DECODERS`` is the one list of decoders. A mechanism needs its own decoder only if its support is computed by a fast
transform; the supports of all others are gathered from the cells that their values mark.
"""

from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither_shared import (
    CountMeanSketch,
    HadamardCountMeanSketch,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    PrefixSketch,
    ProjectiveGeometry,
    ProjectiveSketch,
    Rappor,
)
from dither_shared.mechanisms.count_mean_sketch import Sketch
from dither_shared.mechanisms.projective_sketch import ProjectiveBuckets
from dither_shared.primitives.projective import point_length

from ...tally.arrays import Floats
from ...tally.tally import Tally
from ..fit import Fit
from ..hashing import columns_of
from ..strings.rows import supports, whole_rows
from ..strings.selection import look_up, marks_in
from ..transform import hyperplane_sums, plane, supported_values, supporting_reports
from . import rappor
from .decoder import Decoder, Support, Symbols, of_all
from .set_decoders import SET_DECODERS

Sketched = TypeVar("Sketched", bound=Sketch)

_GATHERED = 1024
"""Number of look-ups in a sketch that cost as much as showing one value."""

_TRANSFORMED, _LOOKED_UP = 160, 10
"""Number of transformed cells, and of strings looked up in buckets, that cost as much as showing one value."""

_FIT, _STRING = 5_000, 25
"""Cost of a regression on strings: the fixed part, and the part per string."""


class _Halves(Symbols[HadamardResponse]):
    def support(self, mechanism: HadamardResponse, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return the sums over the owned symbols, half of all, which follow from the ±1 sums of the transform."""
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
        """Return the sum of ``values`` on the hyperplane of each point: incidence is symmetric."""
        length = point_length(mechanism.order, mechanism.size)
        return hyperplane_sums(mechanism.order, length, np.append(values, np.zeros(mechanism.cells - len(values))))


class _LinearHashes(Symbols[LocalHashing]):
    def support(self, mechanism: LocalHashing, tally: Tally, labels: tuple[str, ...]) -> Support:
        return of_all(tally, supporting_reports(mechanism, tally.counts))

    def supported(self, mechanism: LocalHashing, values: Floats) -> Floats:
        return supported_values(mechanism, values)


class _Columns(Decoder[Sketched]):
    """Defines the cost that all sketches share."""

    def cost(self, mechanism: Sketched, values: int) -> int:
        """Count look-ups: each value and each column in each cohort."""
        return (values + mechanism.bits) * mechanism.cohorts // _GATHERED


class _BitColumns(_Columns[CountMeanSketch]):
    def support(self, mechanism: CountMeanSketch, tally: Tally, labels: tuple[str, ...]) -> Support:
        return of_all(tally, _gathered(tally.counts, columns_of(labels, mechanism.cohorts, mechanism.bits)))

    def loads(self, mechanism: CountMeanSketch, tally: Tally) -> tuple[Floats, float]:
        counts = tally.counts.astype(np.float64)
        a, b = float(mechanism.a), float(mechanism.b)
        ones, all_bits = counts.sum(), float(tally.total * mechanism.bits)
        users = (counts - b * tally.reports[:, np.newaxis]) / (a - b)
        return users, (ones * (1 - b) ** 2 + (all_bits - ones) * b**2) / (a - b) ** 2


class _SignedColumns(_Columns[HadamardCountMeanSketch]):
    def support(self, mechanism: HadamardCountMeanSketch, tally: Tally, labels: tuple[str, ...]) -> Support:
        signed = (tally.counts[:, 0::2] - tally.counts[:, 1::2]).astype(np.float64)
        rows = np.real(plane(2).transform(signed, mechanism.bits.bit_length() - 1))
        sums = _gathered(rows, columns_of(labels, mechanism.cohorts, mechanism.bits))
        return of_all(tally, (tally.total + sums) / 2)

    def loads(self, mechanism: HadamardCountMeanSketch, tally: Tally) -> tuple[Floats, float]:
        counts, gap = tally.counts.astype(np.float64), float(2 * mechanism.inside - 1)
        signed = (counts[:, 0::2] - counts[:, 1::2]) / gap
        rows = np.real(plane(2).transform(signed, mechanism.bits.bit_length() - 1))
        return rows, tally.total * mechanism.bits / gap**2


class _Buckets(Decoder[ProjectiveBuckets]):
    """Fits listed strings to their buckets; in a sketch with levels, from the reports of whole strings."""

    fits: ClassVar[bool] = True

    def support(self, mechanism: ProjectiveBuckets, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return the reports of whole strings that support the bucket of each label, over all rows."""
        cohorts, supporting = whole_rows(mechanism), np.zeros(len(labels))
        for counts, places in zip(tally.counts[cohorts], marks_in(mechanism, labels), strict=True):
            supporting += supports(mechanism, counts)[places]
        trials = int(tally.reports[cohorts].sum())
        return Support(np.rint(supporting).astype(np.int64), np.full(len(labels), trials))

    def fit(self, mechanism: ProjectiveBuckets, labels: tuple[str, ...], tally: Tally, confidence: float) -> Fit:
        return look_up(mechanism, labels, tally, confidence)

    def cost(self, mechanism: ProjectiveBuckets, values: int) -> int:
        """Count the transforms, and the look-ups with their hashes."""
        return mechanism.rows * mechanism.cells // _TRANSFORMED + values // _LOOKED_UP


class _Regression(Decoder[Rappor]):
    fits: ClassVar[bool] = True

    def support(self, mechanism: Rappor, tally: Tally, labels: tuple[str, ...]) -> Support:
        raise NotImplementedError(f"{mechanism.name} has no support counts; its values are estimated by a fit")

    def fit(self, mechanism: Rappor, labels: tuple[str, ...], tally: Tally, confidence: float) -> Fit:
        return rappor.regress(mechanism, labels, tally, confidence)

    def cost(self, mechanism: Rappor, values: int) -> int:
        return _FIT + _STRING * values


DECODERS: dict[type[Mechanism], Decoder[Any]] = {
    HadamardResponse: _Halves(),
    ProjectiveGeometry: _Hyperplanes(),
    LocalHashing: _LinearHashes(),
    **SET_DECODERS,
    CountMeanSketch: _BitColumns(),
    HadamardCountMeanSketch: _SignedColumns(),
    ProjectiveSketch: _Buckets(),
    PrefixSketch: _Buckets(),
    Rappor: _Regression(),
}
"""Decoders of the families whose supports are not simply gathered; other packages may add theirs."""

_GATHERING: Decoder[Any] = Decoder()


def decoder_of(mechanism: Mechanism) -> Decoder[Any]:
    """Return the decoder of a mechanism's class or of its nearest base class that has one."""
    return next((DECODERS[family] for family in type(mechanism).__mro__ if family in DECODERS), _GATHERING)


def support(mechanism: Mechanism, tally: Tally, labels: tuple[str, ...]) -> Support:
    """Return the support of every value of a listed domain, or of ``labels`` of an open one.

    The work depends on the size of the tally and not on the number of reports.
    """
    return decoder_of(mechanism).support(mechanism, tally, labels)


def _gathered(table: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    """Return the sum over cohorts of each label's column, in a loop: all look-ups at once would take gigabytes."""
    sums = np.zeros(columns.shape[1], dtype=table.dtype)
    for row, places in zip(table, columns, strict=True):
        sums += row[places]
    return sums
