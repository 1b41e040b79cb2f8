"""Fixtures of the dashboard's tests."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from flask import Flask

from dither_server.app import collector_of
from server.dashboard.shown import filled


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    with closing(collector_of(app := filled(tmp_path))):
        yield app
