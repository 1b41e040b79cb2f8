"""Select the values of a metric that an answer shows. Leaving values out changes no number of the others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dither_shared import ParameterError

from ..tally.arrays import Floats, Indices

__all__ = ["EVERYTHING", "Indices", "Selection"]


@dataclass(frozen=True)
class Selection:
    """``values`` by name (all, if none is named); of these the ``top`` most frequent, or ``limit`` from ``offset`` on.

    The most frequent come in the order of their shares, others as they are named, or else as the metric lists them.
    """

    values: tuple[str, ...] = ()
    top: int | None = None
    limit: int | None = None
    offset: int = 0

    def __post_init__(self) -> None:
        if self.top is not None and (self.limit is not None or self.offset):
            raise ParameterError("top", "is a limit itself; give top, or limit and offset")

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return self == EVERYTHING

    def count(self, values: int) -> int:
        """Return how many of so many values are shown, at most."""
        named = len(self.values) or values
        most = self.top or self.limit
        left = max(0, named - self.offset)
        return left if most is None else min(left, most)

    def places(self, labels: Sequence[str], frequency: Callable[[], Floats]) -> Indices:
        """Return where the values that are shown stand among ``labels``; ``frequency`` is asked only for the top.

        Raises ParameterError for a value that is not there.
        """
        named = self._named(labels)
        if self.top is None:
            return named[self.offset : None if self.limit is None else self.offset + self.limit]
        shares = np.nan_to_num(frequency()[named], nan=-np.inf)
        return np.asarray(named[np.argsort(-shares, kind="stable")[: self.top]])

    def _named(self, labels: Sequence[str]) -> Indices:
        if not self.values:
            return np.arange(len(labels), dtype=np.intp)
        where = {label: place for place, label in enumerate(labels)}
        try:
            return np.array([where[value] for value in dict.fromkeys(self.values)], dtype=np.intp)
        except KeyError:
            listed = f"; listed is, for example, {labels[0]!r}" if labels else ""
            complaint = f"names one that the metric does not list{listed}; name each of several by itself"
            raise ParameterError("values", complaint) from None


EVERYTHING = Selection()
