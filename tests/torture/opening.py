"""Strangers keep a collector busy with sealed bodies of 12,000 rows, and a relay posts its own beside them.

A relay that is asked to come again does so after the seconds that the answer names.
"""

import secrets
import threading
import time
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple

from dither_shared.seal_key import SealKey
from dither_shared.sealed import SealedBatch
from server.collecting import THEME, running
from server.ingest.sealed.sealing import batch_of, drawn, keep, sealed_rows
from torture.devices import post_sealed

__all__ = ["ATTACKS", "Wait", "flooded"]

_ROWS = 12_000
_WIDTH = 49
_PATIENCE = 120.0
_STRANGER = "127.0.0.2"

ATTACKS = {"garbage": 0, "every 60th row opens": 60, "every row opens": 1}
"""Kinds of bodies: of how many rows one opens."""


class Wait(NamedTuple):
    """How long a relay waited until its body was taken, and how often it was asked to come again."""

    seconds: float
    tries: int


def flooded(folder: Path, attack: str, bodies: int, connections: int = 6) -> list[Wait]:
    """Post bodies beside an attack over some connections from another address; return how each fared.

    Raises AssertionError if a body is not counted whole.
    """
    key = drawn()
    keep(folder / "seal-keys.json", key)
    honest = [batch_of(THEME, sealed_rows(THEME, key.public, _ROWS)).encode() for _ in range(bodies)]
    hostile = [_hostile(key.public, ATTACKS[attack]).encode() for _ in range(connections)]
    ended = threading.Event()
    with running(folder) as (url, _):
        strangers = [threading.Thread(target=_flood, args=(url, body, ended)) for body in hostile]
        for stranger in strangers:
            stranger.start()
        try:
            time.sleep(1.0)  # an attack that is well under way
            return [_posted(url, body) for body in honest]
        finally:
            ended.set()
            for stranger in strangers:
                stranger.join(_PATIENCE)


def _hostile(key: SealKey, each: int) -> SealedBatch:
    good = sealed_rows(THEME, key, _ROWS // each) if each else []
    return batch_of(THEME, [*good, *(secrets.token_bytes(_WIDTH) for _ in range(_ROWS - len(good)))])


def _flood(url: str, body: bytes, ended: threading.Event) -> None:
    while not ended.is_set():
        with suppress(OSError, HTTPException):
            post_sealed(url, body, _STRANGER)


def _posted(url: str, body: bytes) -> Wait:
    begun, tries = time.monotonic(), 1
    while True:
        response, content = post_sealed(url, body)
        if response.status != 503:
            assert (response.status, content) == (202, b'{"accepted": %d, "refused": 0}' % _ROWS)
            return Wait(time.monotonic() - begun, tries)
        assert time.monotonic() - begun < _PATIENCE, tries
        time.sleep(int(response.headers.get("Retry-After", "0")))
        tries += 1
