"""The sink of a collector that appends: its journals, its link to the database, and its gauges."""

import logging
import threading
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dither_server.prometheus import Prometheus
from dither_server.store import Refusal, StoreError
from dither_spool.blobs import Folder, SpoolError
from dither_spool.fold import Folding
from dither_spool.layout import Backlog, SpoolLayout, claim
from dither_spool.records import number_of
from dither_spool.sink import DatabaseLink, SpoolSink, spool_gauges
from server.collecting import COUNTED, DISABLED, MOBILE, THEME, TODAY, upload
from server.database import url_of
from spool.spooling import HORIZON, Database, ids_in, in_place, opened
from torture.trouble import can_fill, small_disk

PATIENCE = 60.0
SHARD = b"s" * 16
MALFORMED = Refusal("theme", TODAY, "malformed")


def test_disabled_versions_are_read_again() -> None:
    database = Database()
    with closing(DatabaseLink(*database.link, 0.001)) as link:
        assert not link.disabled()
        link.start()
        database.versions = {MOBILE.version: TODAY}
        while database.asked.acquire(blocking=False):
            pass  # it asked that, maybe more than once, before there was an answer
        for _ in range(3):  # a reading may have begun before; the next begins after; a third says that it has ended
            assert database.asked.acquire(timeout=PATIENCE)
        assert set(link.disabled()) == {MOBILE.version}


def test_disabled_versions_stay_known_while_the_database_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    database = Database()
    database.versions = {MOBILE.version: TODAY}
    link = DatabaseLink(*database.link)
    database.failure = StoreError("database: gone")
    with pytest.raises(StoreError, match="gone"):
        link.disabled()  # nothing is known yet
    database.failure = None
    link.sync()
    database.failure, database.versions = StoreError("database: gone"), {THEME.version: TODAY}
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            link.sync()
        assert set(link.disabled()) == {MOBILE.version}
        assert [record.getMessage() for record in caplog.records] == [
            "the database is gone, and reports are appended without it: database: gone"
        ]
        database.failure = None
        for _ in range(2):
            link.sync()
    assert set(link.disabled()) == {THEME.version}
    assert [record.getMessage() for record in caplog.records][1:] == ["the database is back"]


def test_refusals_are_kept_until_they_are_written_soon_or_at_the_end() -> None:
    database = Database()
    with closing(DatabaseLink(*database.link, PATIENCE)) as link:
        database.failure = StoreError("database: gone")
        for _ in range(3):
            link.add_refusals({MALFORMED: 2}, SHARD)
            link.sync()
        database.failure = None
        for _ in range(2):
            link.sync()
        assert database.refusals == {MALFORMED: 6}
        assert database.refusals_added.acquire(timeout=PATIENCE)
        link.start()
        link.add_refusals({MALFORMED: 1}, SHARD)
        assert database.refusals_added.acquire(timeout=PATIENCE / 2)
    with closing(DatabaseLink(*database.link)) as link:  # it is never started
        link.add_refusals({MALFORMED: 5}, SHARD)
    assert database.refusals == {MALFORMED: 12}


def test_nobody_waits_for_a_database_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("dither_spool.sink._PATIENCE", 0.01)
    answered = threading.Event()

    class Silent(Database):
        def add_refusals(self, *_: object) -> None:
            self.refusals_added.release()
            assert answered.wait(PATIENCE)

    database = Silent()
    link = DatabaseLink(*database.link)
    link.disabled()
    link.start()
    link.add_refusals({MALFORMED: 3}, SHARD)
    assert database.refusals_added.acquire(timeout=PATIENCE)  # its thread waits now
    link.add_refusals({MALFORMED: 1}, SHARD)
    assert not link.disabled()
    link.close()
    assert "counts of 4 refused batches are lost" in caplog.text
    answered.set()


class Watched(Folder):
    """A folder that counts the files that are put, and the beats of the spool, at each of which its size is read.

    Its free space may be set.
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


def made(folder: Path, size: int = 1 << 20, seconds: float = 300.0, database: Database | None = None) -> SpoolSink:
    layout = SpoolLayout(Watched(folder).watch(), folder / "open")
    return SpoolSink(DatabaseLink(*(database or Database()).link), layout, size, seconds, beat=0.1)


def wait_for_beats(spool: SpoolSink, count: int) -> None:
    """Wait until ``count`` more beats have begun."""
    asked = spool.layout.blobs.asked  # type: ignore[attr-defined]
    while asked.acquire(blocking=False):
        pass
    for _ in range(count):
        assert asked.acquire(timeout=PATIENCE)


def wait_for_segment(spool: SpoolSink) -> None:
    assert spool.layout.blobs.written.acquire(timeout=PATIENCE)  # type: ignore[attr-defined]


def test_missing_spool_is_an_error_even_if_its_folder_is_made_again(tmp_path: Path) -> None:
    """It is as if its disk was unmounted: the empty folder looks like a spool that was just folded."""
    here = tmp_path / "spool"
    with closing(made(here)) as spool:
        claim(spool.layout.blobs, "0" * 32)
        assert spool.backlog() == spool.layout.backlog()
        here.rename(tmp_path / "elsewhere")
        for _ in range(2):
            with pytest.raises(SpoolError, match=r"spool: the files that a collector made at .*spool are gone"):
                spool.backlog()
            (here / "open").mkdir(parents=True, exist_ok=True)


def test_a_full_journal_is_closed_while_others_are_written(tmp_path: Path) -> None:
    with closing(made(tmp_path, size=2_000)) as spool:
        uploads = [upload() for _ in range(200)]
        for one in uploads:
            spool.commit([one], TODAY, SHARD)
        wait_for_segment(spool)
    stored = in_place(Folder(tmp_path))
    assert ids_in(stored) == {one.batch for one in uploads}
    assert set(stored.values()) == {1}
    assert len(Folder(tmp_path).names("segments")) >= 200 * 47 // 2_100


def test_start_seals_abandoned_journals_and_no_others(tmp_path: Path) -> None:
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


def die(spool: SpoolSink, folder: Path) -> None:
    """End a spool as kill -9 would leave it: no segment, a journal that nobody holds."""
    (folder / "segments").write_text("in the way")
    spool.close()
    (folder / "segments").unlink()


def test_disabled_versions_are_refused_and_nothing_is_taken_before_they_are_known(tmp_path: Path) -> None:
    database = Database()
    database.versions = {MOBILE.version: TODAY}
    database.failure = StoreError("database: gone")
    with closing(made(tmp_path, database=database)) as spool:
        with pytest.raises(StoreError, match="gone"):
            spool.commit([upload()], TODAY, SHARD)
        with pytest.raises(StoreError, match="gone"):
            spool.require_writable()
        database.failure = None
        assert spool.commit([upload(), upload(MOBILE)], TODAY, SHARD) == [COUNTED, DISABLED]
        assert spool.commit([upload(MOBILE)], TODAY, SHARD) == [DISABLED]
        database.failure = StoreError("database: gone")  # a sink that cannot ask goes by what it knows
        assert spool.commit([upload(), upload(MOBILE)], TODAY + timedelta(days=1), SHARD) == [COUNTED, DISABLED]
    stored = [(row[1].hex(), row[2]) for row in in_place(Folder(tmp_path))]
    assert sorted(stored) == [(THEME.version, number_of(TODAY) + later) for later in (0, 1)]


def fail(*_: object) -> int:
    raise OSError(28, "No space left on device")


def test_after_a_failed_fsync_another_journal_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, last = upload(), upload()
    with closing(made(tmp_path)) as spool:
        spool.commit([first], TODAY, SHARD)
        with monkeypatch.context() as patch:
            patch.setattr("dither_spool.journal._make_durable", fail)
            with pytest.raises(SpoolError, match="cannot be made durable"):
                spool.commit([upload()], TODAY, SHARD)
        assert spool.commit([last], TODAY, SHARD) == [COUNTED]
        wait_for_segment(spool)
        assert first.batch in ids_in(in_place(Folder(tmp_path)))
        assert last.batch not in ids_in(in_place(Folder(tmp_path)))


def test_sink_that_failed_becomes_ready_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(made(tmp_path, seconds=0.01)) as spool:
        spool.commit([upload()], TODAY, SHARD)
        wait_for_segment(spool)  # an old journal is sealed without new uploads
        with monkeypatch.context() as patch:
            patch.setattr("os.pwrite", fail)
            with pytest.raises(SpoolError, match="No space left"):
                spool.commit([upload()], TODAY, SHARD)
        wait_for_beats(spool, 2)
        spool.require_writable()


def test_nearly_full_disk_is_not_ready_and_still_takes_uploads(tmp_path: Path) -> None:
    with closing(made(tmp_path)) as spool:
        spool.layout.blobs.leave(spool.layout.needed() + (3 << 20))  # type: ignore[attr-defined]
        spool.start()
        wait_for_beats(spool, 2)  # the first is over then
        with pytest.raises(SpoolError, match=r"nearly full, 5 MB are free .*, and 4 MB for 4 journals"):
            spool.require_writable()
        assert spool.commit([upload()], TODAY, SHARD) == [COUNTED]


def test_upload_is_refused_if_a_fold_would_have_no_room(tmp_path: Path) -> None:
    (tmp_path / "segments").mkdir()
    (tmp_path / "segments" / f"{'a' * 32}.segment").write_bytes(bytes(10 << 20))  # as much as its ids may take
    with closing(made(tmp_path)) as spool:
        for room, taken in ((13 << 20, False), (15 << 20, True), (0, False), (15 << 20, True)):
            spool.layout.blobs.leave(room)  # type: ignore[attr-defined]
            if taken:
                assert spool.commit([upload()], TODAY, SHARD) == [COUNTED]
            else:
                with pytest.raises(SpoolError, match=r"spool: full, .* MB are free .* run dither-server fold"):
                    spool.commit([upload()], TODAY, SHARD)
    (tmp_path / "segments" / f"{'a' * 32}.segment").unlink()
    assert len(in_place(Folder(tmp_path))) == 2


def filled(spool: SpoolSink) -> int:
    """Append batches until the spool is full; return how many were taken."""
    taken = 0
    with suppress(SpoolError):
        while True:
            taken += len(spool.commit([upload(rows=b"\x00") for _ in range(400)], TODAY, SHARD))
    with pytest.raises(SpoolError, match="spool: full, "):
        spool.commit([upload(rows=b"\x00")], TODAY, SHARD)
    return taken


@pytest.mark.slow  # fills a disk of 40 MB; room and refusals are tested beside
@pytest.mark.skipif(can_fill() is not None, reason=can_fill() or "")
def test_fold_frees_a_disk_that_holds_only_the_spool(tmp_path: Path) -> None:
    """Nothing is deleted by hand, and every taken batch is counted."""
    with small_disk(tmp_path / "small", 8_000) as disk, closing(opened(url_of(tmp_path))) as counts:
        spool = made(disk, 200_000)
        taken = 0
        with closing(spool):
            for beats in (0, 2):
                wait_for_beats(spool, beats)
                taken += (more := filled(spool))
                assert more > 20_000
                list(Folding(counts, spool.layout.blobs, HORIZON).fold(PATIENCE))
        list(Folding(counts, spool.layout.blobs, HORIZON).fold(PATIENCE))
        assert counts.tally(THEME).total == taken


def test_failed_seal_is_reported_and_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
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


def test_unusable_folder_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "open").write_text("")
    with pytest.raises(SpoolError, match="open cannot be created"):
        SpoolSink(DatabaseLink(*Database().link), SpoolLayout.at(str(tmp_path)), 1 << 20, 300.0)


def test_gauges_that_cannot_be_read_are_left_out() -> None:
    def shown(backlog: Backlog | None, folded: datetime | None) -> dict[str, float]:
        lines = Prometheus().text(spool_gauges(backlog, folded)).decode().splitlines()
        parts = (line.split() for line in lines if line.startswith(("dither_spool_", "dither_folded")))
        return {name.removeprefix("dither_spool_"): float(value) for name, value in parts}

    of_spool = {"up": 1, "open_bytes": 5, "segments": 1, "damaged_files": 2, "free_bytes": 1e9}
    of_folds = {"dither_folded_up_to_timestamp_seconds": 1795183500.0}
    begun = datetime(2026, 11, 20, 14, 5, tzinfo=UTC)
    assert shown(Backlog(5, 1, 2, 10**9), None) == of_spool
    assert shown(Backlog(5, 1, 2, 10**9), begun) == of_spool | of_folds
    assert shown(None, begun) == {"up": 0} | of_folds
    assert shown(None, None) == {"up": 0}
