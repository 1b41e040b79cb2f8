"""Read a sketch of strings by projective geometry response: the bucket of each string, one transform a row."""

from typing import ClassVar

import numpy as np

from dither_shared import ProjectiveSketch

from ...tally.tally import Tally
from ..fit import Fit
from ..hashing import buckets_of
from ..strings.lookup import look_up
from ..strings.rows import supports
from .decoder import Decoder, Support, of_all

__all__ = ["BucketSketch"]

_TRANSFORMED, _LOOKED_UP = 100, 10
"""So many cells that are transformed, or strings that are looked for, cost as much as a value that is shown."""


class BucketSketch(Decoder[ProjectiveSketch]):
    """Fits strings to their buckets."""

    fits: ClassVar[bool] = True

    def support(self, mechanism: ProjectiveSketch, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return the reports of each row that support the bucket of each label, over all rows."""
        supporting = np.zeros(len(labels))
        for counts, places in zip(tally.counts, buckets_of(labels, mechanism.rows, mechanism.buckets), strict=True):
            supporting += supports(mechanism, counts)[places]
        return of_all(tally, supporting)

    def fit(self, mechanism: ProjectiveSketch, labels: tuple[str, ...], tally: Tally, confidence: float) -> Fit:
        """Return ``look_up``."""
        return look_up(mechanism, labels, tally, confidence)

    def cost(self, mechanism: ProjectiveSketch, values: int) -> int:
        """Count transforms, and look-ups with their hashes."""
        return mechanism.cohorts * mechanism.cells // _TRANSFORMED + values // _LOOKED_UP
