"""Fixtures of the tests of published sites: one database and one site for all that only read them."""

from pathlib import Path

import pytest

from server.dashboard.publishing.sites import filled, published


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a database with reports of every kind."""
    return filled(tmp_path_factory.mktemp("collector"))


@pytest.fixture(scope="session")
def site(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its site."""
    return published(url, tmp_path_factory.mktemp("published") / "site", base="https://example.org/answers/")
