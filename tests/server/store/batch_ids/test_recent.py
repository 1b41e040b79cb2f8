"""The journal of SQLite's batch ids."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dither_server.store import StoreError
from dither_server.store.batch_ids import recent as journal
from server.collecting import COUNTED, THEME, TODAY, upload
from server.database import execute, full_disk, url_of
from server.store.batch_ids.keeping import kept, opened, tend

SHARD = b"s" * 16


def test_a_full_disk_while_ids_are_put_in_order_loses_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = url_of(tmp_path)
    monkeypatch.setattr(journal, "_SETTLE", 2_000)
    with closing(opened(url)) as store:
        sent = [upload(rows=b"\x00") for _ in range(3_000)]
        store.commit(sent, TODAY, SHARD)
        store.commit(sent[:1], TODAY, SHARD)  # what a commit wrote is in memory at the next
        store.close()
        with closing(sqlite3.connect(tmp_path / "dither.db")) as connection:
            connection.execute("VACUUM")  # so that there is no room left within the file
        with full_disk(url):
            with pytest.raises(StoreError, match="full"):
                tend(store)
            assert store.tally(THEME).total == 3_000
        tend(store)
        assert execute(url, "SELECT count(*) FROM batches") == [(3_000,)]
        assert store.commit(sent, TODAY, SHARD) == [COUNTED] * 3_000
        assert (store.tally(THEME).total, kept(url)) == (3_000, 3_000)
