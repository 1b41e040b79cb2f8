"""Mechanisms whose reports pass through two channels: the permanent draw of the marked cells, and then new noise.

``randomize`` composes the two. A device with memory calls them one by one: the permanent draw once for ever, from a
keyed stream, and ``repeat`` for each report. Without a permanent part the first channel changes nothing.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from ..draws import Draws, draws_of
from ..light import cached_property
from ..mechanism import Item, Mechanism
from ..primitives.channel import BitChain, SymbolChain, TwoLevel
from ..primitives.entropy import Entropy


@dataclass(frozen=True, kw_only=True)
class Chained(Mechanism):
    """A mechanism whose ``randomize`` is ``repeat`` of ``permanent_draw``."""

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        """Return the cells that ``item`` marks in ``cohort``, through the chain."""
        return self.repeat(self.permanent_draw(self.permanent_key(item, cohort), permanent or entropy), entropy)


@dataclass(frozen=True, kw_only=True)
class _Chain(Chained):
    """A mechanism whose two channels are applied by a ``Draws`` object."""

    _chain: BitChain | SymbolChain = field(init=False, repr=False)

    @property
    def _stored(self) -> tuple[object, ...]:
        """The arguments for ``draws_of`` that both channels need."""
        raise NotImplementedError

    @cached_property
    def _draws(self) -> Draws:
        return draws_of(self._stored)

    @property
    def stored_draws(self) -> tuple[object, ...] | None:
        """The cells, cohorts and thresholds, if each item marks its own cell."""
        return self._stored if self.own_cells else None

    def ratio_after(self, reports: int) -> Fraction:
        """Return the worst-case ratio of ``reports`` reports of one value in one cohort."""
        return self._chain.ratio_after(reports)

    def permanent_draw(self, key: tuple[int, ...], entropy: Entropy) -> int:
        """Return the marked cells, through the permanent channel, as a symbol or a row of bits."""
        return self._draws.permanent_draw(key, entropy)

    def repeat(self, drawn: int, entropy: Entropy) -> bytes:
        """Return the payload of this report: the permanent draw through the second channel."""
        return self._draws.repeat(drawn, entropy)


@dataclass(frozen=True, kw_only=True)
class ChainOfSymbols(_Chain):
    """A mechanism in which a value marks one cell and a report shows one symbol."""

    _chain: SymbolChain = field(init=False, repr=False)

    @property
    def _stored(self) -> tuple[object, ...]:
        first = self._chain.permanent
        return "symbols", self.cells, self.cohorts, self._chain.instant.threshold, first and first.threshold


@dataclass(frozen=True, kw_only=True)
class ChainOfBits(_Chain):
    """A mechanism in which a value marks some cells and a report shows a bit for each cell."""

    independent_cells: ClassVar[bool] = True

    _chain: BitChain = field(init=False, repr=False)

    @property
    def _stored(self) -> tuple[object, ...]:
        first = self._chain.permanent
        return "bits", self.cells, self.cohorts, self._chain.instant.thresholds, first and first.thresholds


def two_level_bits(ratio: Fraction, low: Fraction, size: int) -> TwoLevel:
    """Return the law of independent bits in which each value marks its own bit, and others are 1 with ``low``.

    Compared with rows whose bits are all 1 with ``low``, a row is a/b as likely if the marked bit is 1 and (1-a)/(1-b)
    as likely if it is 0: two levels, whose ratio is that of two values.
    """
    return TwoLevel(ratio, low, low**2, low**2 * (1 - low) if size > 2 else None)
