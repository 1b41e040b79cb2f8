"""Posts to /v1/reports, good and bad."""

import json
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from server.collecting import batch

JSON = "application/json"


def post(door: FlaskClient, body: bytes, **more: Any) -> TestResponse:
    return door.post("/v1/reports", data=body, content_type=more.pop("content_type", JSON), **more)


def changed(**members: object) -> bytes:
    """A good body with some members changed; None takes one away."""
    values = json.loads(batch().encode()) | members
    return json.dumps({name: value for name, value in values.items() if value is not None}).encode()
