"""The API's description is true: schemathesis asks whatever it allows, and looks at every answer."""

from typing import Any

import pytest
import schemathesis
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings

from dither_server.openapi import openapi
from server.collecting import THEME, batch

OPERATIONS = [(path, method) for path, item in openapi()["paths"].items() for method in item]


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_answer_is_as_described(path: str, method: str, app: Flask) -> None:
    schema = schemathesis.openapi.from_wsgi("/openapi.json", app)

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=schema[path][method.upper()].as_strategy())
    def holds(case: Any) -> None:
        case.call_and_validate()

    holds()


def test_the_same_for_names_that_are_known(app: Flask) -> None:
    """No generator draws a metric's name by chance."""
    sent = app.test_client().post("/v1/reports", data=batch(THEME).encode(), content_type="application/json")
    assert sent.status_code == 202
    schema = schemathesis.openapi.from_wsgi("/openapi.json", app)
    for path in ("/v1/metrics/{name}", "/v1/metrics/{name}/estimate"):
        for name in ("theme", "version", "open", "nothing"):
            for query in ({}, {"confidence": "0.9", "since": "2026-01-01"}, {"confidence": "2"}, {"version": "0"}):
                case = schema[path]["GET"].Case(path_parameters={"name": name}, query=query if "est" in path else {})
                case.validate_response(case.call())


def test_every_route_is_described(app: Flask, client: FlaskClient) -> None:
    document = client.get("/openapi.json").json
    assert document == openapi()
    routes = {rule.rule.replace("<name>", "{name}") for rule in app.url_map.iter_rules() if rule.endpoint != "static"}
    assert set(openapi()["paths"]) == routes
