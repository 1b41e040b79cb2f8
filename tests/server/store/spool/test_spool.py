import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest

from dither_server.ingest.folding.run import Folding
from dither_server.store import Refusal, StoreError
from dither_server.store.errors import SpoolError
from dither_server.store.spool.database_link import DatabaseLink
from dither_server.store.spool.owner import claim
from dither_server.store.spool.places import Folder, place_at
from dither_server.store.spool.records import number_of
from dither_server.store.spool.rooms import Rooms, rooms_at
from dither_server.store.spool.spool import Spool
from server.collecting import COUNTED, DISABLED, MOBILE, THEME, TODAY, VERSION, rows_of, upload
from server.database import url_of
from server.ingest.folding.runs import opened
from server.store.spool.spooling import Database, ids_in, in_place
from torture.trouble import can_fill, small_disk

PATIENCE = 60.0
SHARD = b"s" * 16


class Watched(Folder):
    """A folder that tells of each file that is put, and of each beat of the spool: then it is asked what is in there.

    Its room may be set.
    """

    def watch(self) -> "Watched":
        self.leave(None)
        object.__setattr__(self, "written", threading.Semaphore(0))
        object.__setattr__(self, "asked", threading.Semaphore(0))
        return self

    def leave(self, room: int | None) -> None:
        object.__setattr__(self, "room", room)

    def free_bytes(self) -> int | None:
        return super().free_bytes() if self.room is None else self.room  # type: ignore[attr-defined]

    def bytes_of(self, kind: str) -> int:
        self.asked.release()  # type: ignore[attr-defined]
        return super().bytes_of(kind)

    def put(self, kind: str, name: str, content: bytes) -> None:
        super().put(kind, name, content)
        self.written.release()  # type: ignore[attr-defined]


def made(folder: Path, size: int = 1 << 20, seconds: float = 300.0, database: Database | None = None) -> Spool:
    rooms = Rooms(Watched(folder).watch(), folder / "open")
    return Spool(DatabaseLink(database or Database()), rooms, size, seconds)


def wait_for_beats(spool: Spool, count: int) -> None:
    """Wait until so many more have begun."""
    asked = spool.rooms.place.asked  # type: ignore[attr-defined]
    while asked.acquire(blocking=False):
        pass
    for _ in range(count):
        assert asked.acquire(timeout=PATIENCE)


def wait_for_segment(spool: Spool) -> None:
    assert spool.rooms.place.written.acquire(timeout=PATIENCE)  # type: ignore[attr-defined]


def test_what_is_acknowledged_stands_in_a_segment_when_it_is_closed(tmp_path: Path) -> None:
    with closing(made(tmp_path)) as spool:
        groups = [[upload() for _ in range(count)] for count in (1, 3, 512)]
        for number, group in enumerate(groups):
            day = TODAY + timedelta(days=number // 2)
            assert spool.commit(group, day, SHARD) == [COUNTED] * len(group)
        assert spool.rooms.backlog().segments == 0
        assert spool.rooms.backlog().open_bytes > 516 * 29
        assert not spool.tend()
        assert not spool.forget(TODAY)
    found = in_place(Folder(tmp_path))
    assert ids_in(found) == {one.batch for group in groups for one in group}
    assert {one[2] for one in found} == {number_of(TODAY), number_of(TODAY) + 1}
    assert list((tmp_path / "open").glob("*.journal")) == []


def test_a_spool_that_is_gone_is_told_of_although_it_is_made_anew(tmp_path: Path) -> None:
    """A disk that is no longer mounted: what stands there looks as empty as a spool that was just folded."""
    here = tmp_path / "spool"
    with closing(made(here)) as spool:
        claim(spool.rooms.place, "0" * 32)
        assert spool.backlog() == spool.rooms.backlog()
        here.rename(tmp_path / "elsewhere")
        for _ in range(2):
            with pytest.raises(SpoolError, match=r"spool: what a collector made at .*spool is gone"):
                spool.backlog()
            (here / "open").mkdir(parents=True, exist_ok=True)


def test_a_full_journal_is_closed_while_others_are_written(tmp_path: Path) -> None:
    with closing(made(tmp_path, size=2_000)) as spool:
        uploads = [upload() for _ in range(200)]
        for one in uploads:
            spool.commit([one], TODAY, SHARD)
        wait_for_segment(spool)
    found = in_place(Folder(tmp_path))
    assert ids_in(found) == {one.batch for one in uploads}
    assert set(found.values()) == {1}
    assert len(Folder(tmp_path).names("segments")) >= 200 * 47 // 2_100


def test_an_old_journal_is_closed_although_nothing_comes(tmp_path: Path) -> None:
    with closing(made(tmp_path, seconds=0.01)) as spool:
        spool.commit([upload()], TODAY, SHARD)
        wait_for_segment(spool)
        assert len(in_place(Folder(tmp_path))) == 1


def test_a_batch_of_a_gateway_may_be_larger_than_a_journal(tmp_path: Path) -> None:
    many = upload(VERSION, rows_of(VERSION, 10_000))
    with closing(made(tmp_path, size=1_000)) as spool:
        spool.commit([many, upload(MOBILE)], TODAY, SHARD)
    assert many.rows in {one[4] for one in in_place(Folder(tmp_path))}


def test_a_start_closes_the_journals_of_the_dead_and_no_other(tmp_path: Path) -> None:
    dead, living = made(tmp_path), made(tmp_path)
    first, second = upload(), upload()
    dead.commit([first], TODAY, SHARD)
    living.commit([second], TODAY, SHARD)
    die(dead, tmp_path)
    with closing(made(tmp_path)) as spool:
        spool.start()
        wait_for_segment(spool)
        assert ids_in(in_place(Folder(tmp_path))) == {first.batch}
    living.close()
    assert ids_in(in_place(Folder(tmp_path))) == {first.batch, second.batch}


def die(spool: Spool, folder: Path) -> None:
    """End a spool as kill -9 would leave it: no segment, a journal that nobody holds."""
    (folder / "segments").write_text("in the way")
    spool.close()
    (folder / "segments").unlink()


def test_two_at_one_spool_keep_to_their_own(tmp_path: Path) -> None:
    with closing(made(tmp_path, size=500)) as one, closing(made(tmp_path, size=500)) as other:
        uploads = [upload() for _ in range(60)]
        for number, each in enumerate(uploads):
            for sink in (one, other)[: 1 + (number % 3 == 0)]:  # a third is sent to both
                sink.commit([each], TODAY, SHARD)
    found = in_place(Folder(tmp_path))
    assert sorted(found.values()) == [1] * 40 + [2] * 20
    assert ids_in(found) == {one.batch for one in uploads}


def test_disabled_versions_are_refused_as_soon_as_it_is_known(tmp_path: Path) -> None:
    database = Database()
    database.versions = {MOBILE.version: TODAY}
    with closing(made(tmp_path, database=database)) as spool:
        assert spool.commit([upload(), upload(MOBILE)], TODAY, SHARD) == [COUNTED, DISABLED]
        assert spool.commit([upload(MOBILE)], TODAY, SHARD) == [DISABLED]
        database.failure = StoreError("database: gone")  # who cannot ask goes by what is known
        assert spool.commit([upload(), upload(MOBILE)], TODAY, SHARD) == [COUNTED, DISABLED]
    assert {one[1].hex() for one in in_place(Folder(tmp_path))} == {THEME.version}


def test_nothing_is_taken_before_it_is_known_what_is_disabled(tmp_path: Path) -> None:
    database = Database()
    database.failure = StoreError("database: gone")
    with closing(made(tmp_path, database=database)) as spool:
        with pytest.raises(StoreError, match="gone"):
            spool.commit([upload()], TODAY, SHARD)
        with pytest.raises(StoreError, match="gone"):
            spool.require_writable()
    assert not in_place(Folder(tmp_path))


@contextmanager
def full(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Meanwhile no journal can be written."""

    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with patch.context() as here:
        here.setattr("os.pwrite", fail)
        yield


def test_a_full_disk_takes_nothing_says_so_and_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(made(tmp_path)) as spool:
        kept, lost, later = upload(), upload(), upload()
        spool.commit([kept], TODAY, SHARD)
        with full(monkeypatch):
            for _ in range(3):
                with pytest.raises(SpoolError, match="No space left"):
                    spool.commit([lost], TODAY, SHARD)
            with pytest.raises(SpoolError, match="No space left"):
                spool.require_writable()
        assert spool.commit([later], TODAY, SHARD) == [COUNTED]
        spool.require_writable()
        assert len(list((tmp_path / "open").glob("*.journal"))) == 1
    assert ids_in(in_place(Folder(tmp_path))) == {kept.batch, later.batch}


def test_who_is_not_ready_tries_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(made(tmp_path, seconds=0.001)) as spool:
        spool.commit([upload()], TODAY, SHARD)
        with full(monkeypatch), pytest.raises(SpoolError, match="No space left"):
            spool.commit([upload()], TODAY, SHARD)
        wait_for_beats(spool, 2)
        spool.require_writable()


def test_a_disk_that_is_nearly_full_is_told_before_it_is(tmp_path: Path) -> None:
    with closing(made(tmp_path)) as spool:
        spool.rooms.place.leave(spool.rooms.needed() + (3 << 20))  # type: ignore[attr-defined]
        spool.start()
        wait_for_beats(spool, 2)  # the first is over then
        with pytest.raises(SpoolError, match=r"nearly full, 5 MB are free"):
            spool.require_writable()
        assert spool.commit([upload()], TODAY, SHARD) == [COUNTED]


def test_nothing_is_taken_that_a_fold_would_have_no_room_for(tmp_path: Path) -> None:
    (tmp_path / "segments").mkdir()
    (tmp_path / "segments" / f"{'a' * 32}.segment").write_bytes(bytes(10 << 20))  # as much as its ids may take
    with closing(made(tmp_path)) as spool:
        for room, taken in ((13 << 20, False), (15 << 20, True), (0, False), (15 << 20, True)):
            spool.rooms.place.leave(room)  # type: ignore[attr-defined]
            if taken:
                assert spool.commit([upload()], TODAY, SHARD) == [COUNTED]
            else:
                with pytest.raises(SpoolError, match=r"spool: full, .* MB are free .* run dither-server fold"):
                    spool.commit([upload()], TODAY, SHARD)
    (tmp_path / "segments" / f"{'a' * 32}.segment").unlink()
    assert len(in_place(Folder(tmp_path))) == 2


def filled(spool: Spool) -> int:
    """Append batches until none is taken any more; return how many were."""
    taken = 0
    with suppress(SpoolError):
        while True:
            taken += len(spool.commit([upload(rows=b"\x00") for _ in range(400)], TODAY, SHARD))
    with pytest.raises(SpoolError, match="spool: full, "):
        spool.commit([upload(rows=b"\x00")], TODAY, SHARD)
    return taken


@pytest.mark.skipif(can_fill() is not None, reason=can_fill() or "")
def test_a_disk_that_only_holds_the_spool_is_freed_by_a_fold(tmp_path: Path) -> None:
    """Nothing is deleted by hand, and all that was taken is counted."""
    with small_disk(tmp_path / "small", 8_000) as disk, closing(opened(url_of(tmp_path))) as counts:
        spool = made(disk, 200_000)
        taken = 0
        with closing(spool):
            for beats in (0, 2):
                wait_for_beats(spool, beats)
                taken += (more := filled(spool))
                assert more > 20_000
                list(Folding(counts, spool.rooms.place).fold(PATIENCE))
        list(Folding(counts, spool.rooms.place).fold(PATIENCE))
        assert counts.tally(THEME).total == taken


def test_what_cannot_be_a_segment_yet_is_told_and_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "segments").mkdir()
    with closing(made(tmp_path, size=1)) as spool:
        (tmp_path / "segments").rmdir()
        (tmp_path / "segments").write_text("in the way")
        spool.commit([upload()], TODAY, SHARD)
        wait_for_beats(spool, 2)
        with pytest.raises(SpoolError, match="segments"):
            spool.require_writable()
        (tmp_path / "segments").unlink()
        spool.commit([upload()], TODAY, SHARD)  # which wakes the thread
        wait_for_segment(spool)
        wait_for_segment(spool)
    assert len(in_place(Folder(tmp_path))) == 2
    assert caplog.text.count("cannot be written") == 1


def test_refusals_go_to_the_database(tmp_path: Path) -> None:
    database = Database()
    with closing(made(tmp_path, database=database)) as spool:
        refused = {Refusal("theme", TODAY, "malformed", ""): 3}
        spool.add_refusals(refused, SHARD)
    assert database.refusals == refused


def test_an_unusable_folder_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "open").write_text("")
    with pytest.raises(SpoolError, match="open cannot be made"):
        Spool(DatabaseLink(Database()), rooms_at(str(tmp_path)), 1 << 20, 300.0)


def test_a_spool_in_an_object_store_keeps_what_is_open_here(tmp_path: Path) -> None:
    rooms = Rooms(place_at("memory://bucket/spool"), tmp_path)
    one = upload()
    with closing(Spool(DatabaseLink(Database()), rooms, 1 << 20, 300.0)) as spool:
        spool.commit([one], TODAY, SHARD)
    assert ids_in(in_place(rooms.place)) == {one.batch}
    assert [file.name for file in tmp_path.iterdir()] == ["lock"]
