import logging
import threading
from contextlib import closing

import pytest

from dither_server.store import Refusal, StoreError
from dither_server.store.spool.database_link import DatabaseLink
from server.collecting import MOBILE, THEME, TODAY
from server.store.spool.spooling import Database

PATIENCE = 60.0
SHARD = b"s" * 16
MALFORMED = Refusal("theme", TODAY, "malformed")


def test_what_is_disabled_is_asked_for_again() -> None:
    database = Database()
    with closing(DatabaseLink(database, 0.001)) as link:
        assert not link.disabled()
        link.start()
        database.versions = {MOBILE.version: TODAY}
        while database.asked.acquire(blocking=False):
            pass  # it asked that, maybe more than once, before there was an answer
        for _ in range(3):  # one that may have begun before, one after, and one to say that it has ended
            assert database.asked.acquire(timeout=PATIENCE)
        assert set(link.disabled()) == {MOBILE.version}


def test_who_cannot_ask_goes_by_what_is_known(caplog: pytest.LogCaptureFixture) -> None:
    database = Database()
    database.versions = {MOBILE.version: TODAY}
    link = DatabaseLink(database)
    database.failure = StoreError("database: gone")
    with pytest.raises(StoreError, match="gone"):
        link.disabled()  # nothing is known yet
    database.failure = None
    link.tell()
    database.failure, database.versions = StoreError("database: gone"), {THEME.version: TODAY}
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            link.tell()
        assert set(link.disabled()) == {MOBILE.version}
        assert [one.getMessage() for one in caplog.records] == [
            "the database is gone, and reports are appended without it: database: gone"
        ]
        database.failure = None
        for _ in range(2):
            link.tell()
    assert set(link.disabled()) == {THEME.version}
    assert [one.getMessage() for one in caplog.records][1:] == ["the database is back"]


def test_refusals_are_kept_until_they_are_written() -> None:
    database = Database()
    link = DatabaseLink(database)
    database.failure = StoreError("database: gone")
    for _ in range(1000):
        link.add_refusals({MALFORMED: 2}, SHARD)
        link.tell()
    database.failure = None
    for _ in range(2):
        link.tell()
    assert database.refusals == {MALFORMED: 2000}


def test_refusals_are_written_soon_and_at_the_end() -> None:
    database = Database()
    with closing(DatabaseLink(database, PATIENCE)) as link:
        link.start()
        link.add_refusals({MALFORMED: 1}, SHARD)
        assert database.told.acquire(timeout=PATIENCE / 2)
        database.failure = StoreError("database: gone")
        link.add_refusals({MALFORMED: 1}, SHARD)
        database.failure = None
    assert database.refusals == {MALFORMED: 2}
    with closing(DatabaseLink(database)) as link:  # one that never started
        link.add_refusals({MALFORMED: 5}, SHARD)
    assert database.refusals == {MALFORMED: 7}


def test_nobody_waits_for_a_database_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("dither_server.store.spool.database_link._PATIENCE", 0.01)
    answered = threading.Event()

    class Silent(Database):
        def add_refusals(self, *_: object) -> None:
            self.told.release()
            assert answered.wait(PATIENCE)

    database = Silent()
    link = DatabaseLink(database)
    link.disabled()
    link.start()
    link.add_refusals({MALFORMED: 3}, SHARD)
    assert database.told.acquire(timeout=PATIENCE)  # its thread waits now
    link.add_refusals({MALFORMED: 1}, SHARD)
    assert not link.disabled()
    link.close()
    assert "counts of 4 refused batches are lost" in caplog.text
    answered.set()
