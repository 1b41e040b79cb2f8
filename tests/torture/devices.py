"""How a device of these tests sends a batch: over a connection of its own, and content with no answer."""

import http.client
from contextlib import closing

from server.test_process import JSON, connect

__all__ = ["post"]


def post(url: str, body: bytes) -> http.client.HTTPResponse | None:
    """Send a body; return the answer, or None if there was none."""
    with closing(connect(url)) as connection:
        try:
            connection.request("POST", "/v1/reports", body, JSON)
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            return None
        return response
