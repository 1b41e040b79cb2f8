"""Count uploads exactly once: the statements of one commit."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import sqlalchemy as sa

from dither_shared import Mechanism, Metric

from ...tally.blocks import Blocks, from_bytes, to_blocks, to_bytes
from ...tally.fold import fold
from ..batch_ids.ids import BatchIds
from ..hot import Hot
from ..tables.disabled import disabled_among
from ..tables.schema import TALLIES
from ..tables.sealed import Sealed, add_sealed

__all__ = ["Outcome", "Sealing", "Upload", "add_counts", "count"]

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
    EMPTY = "empty"
    """It came sealed, nothing of it could be opened, and it was not counted before."""


class Sealing(NamedTuple):
    """What is known of a batch that came sealed, beside its rows.

    ``digest`` is that of the sealed bytes, ``total`` how many reports the relay has shuffled together, and ``refused``
    how many of this batch could not be opened or counted.
    """

    digest: bytes
    total: int
    refused: int


@dataclass(frozen=True)
class Upload:
    """A batch that is ready to be counted: valid rows of a registered metric.

    ``stratum`` is the place of their stratum among those of the metric, 0 where it has none.
    """

    batch: bytes
    metric: Metric
    rows: bytes
    stratum: int = 0
    sealing: Sealing | None = None

    @property
    def reports(self) -> int:
        """The number of its rows."""
        return len(self.rows) // self.metric.mechanism.row_bytes

    @property
    def refused(self) -> int:
        """How many reports came with these and cannot be counted."""
        return 0 if self.sealing is None else self.sealing.refused

    @property
    def unopened(self) -> bool:
        """Whether it came sealed and holds nothing now. It may have been counted before, and a key be gone since."""
        return self.sealing is not None and not self.rows

    @cached_property
    def digest(self) -> bytes:
        """A digest by which a batch sent again is recognised, keyed by its id so that equal rows of two do not show."""
        stratum = b"" if self.metric.strata is None else bytes([self.stratum])  # of a version, all have one or none
        content = self.rows if self.sealing is None else self.sealing.digest
        whole = self.metric.version.encode("ascii") + stratum + content  # a version belongs to one metric
        return hashlib.blake2b(whole, digest_size=16, key=self.batch).digest()


def count(
    connection: sa.Connection, ids: BatchIds, uploads: Sequence[Upload], day: date, shard: bytes
) -> list[Outcome]:
    """Count each upload that is not counted yet; return what became of each. See ``Store.commit``."""
    seen = ids.known(connection, {upload.batch for upload in uploads})
    disabled = disabled_among(connection, {upload.metric.version for upload in uploads})
    fresh: list[Upload] = []
    for upload in uploads:
        if not upload.unopened and upload.batch not in seen and upload.metric.version not in disabled:
            seen[upload.batch] = upload.digest
            fresh.append(upload)
    if fresh:
        fresh.sort(key=lambda upload: upload.batch)  # in one order, or two writers could wait for each other
        ids.remember(connection, fresh, day)
        for (version, stratum), blocks in _sums(fresh):
            add_counts(connection, {"version": version, "day": day, "stratum": stratum, "shard": shard}, blocks)
        for (version, stratum), sealed in _sealed(fresh).items():
            add_sealed(connection, version, day, stratum, shard, sealed)
    return [_outcome(upload, seen.get(upload.batch), disabled) for upload in uploads]


def _outcome(upload: Upload, seen: bytes | None, disabled: Collection[str]) -> Outcome:
    if seen is None:
        return Outcome.DISABLED if upload.metric.version in disabled else Outcome.EMPTY
    return Outcome.COUNTED if seen == upload.digest else Outcome.CONFLICT


def _sums(uploads: Iterable[Upload]) -> Iterator[tuple[tuple[str, int], Blocks]]:
    """Yield each version and stratum among the uploads with the blocks that its rows touch."""
    rows: dict[tuple[str, int], tuple[Mechanism, list[bytes]]] = {}
    for upload in uploads:
        part = rows.setdefault((upload.metric.version, upload.stratum), (upload.metric.mechanism, []))
        part[1].append(upload.rows)
    for key, (mechanism, parts) in rows.items():
        yield key, to_blocks(mechanism, fold(mechanism, b"".join(parts)))


def _sealed(uploads: Iterable[Upload]) -> dict[tuple[str, int], Sealed]:
    """Return each version and stratum of which some came sealed, with what came so."""
    sums: dict[tuple[str, int], Sealed] = {}
    for upload in uploads:
        if upload.sealing is not None:
            key = (upload.metric.version, upload.stratum)
            one = Sealed(1, upload.reports, upload.sealing.total, upload.sealing.refused)
            sums[key] = one.plus(sums.get(key))
    return sums


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
