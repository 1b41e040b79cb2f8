"""The draws have exactly the law that they state; tests/vectors have the bytes of each at its thresholds."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import pytest

from contract.cases import each
from contract.exact_law import Branching, exact_law
from dither_shared import Entropy, KeyedEntropy, SystemEntropy
from dither_shared.primitives.entropy import KeyedFamily, encoded
from dither_shared.primitives.probability import ONE

PRECISION = 3


class Script(Entropy):
    """An entropy whose bytes are scripted."""

    def __init__(self, script: bytes) -> None:
        self.script = script

    def take(self, count: int) -> bytes:
        assert count <= len(self.script), "more was drawn than the script holds"
        taken, self.script = self.script[:count], self.script[count:]
        return taken


@each(lambda: product(range(4), range(2**PRECISION + 1), range(2**PRECISION + 1)))
def test_every_lane_is_below_its_threshold_with_exactly_that_probability(case: tuple[int, int, int]) -> None:
    """Over all streams for two lanes of three bits, the joint law is exactly the product of threshold/2^3."""
    marked, high, low = case
    outcomes: Counter[int] = Counter()
    for slices in product(range(4), repeat=PRECISION):
        noise = 0b10101000  # the bits beyond the last lane must not matter
        script = Script(bytes(cut | noise for cut in slices))
        script.precision = PRECISION
        outcomes[script.bernoulli_bits(2, marked, high, low)] += 1
    streams = 4**PRECISION
    for bits in range(4):
        chance = Fraction(1)
        for lane in range(2):
            threshold = Fraction(high if marked >> lane & 1 else low, 2**PRECISION)
            chance *= threshold if bits >> lane & 1 else 1 - threshold
        assert outcomes[bits] == chance * streams


@pytest.mark.parametrize(
    ("high", "low", "expected"), [(ONE, 0, 0b0110), (0, ONE, 0b1001), (ONE, ONE, 0b1111), (0, 0, 0)]
)
def test_certain_draw_reads_no_random_bytes(high: int, low: int, expected: int) -> None:
    assert Script(b"").bernoulli_bits(4, 0b0110, high, low) == expected


@pytest.mark.parametrize("bound", [3, 2**63 + 1])
def test_below_accepts_a_whole_number_of_rounds(bound: int) -> None:
    """Words from the last incomplete round are refused, so every residue has equally many words."""
    limit = ONE - ONE % bound
    last = Script((limit - 1).to_bytes(8, "big"))
    assert last.below(bound) == bound - 1
    if limit < ONE:
        again = Script(limit.to_bytes(8, "big") + (7 % bound).to_bytes(8, "big"))
        assert again.below(bound) == 7 % bound


def test_keyed_stream_continues_after_reads_of_any_size() -> None:
    whole = KeyedEntropy(b"key", b"a").take(2000)
    for first in (0, 1, 16, 511, 512, 513, 1023, 1024, 1600):
        for second in (0, 1, 300, 400):
            stream = KeyedEntropy(b"key", b"a")
            assert stream.take(first) + stream.take(second) == whole[: first + second]


def test_keyed_entropy_shows_no_secret() -> None:
    assert "secret" not in repr(KeyedEntropy(b"secret", b"secret value"))


def test_system_entropy_buffers_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """No byte is drawn ahead, so a forked child can never repeat its parent's noise."""
    counts: list[int] = []

    def urandom(count: int) -> bytes:
        counts.append(count)
        return bytes(count)

    monkeypatch.setattr(os, "urandom", urandom)
    entropy = SystemEntropy()
    entropy.below(6)
    entropy.bernoulli(5)
    assert counts == [8, 8]


class Cut(Exception):  # noqa: N818 - not an error: the walk goes no deeper here
    pass


class Walk(Branching):
    """A source that walks the code of a draw, for which ``Branching`` has the law, to a depth of some choices."""

    depth: int

    def _choose(self, options: int) -> int:
        if len(self.options) == self.depth:
            raise Cut
        return super()._choose(options)

    def each_below(self, bound: int) -> Iterator[int]:
        while True:
            yield self.below(bound)


class Subset(Walk):
    depth = 4  # up to three repair steps
    subset = Entropy.subset


class SubsetMeeting(Walk):
    depth = 6  # two tries
    subset_meeting = Entropy.subset_meeting


def law_within(walk: type[Walk], draw: Callable[[Entropy], int]) -> dict[int, Fraction]:
    """Return the probability of each outcome that a walk reaches."""

    def drawn(entropy: Entropy) -> int:
        try:
            return draw(entropy)
        except Cut:
            return -1

    return {lanes: chance for lanes, chance in exact_law(drawn, walk).items() if lanes >= 0}


@pytest.mark.parametrize(("width", "size"), [(4, 1), (4, 2), (5, 3)])
def test_subsets_of_one_size_are_equally_likely_at_every_depth_of_the_drawing(width: int, size: int) -> None:
    law = law_within(Subset, lambda entropy: entropy.subset(width, size))
    assert law.keys() == {lanes for lanes in range(1 << width) if lanes.bit_count() == size}
    assert len(set(law.values())) == 1
    assert sum(law.values()) > Fraction(1, 2)


@pytest.mark.parametrize(("width", "size", "marked"), [(4, 1, 6), (5, 2, 21), (5, 3, 31), (6, 4, 8)])
def test_subsets_that_meet_marked_lanes_are_equally_likely(width: int, size: int, marked: int) -> None:
    """A set with several marked lanes is found from each of them, so that a coin refuses it, and is drawn again."""
    law = law_within(SubsetMeeting, lambda entropy: entropy.subset_meeting(width, size, marked))
    assert law.keys() == {lanes for lanes in range(1 << width) if lanes.bit_count() == size and lanes & marked}
    assert len(set(law.values())) == 1
    assert sum(law.values()) > Fraction(1, 2)


def test_prefetched_bytes_are_returned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[bytes] = []

    def urandom(count: int) -> bytes:
        drawn.append(bytes([len(drawn)]) * count)
        return drawn[-1]

    monkeypatch.setattr("os.urandom", urandom)
    ahead = SystemEntropy().ahead(64)
    taken = [ahead.take(count) for count in (32, 16, 16, 1, 100)]
    assert taken == [b"\0" * 32, b"\0" * 16, b"\0" * 16, b"\1", b"\2" * 100]
    assert SystemEntropy().ahead(64).take(40) + SystemEntropy().take(1) == b"\3" * 40 + b"\4"
    keyed = KeyedEntropy(b"key")
    assert keyed.ahead(64) is keyed, "a keyed stream does not depend on how it is read"


def test_a_family_offers_the_streams_of_its_members() -> None:
    family = KeyedFamily(encoded(b"key", b"a"))
    for count in (0, 16, 512, 513, 2000):
        expected = KeyedEntropy(b"key", b"a", b"bc").take(count)
        assert family.first(b"bc", count) == family.stream(b"bc").take(count) == expected
    assert "key" not in repr(family)
