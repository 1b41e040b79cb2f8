"""Spell out the prefixes that a discovery tries: a byte for each symbol, and nothing behind the end."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Prefixes = NDArray[np.uint8]
"""Prefixes of one length, shape (prefixes, symbols)."""


@dataclass(frozen=True)
class Spelling:
    """Which symbols follow which: one of ``symbols`` goes on, and behind one of ``ends`` there is only the first."""

    symbols: bytes
    ends: bytes

    def extended(self, prefixes: Prefixes, more: int) -> Prefixes:
        """Return every prefix with ``more`` symbols behind it, in all ways that there are."""
        following = np.frombuffer(self.symbols + self.ends, dtype=np.uint8)[:, np.newaxis]
        ends = np.frombuffer(self.ends, dtype=np.uint8)
        for _ in range(more):
            ended = np.isin(prefixes[:, -1:], ends).any(axis=1)
            going = prefixes[~ended]
            closed = np.full((int(ended.sum()), 1), ends[0], dtype=np.uint8)
            grown = np.hstack([np.repeat(going, len(following), axis=0), np.tile(following, (len(going), 1))])
            prefixes = np.vstack([np.hstack([prefixes[ended], closed]), grown])
        return prefixes

    def everything(self, length: int) -> Prefixes:
        """Return all prefixes of a length."""
        return self.extended(np.zeros((1, 0), dtype=np.uint8), length)
