"""Fixtures of the dashboard's tests."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of
from server.dashboard.shown import filled


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    """A collector for a test that changes it."""
    with closing(collector_of(app := filled(tmp_path))):
        yield app


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A client of the same collector, for all tests of a module that only read."""
    with closing(collector_of(app := filled(tmp_path_factory.mktemp("pages")))):
        yield app.test_client()
