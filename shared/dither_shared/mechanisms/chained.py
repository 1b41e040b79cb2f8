"""Mechanisms whose reports are two channels in a chain: the permanent draw of the marked cells, and noise over it.

``randomize`` composes the two. A device that remembers calls them one by one: the permanent draw once for ever, from
a keyed stream, and ``repeat`` for each report. Without a permanent part the first channel changes nothing.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from ..draws import BitDraws, SymbolDraws
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

    @cached_property
    def _draws(self) -> SymbolDraws:
        first = self._chain.permanent
        return SymbolDraws(self.cells, self.cohorts, self._chain.instant.threshold, first.threshold if first else None)

    def permanent_draw(self, key: tuple[int, ...], entropy: Entropy) -> int:
        """Return the permanent symbol: the marked cell, or another one in its place."""
        return self._draws.permanent_draw(key, entropy)

    def repeat(self, drawn: int, entropy: Entropy) -> bytes:
        """Return the symbol of this report: the permanent one, or another in its place."""
        return self._draws.repeat(drawn, entropy)

    def _stored_symbols(self) -> tuple[object, ...]:
        """Return the stored draws of a mechanism in which a point falls into the cell (point + cohort) // cohorts."""
        first = self._chain.permanent
        return "symbols", self.cells, self.cohorts, self._chain.instant.threshold, first and first.threshold


@dataclass(frozen=True, kw_only=True)
class ChainOfBits(Chained):
    """A mechanism in which a value marks some cells and a report shows a bit for each cell."""

    independent_cells: ClassVar[bool] = True

    _chain: BitChain = field(init=False, repr=False)

    @cached_property
    def _draws(self) -> BitDraws:
        first = self._chain.permanent
        return BitDraws(self.cells, self.cohorts, self._chain.instant.thresholds, first.thresholds if first else None)

    def permanent_draw(self, key: tuple[int, ...], entropy: Entropy) -> int:
        """Return the permanent row: a bit for each cell, kept or flipped once for ever."""
        return self._draws.permanent_draw(key, entropy)

    def repeat(self, drawn: int, entropy: Entropy) -> bytes:
        """Return the bits of this report: those of the permanent row, each kept or flipped."""
        return self._draws.repeat(drawn, entropy)

    def _stored_bits(self, hashes: int = 0) -> tuple[object, ...]:
        """Return the stored draws of a mechanism whose items mark a cell of their own, or ``hashes`` Bloom bits."""
        first = self._chain.permanent
        thresholds = self._chain.instant.thresholds, first and first.thresholds
        return "bits", self.cells, self.cohorts, *thresholds, hashes


def two_level_bits(ratio: Fraction, low: Fraction, size: int) -> TwoLevel:
    """Return the law of rows of independent bits, of which a value marks one of its own, and others are 1 with ``low``.

    Next to rows whose bits are all 1 with ``low``, a row is a/b as likely if the marked bit is 1 and (1-a)/(1-b) as
    likely if it is 0: two levels, whose ratio is that of two values.
    """
    return TwoLevel(ratio, low, low**2, low**2 * (1 - low) if size > 2 else None)
