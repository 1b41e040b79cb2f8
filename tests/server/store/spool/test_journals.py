from collections.abc import Iterator
from pathlib import Path

import pytest

from dither_server.store.errors import SpoolError
from dither_server.store.spool.journal import Journal
from dither_server.store.spool.journals import Journals
from dither_server.store.spool.rooms import Rooms, rooms_at
from server.collecting import TODAY, upload
from server.store.spool.spooling import ids_in, in_place

SIZE, SECONDS = 1 << 20, 300.0


class Time:
    """A clock that stands still."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def rooms(tmp_path: Path) -> Rooms:
    rooms = rooms_at(str(tmp_path))
    rooms.make()
    return rooms


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def journals(rooms: Rooms, time: Time) -> Iterator[Journals]:
    journals = Journals(rooms, SIZE, SECONDS, time)
    yield journals
    journals.release()


def files(rooms: Rooms) -> list[Path]:
    return list(rooms.journals.glob("*.journal"))


def test_nothing_is_made_before_something_comes(journals: Journals, rooms: Rooms) -> None:
    assert journals.left() == float("inf")
    journals.retire()
    journals.seal()
    assert files(rooms) == []
    assert rooms.place.names("segments") == []


def test_one_journal_takes_what_comes_until_it_is_retired(journals: Journals, rooms: Rooms, time: Time) -> None:
    uploads = [upload() for _ in range(3)]
    assert not any(journals.append([one], TODAY) for one in uploads[:2])
    assert len(files(rooms)) == 1
    time.now += 100
    assert journals.left() == 200.0
    journals.seal()
    assert rooms.place.names("segments") == []  # it is still open
    journals.retire()
    assert journals.left() == float("inf")
    assert journals.append(uploads[2:], TODAY)  # which tells that one waits to be sealed
    assert journals.left() == SECONDS
    journals.seal()
    assert ids_in(in_place(rooms.place)) == {one.batch for one in uploads[:2]}
    assert len(files(rooms)) == 1


def test_one_that_is_full_is_retired_at_once(rooms: Rooms, time: Time) -> None:
    journals = Journals(rooms, 1, SECONDS, time)
    uploads = [upload() for _ in range(3)]
    assert all(journals.append([one], TODAY) for one in uploads)
    assert len(files(rooms)) == 3
    journals.seal()
    assert len(rooms.place.names("segments")) == 3
    assert ids_in(in_place(rooms.place)) == {one.batch for one in uploads}


def test_after_a_failed_fsync_another_takes_what_comes(
    journals: Journals, rooms: Rooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    first, last = upload(), upload()
    journals.append([first], TODAY)
    with monkeypatch.context() as patch:
        patch.setattr("dither_server.store.spool.journal._make_durable", fail)
        with pytest.raises(SpoolError, match="cannot be made durable"):
            journals.append([upload()], TODAY)
    assert journals.append([last], TODAY)
    assert len(files(rooms)) == 2
    journals.seal()
    assert first.batch in ids_in(in_place(rooms.place))
    assert last.batch not in ids_in(in_place(rooms.place))


def test_those_of_the_dead_are_adopted_once(journals: Journals, rooms: Rooms) -> None:
    dead, left = Journal.create(rooms.journals), upload()
    dead.append([left], TODAY)
    journals.append([upload()], TODAY)
    journals.adopt()
    journals.seal()
    assert in_place(rooms.place).total() == 0  # that one lives, and ours too
    dead.release()
    journals.adopt()
    journals.adopt()
    journals.seal()
    assert ids_in(in_place(rooms.place)) == {left.batch}
    assert len(files(rooms)) == 1


def test_what_cannot_be_a_segment_is_kept_and_left_to_others(journals: Journals, rooms: Rooms, tmp_path: Path) -> None:
    uploads = [upload() for _ in range(2)]
    (tmp_path / "segments").write_text("in the way")
    for one in uploads:
        journals.append([one], TODAY)
        journals.retire()
        with pytest.raises(SpoolError, match="segments"):
            journals.seal()
    assert len(files(rooms)) == 2
    (tmp_path / "segments").unlink()
    assert rooms.close_abandoned() == 0  # they are held
    journals.release()
    assert rooms.close_abandoned() == 2
    assert ids_in(in_place(rooms.place)) == {one.batch for one in uploads}
