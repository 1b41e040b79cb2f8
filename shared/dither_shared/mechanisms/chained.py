"""Mechanisms whose reports are two channels in a chain: the permanent draw of the marked cells, and noise over it.

``randomize`` composes the two. A device that remembers calls them one by one: the permanent draw once for ever, from
a keyed stream, and ``repeat`` for each report. Without a permanent part the first channel changes nothing.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from ..mechanism import Item, Mechanism
from ..primitives.channel import BitChain, SymbolChain
from ..primitives.entropy import Entropy
from ..primitives.two_level import TwoLevel


@dataclass(frozen=True, kw_only=True)
class Chained(Mechanism):
    """A mechanism whose ``randomize`` is ``repeat`` of ``permanent_draw``."""

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        """Return the cells that ``item`` marks in ``cohort``, through the chain."""
        return self.repeat(self.permanent_draw(self.permanent_key(item, cohort), permanent or entropy), entropy)


@dataclass(frozen=True, kw_only=True)
class ChainOfSymbols(Chained):
    """A mechanism in which a value marks one cell and a report shows one symbol."""

    _chain: SymbolChain = field(init=False, repr=False)

    def permanent_draw(self, key: tuple[int, ...], entropy: Entropy) -> int:
        """Return the permanent symbol: the marked cell, or another one in its place."""
        first = self._chain.permanent
        return key[0] if first is None else first.draw(key[0], entropy)

    def repeat(self, drawn: int, entropy: Entropy) -> bytes:
        """Return the symbol of this report: the permanent one, or another in its place."""
        return self.row_format.symbol(self._chain.instant.draw(drawn, entropy))


@dataclass(frozen=True, kw_only=True)
class ChainOfBits(Chained):
    """A mechanism in which a value marks some cells and a report shows a bit for each cell."""

    independent_cells: ClassVar[bool] = True

    _chain: BitChain = field(init=False, repr=False)

    def permanent_draw(self, key: tuple[int, ...], entropy: Entropy) -> int:
        """Return the permanent row: a bit for each cell, kept or flipped once for ever."""
        row = 0
        for cell in key:
            row |= 1 << cell
        first = self._chain.permanent
        return row if first is None else entropy.bernoulli_bits(self.cells, row, *first.thresholds)

    def repeat(self, drawn: int, entropy: Entropy) -> bytes:
        """Return the bits of this report: those of the permanent row, each kept or flipped."""
        return self.row_format.bits(entropy.bernoulli_bits(self.cells, drawn, *self._chain.instant.thresholds))


def two_level_bits(ratio: Fraction, low: Fraction, size: int) -> TwoLevel:
    """Return the law of rows of independent bits, of which a value marks one of its own, and others are 1 with ``low``.

    Next to rows whose bits are all 1 with ``low``, a row is a/b as likely if the marked bit is 1 and (1-a)/(1-b) as
    likely if it is 0: two levels, whose ratio is that of two values.
    """
    return TwoLevel(ratio, low, low**2, low**2 * (1 - low) if size > 2 else None)
