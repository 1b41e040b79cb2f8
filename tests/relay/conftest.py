"""Fixtures of the relay's tests."""

from collections.abc import Iterator

import pytest

from server.database import quick_schemas


@pytest.fixture(scope="session", autouse=True)
def _schemas() -> Iterator[None]:
    with quick_schemas():
        yield
