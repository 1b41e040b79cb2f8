"""The relay's database: which pools there are, what waits for them, and digests of what has left.

Nothing here identifies a person: no address, no user, no time finer than a UTC day, and rows are in the order of their
digests.
"""

from .batches import Arrival, Cut, Frozen, SealedPool
from .pools import Held, KnownPool, ListedPool
from .store import RelayStore

__all__ = ["Arrival", "Cut", "Frozen", "Held", "KnownPool", "ListedPool", "RelayStore", "SealedPool"]
