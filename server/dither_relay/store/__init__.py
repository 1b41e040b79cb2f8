"""The relay's database: the listed pools, the waiting reports, and digests of forwarded ones.

Nothing here identifies a person: no address, no user, no time finer than a UTC day, and rows are in the order of their
digests.
"""

from .pools import Arrival, Cut, Held, ListedPool, PoolBatch
from .store import RelayStore

__all__ = ["Arrival", "Cut", "Held", "ListedPool", "PoolBatch", "RelayStore"]
