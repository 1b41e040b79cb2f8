"""What the pages show of sets: the shares, the average number of values, and the pairs that go together."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, cast

from ..shares.page import SharesExhibit
from .rows import PairRow

__all__ = ["SelectionExhibit"]

_PAIRS = 12
"""The most pairs of a page, those that most people have."""

_WORDS = {"ok": "clear of 0", "noise": "may be 0", "too-few": "too few reports"}


@dataclass(frozen=True)
class SelectionExhibit(SharesExhibit):
    """The values that are found, and pairs of them."""

    template: ClassVar[str] = "kinds/selection.html"

    @property
    def paired(self) -> bool:
        """Whether any reports speak of two values."""
        return len(self.table.beside["pairs"]) > 0

    @cached_property
    def seen(self) -> list[PairRow]:
        """The pairs of which there is an interval, in either order, those that most people have first."""
        pairs = cast("list[PairRow]", self.table.beside["pairs"].rows())
        looked = {row["value"] for row in self.found.shown}
        known = [one for one in pairs if one["share"] is not None and {one["given"], one["value"]} & looked]
        return sorted(known, key=lambda one: -(one["both"] or 0.0))

    @property
    def pairs(self) -> list[PairRow]:
        """The first of these."""
        return self.seen[:_PAIRS]

    def pair_words(self, row: PairRow) -> str:
        """Return the verdict of a pair in words."""
        return _WORDS[row["verdict"]]
