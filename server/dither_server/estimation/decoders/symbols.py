"""What decoders share whose tally tells which reports there were: each is a symbol that may support many values."""

from abc import abstractmethod
from typing import TypeVar

import numpy as np

from dither_shared import Mechanism

from ...tally.arrays import Counts, Floats, Indices
from ...tally.tally import Tally
from .decoder import Decoder

__all__ = ["Symbols"]

Decoded = TypeVar("Decoded", bound=Mechanism)


class Symbols(Decoder[Decoded]):
    """Reads how the supports of values hang together from the reports themselves."""

    @abstractmethod
    def supported(self, mechanism: Decoded, values: Floats) -> Floats:
        """Return how many of the ``values``, 1 for each that counts, a report of each cohort and symbol supports."""

    def together(self, mechanism: Decoded, tally: Tally, group: Indices) -> Counts:
        """Weigh reports by how many of a group they support, and decode."""
        found = np.zeros(len(group), dtype=np.int64)
        for one in range(int(group.max()) + 1):
            own = group == one
            weights = np.rint(self.supported(mechanism, own.astype(np.float64))).astype(np.int64)
            table = tally.counts * weights.reshape(tally.counts.shape)
            found[own] = self.support(mechanism, Tally(table.sum(axis=1), table), ()).supporting[own]
        return found

    def cost_together(self, mechanism: Decoded, values: int, groups: int) -> int:
        """Count two transforms a group."""
        return 2 * groups * self.cost(mechanism, values)
