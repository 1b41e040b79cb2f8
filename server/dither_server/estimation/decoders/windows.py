"""Decode tallies whose cohorts are windows of neighbours on a circle: cohort c speaks of c, c+1, …, c+s-1 modulo d.

Bit i of window c is of value c+i, so value v is bit i of the window that begins at v - i.
"""

import numpy as np

from dither_shared import BitFlip

from ...tally.arrays import Counts
from ...tally.tally import Tally
from .decoder import Decoder, Support

__all__ = ["BitWindows", "windows_support"]


def windows_support(reports: Counts, ones: Counts) -> Support:
    """Return the support of each value: ``reports`` of d windows, shape (d,), and the ``ones`` of their bits, (d, s)."""
    values, bits = ones.shape
    windows = (np.arange(values)[:, np.newaxis] - np.arange(bits)) % values
    return Support(ones[windows, np.arange(bits)].sum(axis=1), reports[windows].sum(axis=1))


class BitWindows(Decoder[BitFlip]):
    """Windows whose cells are their bits."""

    def support(self, mechanism: BitFlip, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return the ones of each value in the windows that hold it."""
        return windows_support(tally.reports, tally.counts)
