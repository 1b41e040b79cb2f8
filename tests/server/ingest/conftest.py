"""Fixtures of the tests of the routes that bring reports."""

import pytest
from flask import Flask
from flask.testing import FlaskClient


@pytest.fixture
def door(app: Flask) -> FlaskClient:
    """The app as it is served: reports are answered by the layer in front of Flask."""
    return app.test_client()
