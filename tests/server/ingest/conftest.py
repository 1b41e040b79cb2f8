"""Fixtures of the tests of the routes that bring reports."""

import pytest
from flask import Flask
from flask.testing import FlaskClient


@pytest.fixture
def door(app: Flask) -> FlaskClient:
    """The app under any WSGI server; tests/server/serving tests our own server."""
    return app.test_client()
