"""Find the parts of a tally that depend on nobody's answer: supports of no value, and counts that must be alike."""

from dataclasses import replace

import numpy as np

from dither_shared import Mechanism

from ..estimation.decoders.support import Support, decoder_of, support
from ..tally.arrays import Counts, Floats
from ..tally.tally import Tally

__all__ = ["spare_supports", "uniform_counts", "window_supports"]


def spare_supports(mechanism: Mechanism, tally: Tally) -> Counts:
    """Return the supports of what a mechanism has room for beyond its values.

    Any report supports each of them with probability q.
    """
    if mechanism.room == mechanism.size:
        return np.zeros(0, dtype=np.int64)
    return support(replace(mechanism, size=mechanism.room), tally, ()).supporting[mechanism.size :]


def uniform_counts(mechanism: Mechanism, counts: Floats) -> Floats:
    """Return counts of reports that are equally likely whatever the answers; ``counts`` are the tally's."""
    if mechanism.even_runs is None:
        return np.zeros(0)
    first, length = mechanism.even_runs
    return np.asarray(counts.sum(axis=0)[first:].reshape(-1, length).sum(axis=1))


def window_supports(mechanism: Mechanism, tally: Tally) -> Support | None:
    """Return the supports of each value in several windows, shape (values, windows); None if no two speak of one.

    Whoever reports in a window is a random part of all, so a value's support has one chance in all of its windows.
    """
    found = decoder_of(mechanism).by_window(mechanism, tally)
    return found if found is not None and found.trials.shape[1] > 1 else None
