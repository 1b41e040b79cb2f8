"""The ids of counted batches, in files by bucket and day."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import NoReturn

import pytest

from dither_spool import ids as module
from dither_spool.blobs import BlobStore, Folder, SpoolError, blob_store_at
from dither_spool.ids import add, forget, read
from dither_spool.records import Ids
from spool.deliveries import ids_of

BUCKET = 0x0A
KIND = f"ids/{BUCKET:02x}"
NAME = "09000-09000-one.ids"


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    return Folder(tmp_path / "spool")


def some(first: int, last: int) -> Ids:
    """Ids of the bucket with these numbers."""
    return ids_of(bytes([BUCKET]) + number.to_bytes(15, "big") for number in range(first, last))


def held(blobs: BlobStore, bucket: int = BUCKET) -> list[bytes]:
    """Return all ids that are read, in order; assert that each part ascends."""
    parts = list(read(blobs, bucket))
    for part in parts:
        assert part.tobytes() == ids_of(batch_id.tobytes() for batch_id in part).tobytes()
    return sorted(batch_id.tobytes() for part in parts for batch_id in part)


def bytes_of(*parts: Ids) -> list[bytes]:
    return sorted(batch_id.tobytes() for part in parts for batch_id in part)


@pytest.mark.parametrize("where", ["folder", "memory"])
def test_ids_are_read_in_their_bucket_alone(where: str, tmp_path: Path) -> None:
    blobs: BlobStore = Folder(tmp_path) if where == "folder" else blob_store_at(f"memory://{tmp_path.name}")
    assert list(read(blobs, BUCKET)) == []
    assert forget(blobs, 45, 10_045) == 0
    add(blobs, BUCKET, "one", some(0, 5), 9_000)
    add(blobs, BUCKET, "two", some(5, 6), 9_001)
    add(blobs, BUCKET + 1, "two", some(100, 101), 9_000)
    add(blobs, BUCKET, "two", some(0, 0), 9_002)
    assert held(blobs) == bytes_of(some(0, 6))
    assert held(blobs, BUCKET + 1) == bytes_of(some(100, 101))
    assert held(blobs, BUCKET + 2) == []
    assert blobs.names(KIND) == ["09000-09000-one.ids", "09001-09001-two.ids"]


def test_runs_of_one_day_leave_one_sorted_file(blobs: BlobStore) -> None:
    for run, ids in enumerate([some(10, 20), some(0, 12), some(30, 31)]):
        add(blobs, BUCKET, f"{run}", ids, 9_000)
    assert blobs.names(KIND) == ["09000-09000-2.ids"]
    assert held(blobs) == bytes_of(some(0, 20), some(30, 31))
    add(blobs, BUCKET, "2", some(5, 7), 9_000)  # by a run that has lost its lock
    assert held(blobs) == bytes_of(some(0, 20), some(30, 31))


def test_add_that_is_killed_before_it_deletes_loses_nothing(blobs: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def delete(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    add(blobs, BUCKET, "one", some(0, 2), 9_000)
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "delete", delete)
        with pytest.raises(KeyboardInterrupt):
            add(blobs, BUCKET, "two", some(2, 4), 9_000)
    assert sorted(set(held(blobs))) == bytes_of(some(0, 4))
    add(blobs, BUCKET, "three", some(4, 5), 9_000)
    assert len(blobs.names(KIND)) == 1
    assert held(blobs) == bytes_of(some(0, 5))


def test_large_files_are_read_in_parts(blobs: BlobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", 7)
    for day, count in enumerate((6, 7, 8, 14, 50)):
        add(blobs, day, "run", some(0, count), 9_000)
        assert held(blobs, day) == bytes_of(some(0, count))
    assert [len(part) for part in read(blobs, 4)] == [7] * 7 + [1]


def damages(content: bytes) -> Mapping[str, bytes]:
    return {
        "empty": b"",
        "half a head": content[:10],
        "head alone": content[:20],
        "torn in an id": content[:-5],
        "torn in the first": content[:29],
        "torn after an id": content[:-16],
        "longer": content + content[-16:],
        "another kind": b"x" + content[1:],
        "one bit": content[:-1] + bytes([content[-1] ^ 1]),
        "a count": content[:8] + bytes([content[8] ^ 1]) + content[9:],
    }


def test_damaged_file_of_ids_is_refused_by_its_name(blobs: BlobStore) -> None:
    add(blobs, BUCKET, "one", some(0, 50), 9_000)
    content = blobs.read(KIND, NAME)
    for damage, damaged in damages(content).items():
        blobs.put(KIND, NAME, damaged)
        for use in (lambda: list(read(blobs, BUCKET)), lambda: add(blobs, BUCKET, "two", some(0, 9), 9_000)):
            with pytest.raises(SpoolError, match=f"{KIND}/{NAME} .*; restore it"):
                use()
        assert blobs.names(KIND) == [NAME], damage
    blobs.put(KIND, NAME, content[:-16])
    with pytest.raises(SpoolError, match="has 784 bytes of ids, not 800"):
        list(read(blobs, BUCKET))
    blobs.put(KIND, NAME, content)
    assert held(blobs) == bytes_of(some(0, 50))


class Dripping(BytesIO):
    """A file whose reads return at most some bytes; it fails if that is none."""

    def __init__(self, content: bytes, most: int) -> None:
        super().__init__(content)
        self.most = most

    def read(self, size: int | None = -1) -> bytes:
        if not self.most:
            raise ConnectionResetError
        return super().read(self.most if size is None or size < 0 else min(size, self.most))


def test_file_that_vanishes_fails_or_comes_in_pieces(blobs: BlobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    add(blobs, BUCKET, "one", some(0, 50), 9_000)
    add(blobs, BUCKET, "one", some(50, 59), 9_001)
    content = blobs.read(KIND, NAME)
    parts = read(blobs, BUCKET)
    assert len(next(parts)) == 50
    blobs.delete(KIND, "09001-09001-one.ids")
    with pytest.raises(SpoolError, match=r"09001-09001-one\.ids is gone"):
        next(parts)
    for most, why in ((0, r"cannot be read \(ConnectionResetError\)"), (40, "ends within an id")):
        monkeypatch.setattr(type(blobs), "open", lambda *_, most=most: Dripping(content, most))
        with pytest.raises(SpoolError, match=f"{NAME} {why}"):
            list(read(blobs, BUCKET))
    monkeypatch.setattr(type(blobs), "open", lambda *_: Dripping(content, 32))
    assert held(blobs) == bytes_of(some(0, 50))


def test_forget_deletes_what_is_older_than_the_horizon_in_all_buckets(blobs: BlobStore) -> None:
    for day in range(9_000, 9_010):
        add(blobs, BUCKET, "run", some(day, day + 2), day)
        add(blobs, 255, "run", some(day, day + 1), day)
    other = "what these are"
    blobs.put(KIND, "README", other.encode())
    assert forget(blobs, 6, 9_009) == 6
    assert held(blobs) == bytes_of(*(some(day, day + 2) for day in range(9_003, 9_010)))
    assert len(held(blobs, 255)) == 7
    assert forget(blobs, 6, 9_009) == 0
    assert blobs.read(KIND, "README") == other.encode()


def test_clock_that_jumps_ages_ids_by_a_week_at_most(blobs: BlobStore) -> None:
    for day in range(9_000, 9_040):
        add(blobs, BUCKET, "run", some(day, day + 1), day)
    for jump in (46, 47, 3_650):  # on two days and more: nothing was folded between
        add(blobs, BUCKET, "jump", some(0, 1), 9_039 + jump)
        assert forget(blobs, 45, 9_039 + jump) == {46: 1, 47: 1, 3_650: 7}[jump]
    assert forget(blobs, 45, 9_041) == 0  # set right: ids of days that are yet to come say nothing


@pytest.mark.parametrize("behind", [46, 3_650])
def test_ids_of_a_clock_that_was_behind_are_kept_for_the_horizon(blobs: BlobStore, behind: int) -> None:
    """A run notes its own day and the latest that its bucket knew; a later clock shows which of them was wrong."""
    add(blobs, BUCKET, "right", some(0, 2), 9_000)
    add(blobs, BUCKET, "behind", some(2, 4), 9_000 - behind)
    add(blobs, 255, "behind", some(4, 6), 9_000 - behind)  # where there was none it grows old a week sooner
    for day in range(9_001, 9_046):
        add(blobs, BUCKET, f"{day}", some(day, day + 1), day)
        assert forget(blobs, 45, day) == (1 if day == 9_039 else 0)
    assert held(blobs, 255) == []
    assert forget(blobs, 45, 9_046) == 2
    assert len(held(blobs)) == 45


def test_ids_of_a_clock_that_was_behind_age_from_the_latest_day_of_their_bucket(blobs: BlobStore) -> None:
    """On that day they count as young as its own ids, although ids of 49 other days lie between."""
    for day in range(8_951, 9_001, 7):
        add(blobs, BUCKET, "right", some(day, day + 1), day)
    add(blobs, BUCKET, "behind", some(0, 1), 5_350)
    assert forget(blobs, 45, 9_000) == 1
    assert held(blobs) == bytes_of(some(0, 1), *(some(day, day + 1) for day in range(8_958, 9_001, 7)))


def test_ids_of_a_clock_that_was_ahead_keep_none_of_the_others(blobs: BlobStore) -> None:
    add(blobs, BUCKET, "ahead", some(0, 1), 12_000)
    for day in range(9_000, 9_050):
        add(blobs, BUCKET, f"{day}", some(day, day + 1), day)
        forget(blobs, 45, day)
    assert held(blobs) == bytes_of(some(0, 1), *(some(day, day + 1) for day in range(9_004, 9_050)))
