"""The ids that were counted: files by bucket, day and run."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from dither_server.ingest.folding import seen as module
from dither_server.ingest.folding.seen import forget, merge, newest, read, write
from dither_server.ingest.folding.table import Ids
from dither_server.store.errors import SpoolError
from dither_server.store.spool.places import Folder, Place, place_at
from server.ingest.folding.deliveries import ids_of

BUCKET = 0x0A


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "folder":
        return Folder(tmp_path / "spool")
    pytest.importorskip("fsspec")
    return place_at(f"memory://{tmp_path.name}")


def some(first: int, last: int) -> Ids:
    """Ids of the bucket with these numbers."""
    return ids_of(bytes([BUCKET]) + number.to_bytes(15, "big") for number in range(first, last))


def held(place: Place, bucket: int = BUCKET, run: str = "") -> list[bytes]:
    """All ids that are read, in order."""
    parts = list(read(place, bucket, run))
    for part in parts:
        assert part.shape[1:] == (16,)
        assert part.tobytes() == ids_of(one.tobytes() for one in part).tobytes()
    return sorted(one.tobytes() for part in parts for one in part)


def bytes_of(*parts: Ids) -> list[bytes]:
    return sorted(one.tobytes() for part in parts for one in part)


def names(place: Place) -> list[str]:
    return place.names(f"ids/{BUCKET:02x}")


def test_nothing_was_seen_at_first(place: Place) -> None:
    assert list(read(place, BUCKET)) == []
    merge(place, BUCKET)
    assert forget(place, 45, 10_045) == 0
    write(place, BUCKET, "run", {})
    assert names(place) == []


def test_what_is_written_is_read_in_its_bucket_alone(place: Place) -> None:
    write(place, BUCKET, "one", {9_000: some(0, 5), 9_001: some(5, 6)})
    write(place, BUCKET, "two", {9_000: some(6, 7)})
    write(place, BUCKET + 1, "two", {9_000: some(100, 101)})
    assert held(place) == bytes_of(some(0, 7))
    assert held(place, BUCKET + 1) == bytes_of(some(100, 101))
    assert held(place, BUCKET + 2) == []
    assert names(place) == ["09000-one.ids", "09000-two.ids", "09001-one.ids"]


def test_a_run_that_begins_again_does_not_find_its_own_ids(place: Place) -> None:
    write(place, BUCKET, "one", {9_000: some(0, 5)})
    write(place, BUCKET, "two", {9_000: some(5, 9)})
    assert held(place, run="two") == bytes_of(some(0, 5))


def test_what_a_run_has_written_stays_as_it_is(place: Place) -> None:
    write(place, BUCKET, "one", {9_000: some(0, 5)})
    write(place, BUCKET, "one", {9_000: some(0, 5), 9_001: some(5, 8)})
    write(place, BUCKET, "one", {9_000: some(0, 2)})
    assert held(place) == bytes_of(some(0, 8))


def test_large_files_are_read_in_parts(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 7)
    for count in (6, 7, 8, 14, 50):
        write(place, BUCKET, f"run{count}", {9_000: some(0, count)})
        assert sum(len(part) for part in read(place, BUCKET)) == count
        assert held(place) == bytes_of(some(0, count))
        place.delete(f"ids/{BUCKET:02x}", f"09000-run{count}.ids")
    write(place, BUCKET, "most", {9_000: some(0, 50)})
    assert [len(part) for part in read(place, BUCKET)] == [7] * 7 + [1]


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


@pytest.mark.parametrize("damage", damages(bytes(40)))
def test_a_damaged_file_is_refused_by_its_name(place: Place, damage: str) -> None:
    kind, name = f"ids/{BUCKET:02x}", "09000-one.ids"
    write(place, BUCKET, "one", {9_000: some(0, 50)})
    with place.open(kind, name) as file:
        content = file.read()
    place.put(kind, name, damages(content)[damage])
    for use in (lambda: list(read(place, BUCKET)), lambda: merge(place, BUCKET, 0)):
        with pytest.raises(SpoolError, match=f"{kind}/{name} .*; restore it"):
            use()
    assert names(place) == [name]
    place.put(kind, name, content)
    assert held(place) == bytes_of(some(0, 50))


def test_a_file_that_goes_meanwhile_or_cannot_be_read_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    write(place, BUCKET, "one", {9_000: some(0, 5), 9_001: some(5, 9)})
    parts = read(place, BUCKET)
    assert len(next(parts)) == 5
    place.delete(f"ids/{BUCKET:02x}", "09001-one.ids")
    with pytest.raises(SpoolError, match=r"09001-one\.ids is gone"):
        next(parts)
    monkeypatch.setattr(type(place), "open", lambda *_: Broken())
    with pytest.raises(SpoolError, match=r"09000-one.ids cannot be read \(ConnectionResetError\)"):
        list(read(place, BUCKET))


def test_a_file_that_comes_in_pieces_is_read_whole_or_not_at_all(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    write(place, BUCKET, "one", {9_000: some(0, 50)})
    with place.open(f"ids/{BUCKET:02x}", "09000-one.ids") as file:
        content = file.read()
    monkeypatch.setattr(type(place), "open", lambda *_: Dripping(content, 32))
    assert held(place) == bytes_of(some(0, 50))
    monkeypatch.setattr(type(place), "open", lambda *_: Dripping(content, 40))
    with pytest.raises(SpoolError, match=r"09000-one\.ids ends within an id"):
        list(read(place, BUCKET))


class Dripping(BytesIO):
    """A file of which not more than some bytes come at a time."""

    def __init__(self, content: bytes, most: int) -> None:
        super().__init__(content)
        self.most = most

    def read(self, size: int | None = -1) -> bytes:
        return super().read(self.most if size is None or size < 0 else min(size, self.most))


class Broken(BytesIO):
    """A file of a peer that hangs up."""

    def read(self, _size: int | None = -1) -> bytes:
        raise ConnectionResetError


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Folder(tmp_path)
    write(place, BUCKET, "one", {9_000: some(0, 5)})

    def fail(*_: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(SpoolError, match="No space left"):
            write(place, BUCKET, "two", {9_000: some(5, 9)})
    assert [path.name for path in (tmp_path / "ids" / "0a").iterdir()] == ["09000-one.ids"]
    (tmp_path / "ids" / "0a" / ".4711.part").write_bytes(b"torn")  # as a power cut leaves it
    assert held(place) == bytes_of(some(0, 5))


def test_forgetting_deletes_what_is_older_than_the_horizon_in_all_buckets(place: Place) -> None:
    for day in range(9_000, 9_010):
        write(place, BUCKET, "run", {day: some(day, day + 2)})
        write(place, 255, "run", {day: some(day, day + 1)})
    assert forget(place, 6, 9_009) == 6
    assert held(place) == bytes_of(*(some(day, day + 2) for day in range(9_003, 9_010)))
    assert len(held(place, 255)) == 7
    assert forget(place, 6, 9_009) == 0


def test_a_clock_that_jumps_makes_ids_a_week_older_at_the_most(place: Place) -> None:
    for day in range(9_000, 9_040):
        write(place, BUCKET, "run", {day: some(day, day + 1)})
    for jump in (46, 47, 3_650):  # on two days and more: nothing was folded between
        write(place, BUCKET, "jump", {9_039 + jump: some(0, 1)})
        assert forget(place, 45, 9_039 + jump) == {46: 1, 47: 1, 3_650: 7}[jump]
    assert forget(place, 45, 9_041) == 0  # set right: ids of days that are yet to come say nothing


def test_where_folds_are_rare_ids_are_as_old_as_they_look(place: Place) -> None:
    for day in range(9_000, 9_100, 7):
        write(place, BUCKET, "run", {day: some(day, day + 1)})
        forget(place, 45, day)
    assert len(held(place)) == 7


@pytest.mark.parametrize("behind", [46, 3_650])
def test_ids_of_a_run_whose_clock_was_behind_grow_old_from_the_day_that_was_known(place: Place, behind: int) -> None:
    """The run wrote them as of its own day and of the latest that it found; which was wrong, a later clock tells."""
    write(place, BUCKET, "right", {9_000: some(0, 2)}, 9_000, newest(place))
    write(place, BUCKET, "behind", {9_000 - behind: some(2, 4)}, 9_000 - behind, newest(place))
    write(place, 255, "behind", {9_000 - behind: some(4, 6)}, 9_000 - behind, newest(place))
    for day in range(9_001, 9_046):
        write(place, BUCKET, f"{day}", {day: some(day, day + 1)}, day, newest(place))
        merge(place, BUCKET, 1)
        assert forget(place, 45, day) == 0
    assert forget(place, 45, 9_046) == 3
    assert (len(held(place)), held(place, 255)) == (45, [])


def test_ids_of_a_run_whose_clock_was_ahead_keep_none_of_the_others(place: Place) -> None:
    write(place, BUCKET, "ahead", {12_000: some(0, 1)}, 12_000, newest(place))
    for day in range(9_000, 9_050):
        write(place, BUCKET, f"{day}", {day: some(day, day + 1)}, day, newest(place))
        merge(place, BUCKET)
        forget(place, 45, day)
    assert held(place) == bytes_of(some(0, 1), *(some(day, day + 1) for day in range(9_004, 9_050)))


def test_many_files_of_a_day_become_one_and_few_of_the_newest_wait(place: Place) -> None:
    for run in range(5):
        write(place, BUCKET, f"{run}", {9_001: some(10 * run, 10 * run + 12)})  # two ids of each are in the next, too
    for run in range(2):
        write(place, BUCKET, f"{run}", {9_000: some(100 + run, 101 + run), 8_000 + run: some(200 + run, 201 + run)})
    merge(place, BUCKET, 5)
    assert [name[:5] for name in names(place)] == ["08000", "08001", "09000"] + ["09001"] * 5
    assert {"08000-0.ids", "08001-1.ids", "09001-3.ids"} < set(names(place))
    right = bytes_of(some(0, 52), some(100, 102), some(200, 202))
    assert sorted(set(held(place))) == right
    merge(place, BUCKET, 4)
    assert [name[:5] for name in names(place)] == ["08000", "08001", "09000", "09001"]
    assert held(place) == right
    before = names(place)
    merge(place, BUCKET)
    assert names(place) == before


def test_a_merge_that_is_killed_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Folder(tmp_path)
    for run in range(4):
        write(place, BUCKET, f"{run}", {9_000: some(run, run + 1)})
    left = 0

    def delete(self: Folder, kind: str, name: str) -> None:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        (self.path / kind / name).unlink()

    for deletions in range(4):
        left = deletions
        with monkeypatch.context() as patch:
            patch.setattr(Folder, "delete", delete)
            with pytest.raises(KeyboardInterrupt):
                merge(place, BUCKET, 1)
        assert sorted(set(held(place))) == bytes_of(some(0, 4))
    merge(place, BUCKET, 1)
    assert len(names(place)) == 1
    assert held(place) == bytes_of(some(0, 4))


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    write(place, BUCKET, "one", {9_000: some(0, 5), 9_001: some(5, 6), 9_002: some(6, 7)})
    other = tmp_path / "ids" / "0a" / "README"
    other.write_text("what these are", encoding="utf-8")
    merge(place, BUCKET, 0)
    assert forget(place, 0, 9_001) == 1
    assert other.exists()
    assert held(place) == bytes_of(some(5, 7))


def test_a_list_of_no_ids_is_written_and_read(place: Place) -> None:
    write(place, BUCKET, "one", {9_000: np.empty((0, 16), dtype=np.uint8)})
    assert list(read(place, BUCKET)) == []
    merge(place, BUCKET, 0)
    assert held(place) == []
