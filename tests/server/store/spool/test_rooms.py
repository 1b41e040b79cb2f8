from pathlib import Path

import pytest

from dither_server.store.errors import SpoolError
from dither_server.store.spool.journal import Journal
from dither_server.store.spool.rooms import rooms_at
from dither_shared import ParameterError
from server.collecting import TODAY, upload
from server.store.spool.spooling import ids_in, in_place


def test_a_url_wants_a_folder_for_what_is_open(tmp_path: Path) -> None:
    assert rooms_at(str(tmp_path)).journals == tmp_path / "open"
    assert rooms_at("ftp://bucket", str(tmp_path)).journals == tmp_path
    with pytest.raises(ParameterError, match=r"^spool: ftp://bucket is not on this machine; set spool_open"):
        rooms_at("ftp://bucket")


@pytest.mark.parametrize("url", ["memory://bucket/spool", "Memory://x"])
def test_the_memory_of_a_process_is_no_spool(tmp_path: Path, url: str) -> None:
    with pytest.raises(ParameterError, match=r"^spool: memory:// is this process's own: it ends with it"):
        rooms_at(url, str(tmp_path))


def test_a_backlog_tells_what_stands_there(tmp_path: Path) -> None:
    rooms = rooms_at(str(tmp_path / "spool"))
    assert rooms.backlog()[:3] == (0, 0, 0)  # nobody has begun
    rooms.make()
    journals = [Journal.create(rooms.journals) for _ in range(3)]
    for journal in journals:
        journal.append([upload()], TODAY)
    size = journals[0].size
    journals[0].seal(rooms.place)
    journals[1].path.rename(journals[1].path.with_suffix(".damaged"))
    rooms.place.put("damaged", "f" * 32 + ".damaged", b"what was a segment")
    told = rooms.backlog()
    assert told[:3] == (size, 1, 2)
    assert told.free > 0


def test_what_the_dead_left_becomes_segments(tmp_path: Path) -> None:
    rooms = rooms_at(str(tmp_path))
    rooms.make()
    uploads = [upload() for _ in range(3)]
    dead, living = Journal.create(rooms.journals), Journal.create(rooms.journals)
    dead.append(uploads[:2], TODAY)
    living.append(uploads[2:], TODAY)
    dead.release()
    assert rooms.close_abandoned() == 2
    assert ids_in(in_place(rooms.place)) == {one.batch for one in uploads[:2]}
    assert rooms.close_abandoned() == 0


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    rooms = rooms_at(str(tmp_path))
    with pytest.raises(SpoolError, match="open cannot be written"):
        rooms.try_to_write()
    rooms.make()
    rooms.try_to_write()
    assert list(rooms.journals.iterdir()) == []
