"""Bodies that nobody should send: each is refused or counted, none is a fault of ours, and memory stays flat."""

import io
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from flask import Flask

from server.collecting import MOBILE, OPEN, THEME, VERSION, batch, rows_of

_SCRAPS = (b"{", b"[", b'"', b"\\u0000", b"null", b"NaN", b"1e999", b"\xff", b",", b":", b"\x00", b"=", b"{}" * 40)


def fuzz(app: Flask, bodies: int, seed: int = 1) -> Counter[int]:
    """Send mutations of good bodies; return how often each status was the answer. Raises for any 5xx."""
    chance = random.Random(seed)
    good = [batch(metric, rows_of(metric, 2)).encode() for metric in (THEME, MOBILE, VERSION, OPEN)]
    seen: Counter[int] = Counter()
    for number in range(bodies):
        body = _mutated(chance, chance.choice(good))
        status = _answer(app, body, chance)
        assert status < 500, (status, body, number)
        seen[status] += 1
    return seen


def _mutated(chance: random.Random, body: bytes) -> bytes:
    changed = bytearray(body)
    for _ in range(chance.randrange(4)):
        place = chance.randrange(len(changed) + 1)
        kind = chance.randrange(4)
        if kind == 0:
            changed[place:place] = chance.choice(_SCRAPS)
        elif kind == 1:
            del changed[place : place + chance.randrange(1, 9)]
        elif kind == 2 and place < len(changed):
            changed[place] = chance.randrange(256)
        else:
            changed[place:place] = changed[: chance.randrange(1, 30)]
    return bytes(changed)


def _answer(app: Flask, body: bytes, chance: random.Random) -> int:
    statuses: list[int] = []

    def start(status: str, *_: object) -> Callable[[bytes], object]:
        statuses.append(int(status[:3]))
        return lambda _: None

    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/v1/reports",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "localhost",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "http",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
    }
    if chance.random() < 0.02:
        environ["HTTP_CONTENT_ENCODING"] = "gzip"
        expected = {415}
    else:
        expected = {202, 400, 404, 409, 411, 413}
    list(app.wsgi_app(environ, start))
    assert statuses[0] in expected, (statuses, body)
    return statuses[0]
