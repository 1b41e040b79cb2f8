"""Draw reports from a few integers, on a device whose definitions were calibrated before.

Mechanisms that have ``draws`` use them in ``randomize``, so there is only one way to draw. A permanent draw comes
first; without a permanent part it changes nothing. Thresholds are over 2^64.
"""

from __future__ import annotations

from .light import lru_cache
from .primitives.bloom import bloom_positions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .encoding import Item
    from .primitives.entropy import Entropy

    Pair = tuple[int, int]


class Draws:
    """Reports of ``cells`` cells in one of ``cohorts``, all equally likely, with payloads of ``payload_bytes``."""

    memoised = False
    """Whether a device draws once for each value and repeats that draw in all reports of the value."""

    def __init__(self, cells: int, cohorts: int, payload_bytes: int) -> None:
        self.cells, self.cohorts, self.payload_bytes = cells, cohorts, payload_bytes
        self._cohort_bytes = ((cohorts - 1).bit_length() + 7) // 8

    def draw_cohort(self, entropy: Entropy) -> int:
        """Return a cohort."""
        return entropy.below(self.cohorts) if self.cohorts > 1 else 0

    def row(self, cohort: int, payload: bytes) -> bytes:
        """Return the row of a cohort and a payload."""
        return cohort.to_bytes(self._cohort_bytes, "big") + payload

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0) -> bytes:
        """Return the payload of one report of ``item``, whose permanent draw is taken from ``entropy``, too."""
        return self.repeat(self.permanent_draw(self.permanent_key(item, cohort), entropy), entropy)

    def permanent_key(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the cells that ``item`` marks."""
        raise NotImplementedError

    def permanent_draw(self, key: tuple[int, ...], entropy: Entropy) -> int:
        """Return the permanent draw of the cells ``key``, as an integer."""
        raise NotImplementedError

    def repeat(self, drawn: int, entropy: Entropy) -> bytes:
        """Return the payload of one report of a permanent draw."""
        raise NotImplementedError


class _SymbolDraws(Draws):
    """One symbol, kept with ``threshold`` in each report and, if ``permanent`` is given, once for ever with that.

    An item is a point that falls into the cell (item + cohort) // cohorts; with one cohort it is the cell.
    """

    def __init__(self, cells: int, cohorts: int, threshold: int, permanent: int | None) -> None:
        super().__init__(cells, cohorts, ((cells - 1).bit_length() + 7) // 8)
        self._threshold, self._permanent = threshold, permanent
        self.memoised = permanent is not None

    def permanent_key(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the cell of a point."""
        return ((item + cohort) // self.cohorts,)  # type: ignore[operator]  # an item of these is an index

    def permanent_draw(self, key: tuple[int, ...], entropy: Entropy) -> int:
        """Return the permanent symbol: the marked cell, or another one."""
        return key[0] if self._permanent is None else entropy.kept(key[0], self.cells, self._permanent)

    def repeat(self, drawn: int, entropy: Entropy) -> bytes:
        """Return the symbol of this report: the permanent one, or another one."""
        return entropy.kept(drawn, self.cells, self._threshold).to_bytes(self.payload_bytes, "big")


class _BitDraws(Draws):
    """A row of bits; ``permanent`` and ``instant`` are P[1] for a bit that was 1 and for one that was 0.

    An item marks ``hashes`` cells of a Bloom filter or, if that is 0, a cell of its own.
    """

    def __init__(self, cells: int, cohorts: int, instant: Pair, permanent: Pair | None, hashes: int = 0) -> None:
        super().__init__(cells, cohorts, (cells + 7) // 8)
        self._instant, self._permanent, self._hashes = instant, permanent, hashes
        self.memoised = permanent is not None

    def permanent_key(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the Bloom positions of a value, or its own cell."""
        if not self._hashes:
            return (item,)  # type: ignore[return-value]  # an item of these is an index
        return bloom_positions(item, cohort, self.cells, self._hashes)  # type: ignore[arg-type]  # these are bytes

    def permanent_draw(self, key: tuple[int, ...], entropy: Entropy) -> int:
        """Return the permanent row: a bit for each cell, kept or flipped once for ever."""
        row = 0
        for cell in key:
            row |= 1 << cell
        return row if self._permanent is None else entropy.bernoulli_bits(self.cells, row, *self._permanent)

    def repeat(self, drawn: int, entropy: Entropy) -> bytes:
        """Return the bits of this report: those of the permanent row, each kept or flipped."""
        bits = entropy.bernoulli_bits(self.cells, drawn, *self._instant)
        return bits.to_bytes(self.payload_bytes, "little")


_KINDS: dict[object, type[Draws]] = {"symbols": _SymbolDraws, "bits": _BitDraws}


@lru_cache(maxsize=64)
def draws_of(stored: tuple[object, ...]) -> Draws:
    """Return the draws that ``Mechanism.stored_draws`` describes: their kind, and its arguments.

    They have no state, so metrics of one mechanism share them.
    """
    kind, *arguments = stored
    return _KINDS[kind](*arguments)  # type: ignore[arg-type]  # a mechanism wrote them
