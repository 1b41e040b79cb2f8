"""Databases of SQLite and of a real PostgreSQL server."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dither_server.store import Store
from server.collecting import METRICS
from server.database import url_of


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a fresh database, of PostgreSQL if a test asks for it."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return url_of(tmp_path)
    found: str = request.getfixturevalue("postgresql_url")  # which starts a server, or skips
    return found


@pytest.fixture
def pg(postgresql_url: str) -> Iterator[Store]:
    with closing(Store(postgresql_url)) as store:
        store.register(METRICS.values())
        yield store
