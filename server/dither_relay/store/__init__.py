"""The relay's database: the listed pools, the waiting reports, and digests of forwarded ones.

Nothing here identifies a person: no address, no user, no time finer than a UTC day, and rows are in the order of their
digests.
"""

from .batches import Arrival, Cut, Frozen, SealedPool
from .pools import Held, KnownPool, ListedPool
from .store import RelayStore

__all__ = ["Arrival", "Cut", "Frozen", "Held", "KnownPool", "ListedPool", "RelayStore", "SealedPool"]
