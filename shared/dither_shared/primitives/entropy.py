"""Exact draws from uniformly random bytes.

Randomness is an argument everywhere: ``SystemEntropy`` is the operating system's (the only noise that is fresh on a
device), ``KeyedEntropy`` a keyed stream (for permanent draws, which must come out the same for ever). Both offer the
same few draws, each with exactly the law that its docstring states; mechanisms use no others.
"""

from __future__ import annotations

import os
import struct
from abc import ABC, abstractmethod
from bisect import bisect_right

from ..light import lru_cache
from .digests import shake_256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Final

WORD_BITS = 64
ONE = 1 << WORD_BITS
"""The threshold of certainty: probabilities are integers over ``ONE``."""

_WORDS = struct.Struct(">16I")


class Entropy(ABC):
    """A source of independent, uniformly random bytes, and the exact draws made from them."""

    precision = WORD_BITS
    """The bits of the thresholds of ``bernoulli_bits``; an enumeration of all streams needs fewer."""

    @abstractmethod
    def take(self, count: int) -> bytes:
        """Return the next ``count`` uniformly random bytes."""

    def ahead(self, count: int) -> Entropy:
        """Return an entropy that draws from the same source, with ``count`` bytes read in advance if that saves time.

        Use it for the draws of one report only.
        """
        return self

    def below(self, bound: int) -> int:
        """Return a uniform integer in [0, bound), for 1 <= bound <= 2^64, by rejection."""
        limit = ONE - ONE % bound
        while True:
            word = int.from_bytes(self.take(8), "big")
            if word < limit:
                return word % bound

    def each_below(self, bound: int) -> Iterator[int]:
        """Yield independent uniform integers in [0, bound), for 1 <= bound <= 2^32, drawn in blocks."""
        limit = (1 << 32) - (1 << 32) % bound
        while True:
            for word in _WORDS.unpack(self.take(_WORDS.size)):
                if word < limit:
                    yield word % bound

    def bernoulli(self, threshold: int) -> bool:
        """Return True with probability threshold/2^64."""
        return int.from_bytes(self.take(8), "big") < threshold

    def kept(self, symbol: int, size: int, threshold: int) -> int:
        """Return ``symbol`` with probability threshold/2^64, otherwise one of the other ``size`` - 1, uniformly."""
        if self.bernoulli(threshold):
            return symbol
        other = self.below(size - 1)
        return other + (other >= symbol)

    def choice(self, cumulative: Sequence[int]) -> int:
        """Return i with probability (cumulative[i] - cumulative[i-1])/2^64.

        The sums ascend to 2^64; before the first stands 0.
        """
        return bisect_right(cumulative, int.from_bytes(self.take(8), "big"))

    def bernoulli_bits(self, width: int, marked: int, high: int, low: int) -> int:
        """Return ``width`` independent bits as an integer, bit i being lane i.

        A lane whose bit is set in ``marked`` is 1 with probability high/2^precision, any other with probability
        low/2^precision; the thresholds lie in [0, 2^precision].

        All lanes are drawn at once. Lane i holds a uniform word U_i of which only the bits drawn so far are known, most
        significant first. A lane is decided at the first bit in which U_i and its threshold differ: it is 1 if the
        word's bit is the smaller. A lane undecided after all bits has U_i equal to its threshold, which is not below
        it. So P[bit i = 1] = threshold/2^precision exactly. Half of the open lanes close at each step: about
        2 + log2(width) steps of ``width`` bits are used.
        """
        lanes, size, certain, steps = _plan(width, high, low, self.precision)
        thresholds = 0, lanes ^ marked, marked, lanes
        result = thresholds[certain]
        undecided, step, last, from_bytes = lanes ^ result, 0, len(steps), int.from_bytes
        while undecided and step < last:
            # One call to the system for all the slices that are likely to be used.
            slices = last - step if last - step < 4 else min(last - step, undecided.bit_length().bit_length() + 2)
            drawn = self.take(size * slices)
            for start in range(0, size * slices, size):
                threshold = thresholds[steps[step]]
                differing = undecided & (threshold ^ from_bytes(drawn[start : start + size], "little"))
                result |= differing & threshold
                undecided ^= differing
                step += 1
        return result

    def subset(self, width: int, size: int) -> int:
        """Return a set of ``size`` of ``width`` lanes as an integer, each such set with the same probability.

        Independent bits of about the right density are drawn, and then uniformly chosen lanes are added or removed
        until the size is right. No step treats one lane differently from another, so the law is invariant under
        permutations of the lanes, and the only such law on sets of one size is the uniform one.
        """
        digits = width.bit_length() // 2 + 2  # more digits would cost as much to draw as they save in repairs
        density = (size << digits) // width << (WORD_BITS - digits)
        lanes = self.bernoulli_bits(width, 0, 0, density)
        missing = size - lanes.bit_count()
        if not missing:
            return lanes
        turned = lanes if missing > 0 else ~lanes  # the lanes that must not change
        for chosen in self.each_below(width):
            lane = 1 << chosen
            if not turned & lane:
                lanes ^= lane
                turned |= lane
                missing -= 1 if missing > 0 else -1
                if not missing:
                    break
        return lanes

    def subset_meeting(self, width: int, size: int, marked: int) -> int:
        """Return a uniform set of ``size`` of ``width`` lanes, among those that contain at least one ``marked`` lane.

        A marked lane and a subset of the others are drawn. A set with h marked lanes can be drawn in h ways, so it is
        kept with probability 1/h; otherwise the draw is repeated. Requires 1 <= size <= width, width >= 2 and a marked
        lane.
        """
        lanes = lanes_of(marked)
        while True:
            lane = lanes[self.below(len(lanes))]
            others = self.subset(width - 1, size - 1)
            below = others & ((1 << lane) - 1)
            chosen = below | 1 << lane | (others ^ below) << 1
            ways = (chosen & marked).bit_count()
            if ways == 1 or not self.below(ways):
                return chosen


class SystemEntropy(Entropy):
    """The operating system's generator. Nothing is buffered, so a fork can never repeat a draw."""

    def take(self, count: int) -> bytes:
        """Return ``count`` bytes of ``os.urandom``."""
        return os.urandom(count)

    def ahead(self, count: int) -> Entropy:
        """Return an entropy that has drawn ``count`` bytes in one system call, and draws more when they are used up."""
        return _Ahead(os.urandom(count))


class _Ahead(Entropy):
    """Bytes of system entropy that were read in advance; each is used once."""

    def __init__(self, drawn: bytes) -> None:
        self._drawn = drawn
        self._used = 0

    def __repr__(self) -> str:
        return "_Ahead(…)"

    def take(self, count: int) -> bytes:
        start, end = self._used, self._used + count
        if end > len(self._drawn):
            return os.urandom(count)
        self._used = end
        return self._drawn[start:end]


class KeyedEntropy(Entropy):
    """A pseudorandom stream fixed by a secret key and a context; for permanent draws.

    The stream is the concatenation over i = 0, 1, 2, … of the first 512 bytes of

        SHAKE-256( len(key) ‖ key ‖ len(part) ‖ part ‖ … ‖ i )

    with every length and i in four bytes, big-endian. The lengths make the encoding of (key, context) injective, and a
    sponge admits no extension, so a key in front makes a pseudorandom function, as in KMAC (NIST SP 800-185).
    Without the key, the stream cannot be distinguished from randomness: with it the privacy of permanent draws
    becomes computational, which is the price of remembering nothing.
    """

    BLOCK: Final = 512
    """The number of bytes of one digest."""

    def __init__(self, key: bytes, *context: bytes, start: bytes = b"") -> None:
        self._start = start + len(key).to_bytes(4, "big") + key + (encoded(*context) if context else b"")
        self._number = self._used = 0
        self._block = b""  # of this number, or the requested part of it

    def __repr__(self) -> str:
        return "KeyedEntropy(…)"  # neither the key nor the value in the context may reach a log

    def take(self, count: int) -> bytes:
        """Return the next ``count`` bytes of the stream. Most streams are read once, for less than a block."""
        start, end = self._used, self._used + count
        if end > self.BLOCK:
            return self._take_across(count)
        if len(self._block) < end:
            digest = shake_256(self._start + self._number.to_bytes(4, "big"))
            self._block = digest.digest(self.BLOCK if start else end)
        self._used = end
        return self._block[start:end]

    def _take_across(self, count: int) -> bytes:
        """Return the next bytes, which are of several blocks."""
        pieces = []
        while count > (rest := self.BLOCK - self._used):
            pieces.append(self.take(rest))
            count -= rest
            self._number, self._block, self._used = self._number + 1, b"", 0
        return b"".join((*pieces, self.take(count)))


class KeyedFamily:
    """The streams of ``KeyedEntropy`` for one key and all but the last part of the context, which are ``encoded``."""

    __slots__ = ("_start",)

    def __init__(self, context: bytes) -> None:
        self._start = context

    def __repr__(self) -> str:
        return "KeyedFamily(…)"

    def stream(self, part: bytes) -> KeyedEntropy:
        """Return the stream of ``part``, at its start."""
        return KeyedEntropy(part, start=self._start)

    def first(self, part: bytes, count: int) -> bytes:
        """Return the first ``count`` bytes of the stream of ``part``."""
        if count > KeyedEntropy.BLOCK:
            return self.stream(part).take(count)
        return shake_256(self._start + len(part).to_bytes(4, "big") + part + b"\0\0\0\0").digest(count)


def encoded(*parts: bytes) -> bytes:
    """Return byte strings joined with a length prefix of 4 bytes each, as ``KeyedEntropy`` hashes them."""
    joined = b""
    for part in parts:
        joined += len(part).to_bytes(4, "big") + part
    return joined


@lru_cache(maxsize=256)
def _plan(width: int, high: int, low: int, precision: int) -> tuple[int, int, int, bytes]:
    """Return all lanes, the bytes of a slice of them, which threshold is certain, and the leading bits of both.

    Of each pair it is 2 · that of high + that of low. The bits end with the last that is not zero.
    """
    certain = 1 << precision
    pairs = [2 * (high >> place & 1) + (low >> place & 1) for place in reversed(range(precision))]
    sure = 2 * (high == certain) + (low == certain)  # such a threshold has no other bits: its lanes cannot gain any
    return (1 << width) - 1, (width + 7) // 8, sure, bytes(pairs).rstrip(b"\0")


def lanes_of(row: int) -> tuple[int, ...]:
    """Return which lanes of ``row`` are 1, ascending."""
    return tuple(lane for lane, bit in enumerate(f"{row:b}"[::-1]) if bit == "1")
