"""Manifests that cannot be read, and damaged segments, which are skipped so that nothing counts twice."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn

import pytest

from dither_server.store import Store
from dither_shared import ParameterError
from dither_spool.blobs import BlobStore, Folder, SpoolError, blob_store_at
from dither_spool.fold import FoldStep
from dither_spool.manifest import Skipped, skip_damage
from server.collecting import THEME, rows_of, upload
from spool.spooling import (
    FILLED,
    NOW,
    PATIENCE,
    Delivery,
    KilledError,
    assert_same,
    at,
    folded,
    folding,
    put,
    some,
)

MANIFEST = {"format": 1, "begun": NOW.isoformat(), "segments": []}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{", "cannot be read"),
        (b"[]", "cannot be read"),
        ({"format": 2}, "format 2, this program knows 1"),
        ({"segments": ["../../dither.db"]}, "something that is not a segment"),
        ({"begun": "2026-08-01T00:00:00+00:00"}, "the database does not know whether it was counted"),
        ({"begun": "2026-11-21T14:05:09"}, "start time has no time zone"),
        ({"begun": "9999-12-31T23:59:59-14:00"}, "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
    ],
)
def test_invalid_manifest_stops_the_fold(
    counts: Store, blobs: Folder, content: bytes | dict[str, object], why: str
) -> None:
    whole = content if isinstance(content, bytes) else json.dumps(MANIFEST | content).encode()
    blobs.put("runs", "a" * 32 + ".json", whole)
    with pytest.raises(SpoolError, match=why):
        folded(folding(counts, blobs))


def damage(blobs: BlobStore, name: str, batch: bytes) -> None:
    """Change a bit of a segment where it holds a batch."""
    whole = bytearray(blobs.read("segments", name))
    whole[whole.index(batch)] ^= 1
    blobs.put("segments", name, bytes(whole))


def within(deliveries: Sequence[Delivery], *buckets: int) -> list[Delivery]:
    return [delivery for delivery in deliveries if delivery.upload.batch[0] in buckets]


def without(deliveries: Sequence[Delivery], lost: Sequence[Delivery]) -> list[Delivery]:
    gone = {delivery.upload.batch for delivery in lost}
    return [delivery for delivery in deliveries if delivery.upload.batch not in gone]


def skip(store: Store, blobs: BlobStore, *names: str) -> list[Skipped]:
    return list(skip_damage(store, blobs, names, PATIENCE))


def test_damaged_or_missing_segment_stops_the_fold_and_is_named(counts: Store, blobs: Folder) -> None:
    name = put(blobs, [Delivery(upload(THEME, rows_of(THEME, 9), bytes([bucket]) * 16)) for bucket in (1, 255)])
    path = blobs.folder / "segments" / name
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    for _ in range(2):
        with pytest.raises(SpoolError, match=f"{name} is damaged in bucket 255; restore it .* or skip the damage"):
            folded(folding(counts, blobs))
    path.unlink()
    with pytest.raises(SpoolError, match=f"{name} is gone, and not all of it was counted"):
        folded(folding(counts, blobs))
    path.write_bytes(whole)
    assert [report.sums.rows for report in folded(folding(counts, blobs))] == [18, 0]


@pytest.mark.parametrize("where", ["folder", "memory"])
def test_readable_part_of_a_damaged_segment_counts_and_the_rest_when_a_copy_is_put_back(
    where: str, counts: Store, tmp_path: Path
) -> None:
    spool = tmp_path / "spool"
    blobs: BlobStore = Folder(spool) if where == "folder" else blob_store_at(f"memory://skipping/{tmp_path.name}")
    others, held = some(80, 1), some(120, 2)
    put(blobs, others + held[:30])
    name = put(blobs, held)
    copy = blobs.read("segments", name)
    for bucket in (FILLED[3], FILLED[7]):
        damage(blobs, name, within(held, bucket)[0].upload.batch)
    torn = blobs.read("segments", name)
    with pytest.raises(SpoolError, match="is damaged"):
        folded(folding(counts, blobs))
    ((skipped, lost, size),) = skip(counts, blobs, f"spool/segments/{name}")
    assert (skipped, size) == (name, len(copy))
    assert 0 < (lost or 0) < len(copy) / 2
    assert skip(counts, blobs, name) == []  # again, as a script might
    resumed, nothing = folded(folding(counts, blobs))
    missing = within(held[30:], FILLED[3], FILLED[7])
    assert (resumed.resumed, resumed.segments, nothing.segments) == (True, 2, 0)
    assert_same(counts, tmp_path, without(others + held, missing))
    assert blobs.names("segments") == blobs.names("runs") == []
    assert blobs.read("damaged", name.replace(".segment", ".damaged")) == torn
    blobs.put("segments", name, copy)
    (report,) = folded(folding(counts, blobs))
    assert (report.sums.batches, report.sums.repeated) == (len(missing), 120 - len(missing))
    assert_same(counts, tmp_path, others + held)


def test_segment_whose_head_is_damaged_is_skipped_whole(counts: Store, blobs: Folder, tmp_path: Path) -> None:
    put(blobs, others := some(30, 5))
    names = [put(blobs, some(30, 6)), put(blobs, some(3, 7))]
    content = b"?" + blobs.read("segments", names[0])[1:]
    for name, damaged in zip(names, (content, b""), strict=True):
        blobs.put("segments", name, damaged)
        with pytest.raises(SpoolError, match=r"\.segment (is not a segment|ends too early)"):
            folded(folding(counts, blobs))
    assert skip(counts, blobs, *names) == [(names[0], len(content), len(content)), (names[1], 0, 0)]
    assert folding(counts, blobs).plan().sums.batches == 30
    assert folded(folding(counts, blobs))[0].sums.batches == 30
    assert_same(counts, tmp_path, others)


def test_segment_that_is_cut_off_or_gone_amid_a_run_is_skipped(counts: Store, blobs: Folder, tmp_path: Path) -> None:
    put(blobs, others := some(30, 7))
    names = [put(blobs, held := some(60, 8)), put(blobs, more := some(20, 9))]
    copies = [blobs.read("segments", name) for name in names]
    with pytest.raises(KilledError):
        folded(folding(counts, blobs, after=at(FoldStep.REMEMBERED, 3)))
    blobs.put("segments", names[0], copies[0][: copies[0].index(max(delivery.upload.batch for delivery in held))])
    blobs.delete("segments", names[1])
    skipped = skip(counts, blobs, *reversed(names))
    assert [(one, lost is None, size) for one, lost, size in skipped] == [
        (names[1], True, None),
        (names[0], False, len(copies[0])),
    ]
    folded(folding(counts, blobs))
    lost = within(held, FILLED[-1]) + within(more, *FILLED[3:])
    assert_same(counts, tmp_path, without(others + held + more, lost))
    assert len(blobs.names("damaged")) == 1  # of a segment that is gone there is nothing to keep
    for name, copy in zip(names, copies, strict=True):
        blobs.put("segments", name, copy)
    folded(folding(counts, blobs))
    assert_same(counts, tmp_path, others + held + more)


def test_skip_that_is_killed_before_it_replaces_the_segment_may_be_repeated(
    counts: Store, blobs: Folder, tmp_path: Path
) -> None:
    name = put(blobs, held := some(60, 14))
    lost = within(held, FILLED[6])
    damage(blobs, name, lost[0].upload.batch)
    torn = blobs.read("segments", name)

    class Killed(Folder):
        def put(self, kind: str, name: str, content: bytes) -> None:
            if kind == "segments":
                raise KilledError
            super().put(kind, name, content)

    for _ in range(2):
        with pytest.raises(KilledError):
            skip(counts, Killed(blobs.folder), name)
    assert blobs.read("damaged", name.replace(".segment", ".damaged")) == blobs.read("segments", name) == torn
    skip(counts, blobs, name)
    folded(folding(counts, blobs))
    assert_same(counts, tmp_path, without(held, lost))


def test_only_damaged_segments_are_skipped(counts: Store, blobs: Folder, tmp_path: Path) -> None:
    name = put(blobs, sent := some(20, 12))
    blobs.put("segments", "README", b"not ours")
    for other in ("README", "f" * 32 + ".segment", "../dither.db", ""):
        with pytest.raises(ParameterError, match=r"--skip: .*segments holds no"):
            skip(counts, blobs, other)
    with pytest.raises(ParameterError, match=f"{name} is not damaged; the next fold counts it"):
        skip(counts, blobs, name)
    with pytest.raises(KilledError):
        folded(folding(counts, blobs, after=at(FoldStep.ADDED, 3)))
    with pytest.raises(ParameterError, match="is not damaged"):
        skip(counts, blobs, name)
    folded(folding(counts, blobs))
    assert_same(counts, tmp_path, sent)


class Offline(Folder):
    """A store whose files exist, but cannot be read now."""

    def open(self, kind: str, name: str) -> BinaryIO:
        class Broken:
            seek = close = staticmethod(lambda *_: None)

            def read(self, *_: int) -> NoReturn:
                raise OSError(5, "offline")

        return Broken() if kind == "segments" else super().open(kind, name)  # type: ignore[return-value]  # what is asked


def test_segment_that_cannot_be_read_at_this_time_is_not_skipped(counts: Store, blobs: Folder) -> None:
    name = put(blobs, some(20, 13))
    content = blobs.read("segments", name)
    with pytest.raises(SpoolError, match="cannot be read"):
        skip(counts, Offline(blobs.folder), name)
    assert (blobs.read("segments", name), blobs.names("damaged")) == (content, [])
