"""Format 1 of the journal: how draws and tags were keyed there; upgrade.py reads its records.

In format 1 draws and tags were keyed by the value itself, and not by the cells that it marks:

    permanent draw of a value       (version, cohort in 4 bytes, value)
    tag of a charged value          ("charged", version, value)
    mask of a seal                  ("sealed", version, tag)

with the index of a listed value in 8 bytes, big-endian. Each debit held a tag and a seal: the masked index of a listed
value, or the masked permanent row of any string.

A permanent draw is never made again. So a value that was charged then keeps its draw, and its tag, which begins with
``FORMER``; whether a value has one is looked at before anything else. Values that are new draw by the cells they mark.
"""

from collections.abc import Callable

from dither_shared.mechanism import Item
from dither_shared.metrics.metric import Metric
from dither_shared.primitives.entropy import KeyedEntropy

__all__ = ["FORMER", "NO_DIGEST", "FormerKeys", "tag_of"]

FORMER = "1."
"""The beginning of a tag of a value that was charged under the former keys."""

NO_DIGEST = "-"
_TAG_BYTES = 16
_TAG_DIGITS = 2 * _TAG_BYTES
_INDEX_BYTES = 8


class FormerKeys:
    """The draws and tags of one device as they were keyed in format 1."""

    def __init__(self, secret: bytes, cohort: Callable[[Metric], int]) -> None:
        self._secret = secret
        self._cohort = cohort

    def __repr__(self) -> str:
        return "FormerKeys(…)"

    def tag(self, metric: Metric, item: Item) -> str:
        """Return the tag under which ``item`` was charged, if it was."""
        context = b"charged", metric.version.encode("ascii"), _as_bytes(item)
        return FORMER + KeyedEntropy(self._secret, *context).take(_TAG_BYTES).hex()

    def draw(self, metric: Metric, item: Item) -> int:
        """Return the permanent draw that ``item`` was given."""
        cohort = self._cohort(metric)
        context = metric.version.encode("ascii"), cohort.to_bytes(4, "big"), _as_bytes(item)
        stream = KeyedEntropy(self._secret, *context)
        return metric.mechanism.permanent_draw(metric.mechanism.marked(item, cohort), stream)

    def opened(self, metric: Metric, digest: str) -> int | None:
        """Return the permanent draw that a digest stands for, or None if it is not of this device."""
        tag, seal = digest[:_TAG_DIGITS], bytes.fromhex(digest[_TAG_DIGITS:])
        context = b"sealed", metric.version.encode("ascii"), tag.encode("ascii")
        mask = KeyedEntropy(self._secret, *context).take(len(seal))
        plain = int.from_bytes(seal, "big") ^ int.from_bytes(mask, "big")
        if metric.mechanism.items.open:
            return None if plain >> metric.mechanism.cells else plain
        return self.draw(metric, plain) if self.tag(metric, plain) == FORMER + tag else None


def tag_of(digest: str) -> str:
    """Return the tag under which the value of a digest was charged."""
    return FORMER + digest[:_TAG_DIGITS]


def _as_bytes(item: Item) -> bytes:
    return item if isinstance(item, bytes) else item.to_bytes(_INDEX_BYTES, "big")
