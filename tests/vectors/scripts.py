"""Entropy sources that record their bytes: random ones, and ones that lead an algorithm along its rare paths."""

from collections.abc import Sequence
from hashlib import shake_256

from dither_shared import Entropy
from dither_shared.primitives.entropy import ONE, WORD_BITS


class Recorded(Entropy):
    """Bytes that follow from a label and look random; ``given`` are the bytes taken so far."""

    def __init__(self, label: str) -> None:
        self.given = b""
        self._label = label.encode()
        self._first = b""  # served before the bytes that look random

    def take(self, count: int) -> bytes:
        first, self._first = self._first[:count], self._first[count:]
        taken = first + self._noise(len(self.given), count)[len(first) :]
        self.given += taken
        return taken

    def beyond(self, count: int) -> bytes:
        """Return the bytes that would come next."""
        return self._noise(len(self.given), count)

    def _noise(self, start: int, count: int) -> bytes:
        return shake_256(self._label).digest(start + count)[start:]


class Prefixed(Recorded):
    """Chosen bytes, followed by random ones."""

    def __init__(self, label: str, first: bytes) -> None:
        super().__init__(label)
        self._first = first


class Reached(Recorded):
    """Every word that is compared with a threshold equals it, so that the event just fails.

    The first word drawn for a uniform integer is one that is rejected, if there is one.
    """

    less = 0

    def below(self, bound: int) -> int:
        if ONE % bound:
            self._first = (ONE - ONE % bound).to_bytes(8, "big")
        return super().below(bound)

    def bernoulli(self, threshold: int) -> bool:
        self._first = min(max(threshold - self.less, 0), ONE - 1).to_bytes(8, "big")
        return super().bernoulli(threshold)

    def choice(self, cumulative: Sequence[int]) -> int:
        middle = min(len(cumulative) // 2, len(cumulative) - 2)  # the last sum is no threshold: all words are below it
        self._first = min(max(cumulative[middle] - self.less, 0), ONE - 1).to_bytes(8, "big")
        return super().choice(cumulative)

    def bernoulli_bits(self, width: int, marked: int, high: int, low: int) -> int:
        size, lanes = (width + 7) // 8, (1 << width) - 1
        high_word, low_word = (max(threshold - self.less, 0) for threshold in (high, low))
        slices = [
            (marked if high_word >> bit & 1 else 0) | (lanes & ~marked if low_word >> bit & 1 else 0)
            for bit in reversed(range(WORD_BITS))
        ]
        self._first = b"".join(one.to_bytes(size, "little") for one in slices)
        drawn = super().bernoulli_bits(width, marked, high, low)
        self._first = b""
        return drawn


class Below(Reached):
    """Every such word is the one below its threshold, so that the event just happens."""

    less = 1
