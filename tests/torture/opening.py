"""Strangers keep a collector busy with sealed bodies of 12,000 rows, and a relay posts its own beside them.

A relay that is asked to come again does so after the seconds that the answer names.
"""

import secrets
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple

from dither_shared.seal_key import SealKey
from dither_shared.sealed import SealedBatch
from server.collecting import THEME, running
from server.ingest.sealed.sealing import batch_of, drawn, keep, sealed_rows

__all__ = ["ATTACKS", "Wait", "flooded"]

_ROWS = 12_000
_WIDTH = 49
_PATIENCE = 120.0
_RELAY = "127.0.0.1"

ATTACKS = {"garbage": 0, "every 60th row opens": 60, "every row opens": 1}
"""Kinds of bodies: of how many rows one opens."""


class Wait(NamedTuple):
    """How long a relay waited until its body was taken, and how often it was asked to come again."""

    seconds: float
    tries: int


def flooded(
    folder: Path, attack: str, bodies: int, rows: int = _ROWS, connections: int = 6, addresses: int = 1
) -> list[Wait]:
    """Post bodies of ``rows`` rows beside an attack; return how each fared.

    The attack comes over ``connections``, each from an address of its own; from the relay's own if they are 0.
    Raises AssertionError if a body is not counted whole.
    """
    key = drawn()
    keep(folder / "seal-keys.json", key)
    honest = [batch_of(THEME, sealed_rows(THEME, key.public, rows)).encode() for _ in range(bodies)]
    hostile = [
        (f"127.0.0.{2 + turn % addresses}" if addresses else _RELAY, _hostile(key.public, ATTACKS[attack]).encode())
        for turn in range(connections)
    ]
    ended = threading.Event()
    with running(folder) as (url, _):
        strangers = [threading.Thread(target=_flood, args=(url, peer, body, ended)) for peer, body in hostile]
        for stranger in strangers:
            stranger.start()
        try:
            time.sleep(1.0)  # an attack that is well under way
            return [_posted(url, body, rows) for body in honest]
        finally:
            ended.set()
            for stranger in strangers:
                stranger.join(_PATIENCE)


def _hostile(key: SealKey, each: int) -> SealedBatch:
    good = sealed_rows(THEME, key, _ROWS // each) if each else []
    return batch_of(THEME, [*good, *(secrets.token_bytes(_WIDTH) for _ in range(_ROWS - len(good)))])


def _flood(url: str, peer: str, body: bytes, ended: threading.Event) -> None:
    while not ended.is_set():
        with suppress(OSError, HTTPException):
            _ask(url, peer, body)


def _posted(url: str, body: bytes, rows: int) -> Wait:
    begun, tries = time.monotonic(), 1
    while True:
        status, after, content = _ask(url, _RELAY, body)
        if status != 503:
            assert (status, content) == (202, b'{"accepted": %d, "refused": 0}' % rows)
            return Wait(time.monotonic() - begun, tries)
        assert time.monotonic() - begun < _PATIENCE, tries
        time.sleep(int(after))
        tries += 1


def _ask(url: str, peer: str, body: bytes) -> tuple[int, str, bytes]:
    host, port = url.removeprefix("http://").split(":")
    connection = HTTPConnection(host, int(port), timeout=_PATIENCE, source_address=(peer, 0))
    try:
        connection.request("POST", "/v1/sealed", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.headers.get("Retry-After", "0"), response.read()
    finally:
        connection.close()
