"""Databases of a real PostgreSQL server."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from dither_server.store import Store
from server.collecting import METRICS
from server.postgresql import WHY_NOT, fresh, server


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with server() as url:
        if url is None:
            pytest.skip(WHY_NOT)
        yield url


@pytest.fixture
def url(postgresql: str) -> str:
    """The URL of a fresh database."""
    return fresh(postgresql)


@pytest.fixture
def pg(url: str) -> Iterator[Store]:
    with closing(Store(url)) as store:
        store.register(METRICS.values())
        yield store
