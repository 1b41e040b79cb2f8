"""Keys: what the device's secret fixes for ever, so that permanent draws need no memory.

From one secret of 32 bytes follow three families of draws, each under a context of its own (``KeyedEntropy`` encodes
a context injectively, so no two of them can meet):

    cohort of a metric version      ("cohort", version)
    permanent draw of a value       (version, cohort in 4 bytes, value)
    digest of a charged value       ("charged", version, value)

The version contains the metric's name, so two metrics of one definition draw unrelated noise. Nothing here is stored:
what is not stored can be neither lost nor redrawn.
"""

from dither_shared.entropy import Entropy, KeyedEntropy
from dither_shared.mechanism import Item
from dither_shared.metric import Metric

__all__ = ["SECRET_BYTES", "Keys"]

SECRET_BYTES = 32
_DIGEST_BYTES = 16


class Keys:
    """The keyed draws of one device."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._cohorts: dict[str, int] = {}

    def __repr__(self) -> str:
        return "Keys(…)"

    def cohort(self, metric: Metric) -> int:
        """Return the cohort of this device for ``metric``: uniform, and the same for ever."""
        cohort = self._cohorts.get(metric.version)
        if cohort is None:
            stream = KeyedEntropy(self._secret, b"cohort", metric.version.encode("ascii"))
            cohort = self._cohorts[metric.version] = stream.below(metric.mechanism.cohorts)
        return cohort

    def permanent(self, metric: Metric, cohort: int, item: Item) -> Entropy:
        """Return the stream of the permanent draw of ``item``: at its start, every time it is asked for."""
        version = metric.version.encode("ascii")
        return KeyedEntropy(self._secret, version, cohort.to_bytes(4, "big"), _as_bytes(item))

    def digest(self, metric: Metric, item: Item) -> str:
        """Return by what the ledger knows that ``item`` has been charged; it tells nothing without the secret."""
        stream = KeyedEntropy(self._secret, b"charged", metric.version.encode("ascii"), _as_bytes(item))
        return stream.take(_DIGEST_BYTES).hex()


def _as_bytes(item: Item) -> bytes:
    return item if isinstance(item, bytes) else item.to_bytes(8, "big")
