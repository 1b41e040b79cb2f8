"""Fold the records of one bucket: count each batch once, and report why the others do not count.

Buckets have no batch id in common, so each can be folded separately, anywhere and in any order.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dither_server.store.folds import FoldSums
from dither_server.tally.arrays import Booleans
from dither_server.tally.blocks import Blocks, to_blocks
from dither_server.tally.fold import fold, parsed
from dither_shared import Mechanism, WireError

from .records import Ids, Keys, Records, are_first, as_ids, as_keys, grouped


class FoldedBucket(NamedTuple):
    """The tallies of a bucket, and the outcomes of its records.

    ``tallies`` are by version, day (as in ``Records``) and stratum; ``ids`` are those of their batches, ascending.
    ``conflicts`` are those of ``sums`` by version and day. ``unknown`` records, of a version that is not among the
    mechanisms, are not in ``sums``.
    """

    tallies: dict[tuple[bytes, int, int], Blocks]
    ids: Ids
    sums: FoldSums
    conflicts: dict[tuple[bytes, int], int]
    unknown: int


def fold_bucket(
    segments: Sequence[Records], seen: Iterable[Ids], mechanisms: Mapping[bytes, Mechanism]
) -> FoldedBucket:
    """Fold the records of a bucket, each batch counted once; ``seen`` are ids that were counted before.

    The order of segments, and of the records of one id, does not matter. If a batch came with several contents
    (version, stratum and rows), the first by version, day, stratum and rows counts, shorter rows first; records of an
    unknown version or with damaged rows do not take part. A batch counts on the first day on which its content came.
    Each part of ``seen`` ascends; the parts are used one after the other, so a generator may read them. Memory is at
    most 200 bytes per record and four times its rows, plus one part of ``seen``.
    """
    records = Records.merged(segments)
    fresh = records.where(~_found(records.keys, seen))
    known = fresh.where(np.array([version in mechanisms for version in fresh.versions], dtype=bool)[fresh.version])
    sound = known.where(_are_sound(known, mechanisms))
    counted, conflicts = _distinct(sound)
    return FoldedBucket(
        _tallies(counted, mechanisms),
        as_ids(counted.keys),
        FoldSums(
            batches=len(counted),
            rows=_rows(counted, mechanisms),
            repeated=len(records) - len(fresh) + len(sound) - len(counted) - len(conflicts),
            conflicts=len(conflicts),
            damaged=len(known) - len(sound),
        ),
        _by_day(conflicts),
        unknown=len(fresh) - len(known),
    )


def _found(keys: Keys, seen: Iterable[Ids]) -> Booleans:
    """Return for each key, in ascending order, whether a part of ``seen`` contains it."""
    first = are_first(keys)
    distinct = keys[first]
    found = np.zeros(len(distinct), dtype=bool)
    for part in seen:
        if len(part) and len(distinct):
            _mark(found, distinct, as_keys(part))
    every: Booleans = found[np.cumsum(first) - 1]
    return every


def _mark(found: Booleans, keys: Keys, others: Keys) -> None:
    """Set ``found`` for each key that is among ``others``; both ascend, and the keys are distinct.

    The smaller array is looked up in the larger, so neither large files nor many small ones cost much.
    """
    (begin,), (end,) = np.searchsorted(keys, others[:1]), np.searchsorted(keys, others[-1:], side="right")
    within = keys[begin:end]
    if len(within) < len(others):
        found[begin:end] |= others[np.searchsorted(others, within)] == within
    else:
        places = np.minimum(np.searchsorted(keys, others), len(keys) - 1)
        found[places[keys[places] == others]] = True


def _are_sound(records: Records, mechanisms: Mapping[bytes, Mechanism]) -> Booleans:
    """Return for each record whether a device could have sent its rows."""
    sound = np.zeros(len(records), dtype=bool)
    for version, places in grouped(records.version):
        mechanism = mechanisms[records.versions[version]]
        whole = places[records.lengths[places] % mechanism.row_bytes == 0]
        sound[whole] = _are_readable(records.take(whole), mechanism)
    return sound


def _are_readable(records: Records, mechanism: Mechanism) -> Booleans:
    """Return ``_are_sound`` of complete rows of one version. All are parsed at once, or in halves if that fails."""
    try:
        parsed(mechanism, records.rows())
    except WireError:
        if len(records) == 1:
            return np.zeros(1, dtype=bool)
        half = len(records) // 2
        halves = records.take(slice(half)), records.take(slice(half, None))
        return np.concatenate([_are_readable(part, mechanism) for part in halves])
    return np.ones(len(records), dtype=bool)


def _distinct(records: Records) -> tuple[Records, Records]:
    """Return the record that counts for each id, and the records whose content differs from it."""
    counts = are_first(records.keys)
    batch = np.cumsum(counts)
    several = np.flatnonzero((np.bincount(batch) > 1)[batch])
    of_several = records.take(several)
    content = np.stack([of_several.version, of_several.stratum, of_several.ranks()])
    order = np.lexsort((content[2], of_several.stratum, of_several.day, of_several.version, batch[several]))
    begins = are_first(batch[several][order])
    first = order[begins][np.cumsum(begins) - 1]  # per record in this order: the record that counts for its id
    counts[several] = False
    counts[several[order[begins]]] = True
    alike = (content[:, order] == content[:, first]).all(axis=0)
    return records.where(counts), of_several.take(order[~alike])


def _by_day(records: Records) -> dict[tuple[bytes, int], int]:
    """Return the number of records of each version and day."""
    keys = records.version.astype(np.int64) << 16 | records.day
    return {(records.versions[key >> 16], key & 0xFFFF): len(places) for key, places in grouped(keys)}


def _tallies(records: Records, mechanisms: Mapping[bytes, Mechanism]) -> dict[tuple[bytes, int, int], Blocks]:
    """Return the blocks of each version, day and stratum that has rows."""
    tallies = {}
    keys = records.version.astype(np.int64) << 24 | records.day.astype(np.int64) << 8 | records.stratum
    for key, places in grouped(keys):
        version = records.versions[key >> 24]
        if rows := records.take(places).rows():
            mechanism = mechanisms[version]
            tallies[version, key >> 8 & 0xFFFF, key & 0xFF] = to_blocks(mechanism, fold(mechanism, rows))
    return tallies


def _rows(records: Records, mechanisms: Mapping[bytes, Mechanism]) -> int:
    """Return the number of rows in all records."""
    return sum(
        int(records.lengths[places].sum()) // mechanisms[records.versions[version]].row_bytes
        for version, places in grouped(records.version)
    )
