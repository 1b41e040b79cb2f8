"""What the items that a mechanism randomizes stand for, and so which kinds of question it can answer."""

from dataclasses import dataclass

__all__ = ["LISTED", "NUMBERS", "SETS", "SPELLED", "STRINGS", "Item", "Items"]

Item = int | bytes
"""The item that a mechanism randomizes: an index of a domain, a set of them with index j as bit j, or, for an open
domain, the value's UTF-8 bytes."""


@dataclass(frozen=True)
class Items:
    """What items stand for, in ``words``.

    ``open``: there is no list of them; ``ordered``: cells follow their order; ``sets``: an item is any set of the
    ``size`` values, so that shares do not add up to 1.
    """

    words: str
    open: bool = False
    ordered: bool = False
    sets: bool = False

    def count(self, size: int) -> int:
        """Return how many items there are of ``size`` values."""
        return 1 << size if self.sets else size

    def sums(self, size: int) -> tuple[int, int]:
        """Return the least and the most that the shares of ``size`` values can add up to."""
        return (0, size) if self.sets else (0 if self.open else 1, 1)


LISTED = Items("listed answers")
"""Indices of a listed domain."""

NUMBERS = Items("numbers", ordered=True)
"""Points of an even grid over a range, numbered from 0."""

SETS = Items("sets of listed answers", sets=True)
"""Sets of indices of a listed domain, as integers: bit j stands for index j."""

STRINGS = Items("any string", open=True)
"""The UTF-8 bytes of any string."""

SPELLED = Items("strings to discover, of an alphabet", open=True)
"""Strings of one length over an alphabet, a byte for each symbol: its number."""
