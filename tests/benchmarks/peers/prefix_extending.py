"""Prefix extending (PEM): the heavy hitters of Wang, Li and Jha, as their paper describes it, to compare ours with.

T. Wang, N. Li and S. Jha, "Locally Differentially Private Heavy Hitter Identification", IEEE TDSC 2021 (arXiv
1708.06674). Strings are numbers of ``bits`` bits. Users are divided at random into groups; those of group i report the
first s_i bits of their string by optimal local hashing (Wang et al. 2017), s_i growing by ``step`` bits (their η) up to
all of them. The server extends the ``kept`` prefixes of the last group by all endings, keeps as many of the highest
estimates, and so on. Nothing says which of the strings left at the end are real: there is no control of false
discoveries.

Its reports are not made one by one. With a fresh hash function for each user, the supports of different prefixes are
independent, Bin(n_v, p) + Bin(n - n_v, 1/g) with n_v of n users in a group holding prefix v: that is drawn.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_shared import ParameterError
from dither_simulations.users.populations import Counts, Floats

Codes = NDArray[np.uint64]
"""Strings, or prefixes of them, as numbers; the first symbol is the most significant."""

MAX_BITS = 64


class Discovered(NamedTuple):
    """The strings that are left at the end, highest estimate first, and their estimated frequencies."""

    codes: Codes
    frequency: Floats


@dataclass(frozen=True)
class PrefixExtending:
    """The protocol for strings of ``bits`` bits at ``epsilon`` a report; their own code has a ``step`` of 1 bit.

    Raises ParameterError for a shape that cannot be.
    """

    bits: int
    epsilon: float
    step: int = 4
    kept: int = 64

    def __post_init__(self) -> None:
        if not 1 <= self.step <= 16:
            raise ParameterError("step", f"{self.step} must lie between 1 and 16 bits")
        if self.kept < 1 or self._first > self.bits or self.bits > MAX_BITS:
            raise ParameterError("bits", f"{self.bits} must lie between {self._first} and {MAX_BITS}")
        if not 0 < self.epsilon < math.inf:
            raise ParameterError("epsilon", f"{self.epsilon!r} is not a positive number")

    @property
    def _first(self) -> int:
        """The bits of the first group: as many as number the prefixes kept, and a step."""
        return (self.kept - 1).bit_length() + self.step

    @property
    def lengths(self) -> tuple[int, ...]:
        """The bits that each group reports."""
        return (*range(self._first, self.bits, self.step), self.bits)

    def discover(self, codes: Codes, counts: Counts, rng: np.random.Generator) -> Discovered:
        """Return the strings found among users of whom ``counts[i]`` hold string ``codes[i]``."""
        left, waiting = counts.copy(), len(self.lengths)
        known, had = np.zeros(1, dtype=np.uint64), 0
        for length in self.lengths:
            group = rng.binomial(left, 1 / waiting)
            left, waiting = left - group, waiting - 1
            candidates = _extended(known, length - had)
            frequency = self._estimated(candidates, codes >> np.uint64(self.bits - length), group, rng)
            best = np.argsort(-frequency, kind="stable")[: self.kept]
            known, had = candidates[best], length
        return Discovered(known, frequency[best])

    def _estimated(self, candidates: Codes, prefixes: Codes, users: Counts, rng: np.random.Generator) -> Floats:
        """Return the frequency of each candidate among the users of a group, by optimal local hashing."""
        distinct, place = np.unique(prefixes, return_inverse=True)
        held = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(held, place, users)
        at = np.minimum(np.searchsorted(distinct, candidates), len(distinct) - 1)
        own = np.where(distinct[at] == candidates, held[at], 0)
        total = int(users.sum())
        cells = round(math.exp(self.epsilon)) + 1
        p, q = math.exp(self.epsilon) / (math.exp(self.epsilon) + cells - 1), 1 / cells
        supporting = rng.binomial(own, p) + rng.binomial(total - own, q)
        return np.asarray((supporting / max(total, 1) - q) / (p - q))


def _extended(prefixes: Codes, bits: int) -> Codes:
    """Return every prefix with every ending of ``bits`` bits."""
    endings = np.arange(1 << bits, dtype=np.uint64)
    return ((prefixes[:, np.newaxis] << np.uint64(bits)) | endings).ravel()
