"""Count uploads exactly once: the statements of one commit."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import cached_property

import sqlalchemy as sa

from dither_shared import Mechanism, Metric

from ...tally.blocks import Blocks, from_bytes, to_blocks, to_bytes
from ...tally.fold import fold
from ..batch_ids.ids import BatchIds
from ..hot import Hot
from ..tables.disabled import disabled_among
from ..tables.schema import TALLIES

__all__ = ["Outcome", "Upload", "add_counts", "count"]

_AT_ONCE = 5_000
"""Values of one statement: PostgreSQL takes 65,535, SQLite 32,766."""

_OURS = [TALLIES.c[name] == sa.bindparam(f"this_{name}") for name in ("version", "day", "stratum", "shard")]
_BEFORE = Hot(
    sa.select(TALLIES.c.block, TALLIES.c.counts).where(
        *_OURS, TALLIES.c.block.in_(sa.bindparam("numbers", expanding=True))
    )
)
_CHANGE = Hot(
    sa.update(TALLIES).where(*_OURS, TALLIES.c.block == sa.bindparam("number")).values(counts=sa.bindparam("sums"))
)
_ADD = Hot(sa.insert(TALLIES))


class Outcome(Enum):
    """The outcome of an upload."""

    COUNTED = "counted"
    """It is counted: now, or when it was sent before."""
    CONFLICT = "conflict"
    """Its id belongs to a batch of another content."""
    DISABLED = "disabled"
    """Its metric version is disabled."""


@dataclass(frozen=True)
class Upload:
    """A batch that is ready to be counted: valid rows of a registered metric.

    ``stratum`` is the place of their stratum among those of the metric, 0 where it has none.
    """

    batch: bytes
    metric: Metric
    rows: bytes
    stratum: int = 0

    @cached_property
    def digest(self) -> bytes:
        """A digest by which a batch sent again is recognised, keyed by its id so that equal rows of two do not show."""
        stratum = b"" if self.metric.strata is None else bytes([self.stratum])  # of a version, all have one or none
        content = self.metric.version.encode("ascii") + stratum + self.rows  # a version belongs to one metric
        return hashlib.blake2b(content, digest_size=16, key=self.batch).digest()


def count(
    connection: sa.Connection, ids: BatchIds, uploads: Sequence[Upload], day: date, shard: bytes
) -> list[Outcome]:
    """Count each upload that is not counted yet; return what became of each. See ``Store.commit``."""
    seen = ids.known(connection, {upload.batch for upload in uploads})
    disabled = disabled_among(connection, {upload.metric.version for upload in uploads})
    fresh: list[Upload] = []
    for upload in uploads:
        if upload.batch not in seen and upload.metric.version not in disabled:
            seen[upload.batch] = upload.digest
            fresh.append(upload)
    if fresh:
        fresh.sort(key=lambda upload: upload.batch)  # in one order, or two writers could wait for each other
        ids.remember(connection, fresh, day)
        for (version, stratum), blocks in _sums(fresh):
            add_counts(connection, {"version": version, "day": day, "stratum": stratum, "shard": shard}, blocks)
    return [_outcome(upload, seen.get(upload.batch)) for upload in uploads]


def _outcome(upload: Upload, seen: bytes | None) -> Outcome:
    if seen is None:
        return Outcome.DISABLED
    return Outcome.COUNTED if seen == upload.digest else Outcome.CONFLICT


def _sums(uploads: Iterable[Upload]) -> Iterator[tuple[tuple[str, int], Blocks]]:
    """Yield each version and stratum among the uploads with the blocks that its rows touch."""
    rows: dict[tuple[str, int], tuple[Mechanism, list[bytes]]] = {}
    for upload in uploads:
        part = rows.setdefault((upload.metric.version, upload.stratum), (upload.metric.mechanism, []))
        part[1].append(upload.rows)
    for key, (mechanism, parts) in rows.items():
        yield key, to_blocks(mechanism, fold(mechanism, b"".join(parts)))


def add_counts(connection: sa.Connection, common: Mapping[str, object], blocks: Blocks) -> None:
    """Add blocks to the counts of a version, day, stratum and shard, which are in ``common``.

    Nobody else may write to this shard meanwhile.
    """
    key = {f"this_{name}": value for name, value in common.items()}
    for start in range(0, len(blocks.numbers), _AT_ONCE):
        numbers, counts = blocks.numbers[start : start + _AT_ONCE].tolist(), blocks.counts[start : start + _AT_ONCE]
        before: dict[int, bytes] = dict(_BEFORE.rows(connection, {**key, "numbers": numbers}))
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
            _CHANGE.each(connection, changed)
        if added:
            _ADD.each(connection, added)
