"""Fixtures of the collector's tests."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of, create_app
from dither_server.store import Store
from server.browser import WHY_NOT, Page, browser
from server.collecting import METRICS, config


@pytest.fixture
def make_app(tmp_path: Path) -> Iterator[Callable[..., Flask]]:
    """Make apps of collectors on one database, by what their configurations change; they are closed at the end."""
    with ExitStack() as closed:

        def make(**changed: object) -> Flask:
            app = create_app(config(tmp_path, **changed))
            closed.callback(collector_of(app).close)
            return app

        yield make


@pytest.fixture
def app(make_app: Callable[..., Flask]) -> Flask:
    return make_app(body_limit=20_000, rows_limit=1000)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture(scope="session")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A tab of a browser, which all tests of this process share: each says how large it is, and what it opens."""
    with browser(tmp_path_factory.mktemp("profile")) as page:
        if page is None:
            pytest.skip(WHY_NOT)
        yield page


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{tmp_path}/dither.db", lock_wait=0.01)
    store.register(METRICS.values())
    yield store
    store.close()
