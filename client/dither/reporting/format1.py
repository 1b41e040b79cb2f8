"""Upgrade journals of format 1: how draws and tags were keyed there, and how its records become those of format 2.

In format 1 draws and tags were keyed by the value itself, and not by the cells that it marks:

    permanent draw of a value       (version, cohort in 4 bytes, value)
    tag of a charged value          ("charged", version, value)
    mask of a seal                  ("sealed", version, tag)

with the index of a listed value in 8 bytes, big-endian. Each debit held a tag and a seal: the masked index of a listed
value, or the masked permanent row of any string.

A permanent draw is never made again. So a value that was charged then keeps its draw, and its tag, which begins with
``FORMER``; whether a value has one is asked before anything else. Values that are new draw by the cells they mark. Of
the seals the last of each version is opened and becomes the draw that it stands for, if the version is of a metric that
the app still asks; all others are dropped, with the days beside them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from dither_shared.mechanism import Item
from dither_shared.metrics.metric import Metric
from dither_shared.primitives.entropy import KeyedEntropy

from ..state.journal_records import Charged, Debit, FormerDebit, Record

if TYPE_CHECKING:
    from .keys import Keys

__all__ = ["FORMER", "NO_DIGEST", "FormerKeys", "upgraded"]

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


def upgraded(records: Iterable[Record], metrics: Mapping[str, Metric], keys: "Keys | None") -> list[Record]:
    """Return the records of format 2 that stand for these of format 1.

    ``metrics`` are those that the app asks, by version. Without ``keys`` (their secret is lost) no draw can be kept.
    """
    debits: dict[str, list[FormerDebit]] = {}
    others: list[Record] = []
    for record in records:
        if isinstance(record, FormerDebit):
            debits.setdefault(record.version, []).append(record)
            others.append(Debit(*record[:-1]))
        else:
            others.append(record)
    return [new for version, each in debits.items() for new in _remembered(each, metrics.get(version), keys)] + others


def _remembered(debits: list[FormerDebit], metric: Metric | None, keys: "Keys | None") -> list[Record]:
    """Return the tags of one version, in an order that tells nothing, and its last draw."""
    last = max(reversed(debits), key=lambda debit: debit.reports)
    tags = {debit.digest[:_TAG_DIGITS] for debit in debits if debit.digest != NO_DIGEST}
    charged = [Charged(last.version, FORMER + tag) for tag in sorted(tags)]
    if metric is None or keys is None or last.digest == NO_DIGEST:
        return [*charged]
    drawn = keys.former.opened(metric, last.digest)
    return [*charged, *([] if drawn is None else [keys.kept(metric, FORMER + last.digest[:_TAG_DIGITS], drawn)])]


def _as_bytes(item: Item) -> bytes:
    return item if isinstance(item, bytes) else item.to_bytes(_INDEX_BYTES, "big")
