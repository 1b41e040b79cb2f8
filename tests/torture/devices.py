"""How devices and relays of these tests post: each over a connection of its own, and devices content with no answer."""

import http.client
from contextlib import closing
from urllib.parse import urlsplit

from server.test_process import JSON, PATIENCE, connect


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


def post_sealed(url: str, body: bytes, peer: str = "127.0.0.1") -> tuple[http.client.HTTPResponse, bytes]:
    """Post a sealed body from an address of loopback; return the answer and its content."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(
        address.hostname or "", address.port, timeout=2 * PATIENCE, source_address=(peer, 0)
    )
    with closing(connection):
        connection.request("POST", "/v1/sealed", body, JSON)
        response = connection.getresponse()
        return response, response.read()
