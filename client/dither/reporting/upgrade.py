"""Upgrade: the records of format 2 for those of format 1 (format1.py).

Each value that was charged keeps its tag. Of the seals the last of each version is opened and becomes the draw that it
stands for, if the version is of a metric that the app still asks; all others are dropped, with the days beside them.
"""

from collections.abc import Iterable, Mapping

from dither_shared.metrics.metric import Metric

from ..state.journal_records import Charged, Debit, FormerDebit, Record
from .draws.format1 import NO_DIGEST, tag_of
from .draws.keys import Keys

__all__ = ["upgraded"]


def upgraded(records: Iterable[Record], metrics: Mapping[str, Metric], keys: Keys | None) -> list[Record]:
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


def _remembered(debits: list[FormerDebit], metric: Metric | None, keys: Keys | None) -> list[Record]:
    """Return the tags of one version, in an order that reveals nothing, and its last draw."""
    last = max(reversed(debits), key=lambda debit: debit.reports)
    tags = {tag_of(debit.digest) for debit in debits if debit.digest != NO_DIGEST}
    charged = [Charged(last.version, tag) for tag in sorted(tags)]
    if metric is None or keys is None or last.digest == NO_DIGEST:
        return [*charged]
    drawn = keys.former.opened(metric, last.digest)
    return [*charged, *([] if drawn is None else [keys.kept(metric, tag_of(last.digest), drawn)])]
