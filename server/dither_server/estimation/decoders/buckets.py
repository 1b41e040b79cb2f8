"""Read sketches of strings by projective geometry response: the bucket of each string, one transform a row."""

from typing import ClassVar

import numpy as np

from dither_shared.mechanisms.projective_buckets import ProjectiveBuckets

from ...tally.tally import Tally
from ..fit import Fit
from ..strings.lookup import look_up, marks_in
from ..strings.rows import supports, whole_rows
from .decoder import Decoder, Support

__all__ = ["BucketSketch"]

_TRANSFORMED, _LOOKED_UP = 160, 10
"""So many cells that are transformed, or strings that are looked for, cost as much as a value that is shown."""


class BucketSketch(Decoder[ProjectiveBuckets]):
    """Fits listed strings to their buckets; where there are levels, by the reports of whole strings."""

    fits: ClassVar[bool] = True

    def support(self, mechanism: ProjectiveBuckets, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return the reports of whole strings that support the bucket of each label, over all rows."""
        cohorts, supporting = whole_rows(mechanism), np.zeros(len(labels))
        for counts, places in zip(tally.counts[cohorts], marks_in(mechanism, labels), strict=True):
            supporting += supports(mechanism, counts)[places]
        trials = int(tally.reports[cohorts].sum())
        return Support(np.rint(supporting).astype(np.int64), np.full(len(labels), trials))

    def fit(self, mechanism: ProjectiveBuckets, labels: tuple[str, ...], tally: Tally, confidence: float) -> Fit:
        """Return ``look_up``."""
        return look_up(mechanism, labels, tally, confidence)

    def cost(self, mechanism: ProjectiveBuckets, values: int) -> int:
        """Count transforms, and look-ups with their hashes."""
        return mechanism.rows * mechanism.cells // _TRANSFORMED + values // _LOOKED_UP
