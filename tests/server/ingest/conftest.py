"""Fixtures of the tests of POST /v1/reports."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dither_server.ingest.ingest import IngestLayer


@pytest.fixture(params=["layer", "route"])
def door(request: pytest.FixtureRequest, app: Flask) -> FlaskClient:
    if request.param == "route":
        layer = app.wsgi_app
        assert isinstance(layer, IngestLayer)
        app.wsgi_app = layer.app  # type: ignore[method-assign, assignment]
    return app.test_client()
