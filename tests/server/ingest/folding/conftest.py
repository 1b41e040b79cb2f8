"""A spool, and a database that counts it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dither_server.store import Store
from dither_server.store.spool.places import Folder
from server.database import url_of
from server.ingest.folding.runs import opened


@pytest.fixture
def place(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "spool")


@pytest.fixture
def counts(tmp_path: Path) -> Iterator[Store]:
    with closing(opened(url_of(tmp_path))) as store:
        yield store
