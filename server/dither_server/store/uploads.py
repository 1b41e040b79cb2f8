"""Count each batch and each sealed row exactly once: the statements of one commit."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from typing import NamedTuple, Self

import sqlalchemy as sa

from dither_shared import Mechanism, Metric

from ..tally.blocks import Blocks, from_bytes, to_blocks, to_bytes
from ..tally.fold import fold
from .batch_ids import add_ids, known_ids
from .definitions import disabled_among
from .lock import shared_lock
from .schema import TALLIES
from .tallies import Sealed, add_sealed

_AT_ONCE = 5_000
"""Values per statement: PostgreSQL takes 65,535, SQLite 32,766."""

_OURS = [TALLIES.c[name] == sa.bindparam(f"this_{name}") for name in ("version", "day", "stratum", "shard")]
_BEFORE = sa.select(TALLIES.c.block, TALLIES.c.counts).where(
    *_OURS, TALLIES.c.block.in_(sa.bindparam("numbers", expanding=True))
)
_CHANGE = (
    sa.update(TALLIES).where(*_OURS, TALLIES.c.block == sa.bindparam("number")).values(counts=sa.bindparam("sums"))
)
_ADD = sa.insert(TALLIES)

_SEALED = b"s"
"""The end of a stored id of a sealed row, which makes it longer than that of a batch."""


class UploadOutcome(Enum):
    """The outcome of an upload."""

    COUNTED = "counted"
    """It was counted, now or earlier: its batch id, or each of its sealed rows, was known."""
    DISABLED = "disabled"
    """Its metric version is disabled."""
    EMPTY = "empty"
    """It came sealed, nothing in it could be opened, and none of its rows was counted before."""


class Sealing(NamedTuple):
    """The facts about a sealed body besides its rows.

    ``ids`` are those of the rows, in their order: a row counts once, in whatever bodies it comes. If no row could be
    opened, they are ids of sealed rows that were tried, because these may have been counted before a key was retired.
    ``total`` is how many reports the relay has shuffled together, and ``refused`` how many reports of this body are
    not among the rows.
    """

    ids: tuple[bytes, ...]
    total: int
    refused: int


@dataclass(frozen=True)
class Upload:
    """A batch that is ready to be counted: valid rows of a registered metric.

    ``stratum`` is the index of their stratum among those of the metric, 0 if it has none. The id ``batch`` counts once,
    whatever comes under it later; if the rows came sealed, each row has an id of its own. ``begun`` is the first day of
    the period that sealed rows are of, for which they count; all others count for the day on which they come.
    """

    batch: bytes
    metric: Metric
    rows: bytes
    stratum: int = 0
    sealing: Sealing | None = None
    begun: date | None = None

    @property
    def reports(self) -> int:
        """The number of its rows."""
        return len(self.rows) // self.metric.mechanism.row_bytes

    @property
    def refused(self) -> int:
        """The number of reports that came with these rows and cannot be counted."""
        return 0 if self.sealing is None else self.sealing.refused

    @property
    def keys(self) -> Sequence[bytes]:
        """The ids, each of which counts once, as they are stored.

        Those of sealed rows are longer than those of batches. So nobody can have a sealed row taken for counted by
        posting a batch under its id.
        """
        return (self.batch,) if self.sealing is None else [one + _SEALED for one in self.sealing.ids]

    def without(self, known: Collection[bytes]) -> Self | None:
        """Return the part that is not counted yet if the ids in ``known`` are; None if nothing remains.

        Rows that are left out count as refused: they do not hide the others of their body.
        """
        if self.sealing is None:
            return None if self.batch in known else self
        if not self.rows:
            return None
        fresh = [place for place, one in enumerate(self.keys) if one not in known]
        if len(fresh) == len(self.sealing.ids) or not fresh:
            return self if fresh else None
        width = self.metric.mechanism.row_bytes
        rows = b"".join(self.rows[place * width : (place + 1) * width] for place in fresh)
        ids = tuple(self.sealing.ids[place] for place in fresh)
        refused = self.refused + len(self.sealing.ids) - len(fresh)
        return replace(self, rows=rows, sealing=self.sealing._replace(ids=ids, refused=refused))


def count(connection: sa.Connection, uploads: Sequence[Upload], day: date, shard: bytes) -> list[UploadOutcome]:
    """Count what is not counted yet of each upload; return the outcome of each. See ``Store.commit``."""
    shared_lock(connection)
    seen = known_ids(connection, {key for upload in uploads for key in upload.keys})
    disabled = disabled_among(connection, {upload.metric.version for upload in uploads})
    fresh: list[Upload] = []
    new: set[bytes] = set()
    for upload in uploads:
        left = None if upload.metric.version in disabled else upload.without(seen)
        if left is not None:
            seen.update(left.keys)
            new.update(left.keys)
            fresh.append(left)
    if fresh:
        add_ids(connection, new, day)
        for (version, counted_on, stratum), blocks in _sums(fresh, day):
            add_counts(connection, {"version": version, "day": counted_on, "stratum": stratum, "shard": shard}, blocks)
        for (version, counted_on, stratum), sealed in _sealed(fresh, day).items():
            add_sealed(connection, version, counted_on, stratum, shard, sealed)
    return [_outcome(upload, seen, disabled) for upload in uploads]


def _outcome(upload: Upload, seen: Collection[bytes], disabled: Collection[str]) -> UploadOutcome:
    # If a body opens, each of its rows has to be counted; if not, one row shows that its key was retired.
    if (all if upload.rows else any)(key in seen for key in upload.keys):
        return UploadOutcome.COUNTED
    return UploadOutcome.DISABLED if upload.metric.version in disabled else UploadOutcome.EMPTY


_Key = tuple[str, date, int]
"""A version, the day for which reports count, and a stratum."""


def _key(upload: Upload, today: date) -> _Key:
    return upload.metric.version, upload.begun or today, upload.stratum


def _sums(uploads: Iterable[Upload], today: date) -> Iterator[tuple[_Key, Blocks]]:
    """Yield each version, day and stratum among the uploads with the blocks that its rows touch."""
    rows: dict[_Key, tuple[Mechanism, list[bytes]]] = {}
    for upload in uploads:
        part = rows.setdefault(_key(upload, today), (upload.metric.mechanism, []))
        part[1].append(upload.rows)
    for key, (mechanism, parts) in rows.items():
        yield key, to_blocks(mechanism, fold(mechanism, b"".join(parts)))


def _sealed(uploads: Iterable[Upload], today: date) -> dict[_Key, Sealed]:
    """Return what came sealed, for each version, day and stratum that has sealed reports."""
    sums: dict[_Key, Sealed] = {}
    for upload in uploads:
        if upload.sealing is not None:
            key = _key(upload, today)
            sealed = Sealed(1, upload.reports, upload.sealing.total, upload.sealing.refused)
            sums[key] = sealed.plus(sums.get(key))
    return sums


def add_counts(connection: sa.Connection, common: Mapping[str, object], blocks: Blocks) -> None:
    """Add blocks to the counts of the version, day, stratum and shard given in ``common``.

    No other process may write to this shard at the same time.
    """
    key = {f"this_{name}": value for name, value in common.items()}
    for start in range(0, len(blocks.numbers), _AT_ONCE):
        numbers, counts = blocks.numbers[start : start + _AT_ONCE].tolist(), blocks.counts[start : start + _AT_ONCE]
        before = {row.block: row.counts for row in connection.execute(_BEFORE, {**key, "numbers": numbers})}
        if len(before) == len(numbers):
            counts = counts + from_bytes([before[number] for number in numbers])
        elif before:
            known = [place for place, number in enumerate(numbers) if number in before]
            counts[known] += from_bytes([before[numbers[place]] for place in known])
        changed, added = [], []
        for number, sums in zip(numbers, to_bytes(counts), strict=True):
            if number in before:
                changed.append({**key, "number": number, "sums": sums})
            else:
                added.append({**common, "block": number, "counts": sums})
        if changed:
            connection.execute(_CHANGE, changed)
        if added:
            connection.execute(_ADD, added)
