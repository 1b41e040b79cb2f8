"""Databases of a real PostgreSQL server."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from dither_server.store import Store
from server.collecting import METRICS


@pytest.fixture
def url(postgresql_url: str) -> str:
    """The URL of a fresh database."""
    return postgresql_url


@pytest.fixture
def pg(url: str) -> Iterator[Store]:
    with closing(Store(url)) as store:
        store.register(METRICS.values())
        yield store
