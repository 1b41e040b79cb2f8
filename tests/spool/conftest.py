"""Fixtures: a spool, and a database that counts it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dither_server.store import Store
from dither_spool.blobs import Folder
from server.collecting import METRICS
from server.database import url_of
from spool.spooling import opened


@pytest.fixture
def blobs(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "spool")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(url_of(tmp_path), lock_wait=0.01)) as store:
        store.register(METRICS.values())
        yield store


@pytest.fixture
def counts(tmp_path: Path) -> Iterator[Store]:
    """A store of the metrics that ``some`` sends."""
    with closing(opened(url_of(tmp_path))) as store:
        yield store
