"""A device and a relay for the collector's tests: keys, sealed rows, and batches of them."""

import secrets
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dither.reporting.bodies import sealer
from dither_server.ingest.hpke import draw_key
from dither_server.ingest.seal_keys import KeyFile, SecretKey
from dither_shared import Metric
from dither_shared.seal_key import SUITES, SealKey
from dither_shared.sealed import Pool, SealedBatch
from server.collecting import rows_of

MADE = date(2026, 11, 20)


def drawn(suite: str = "x25519") -> SecretKey:
    public, private = draw_key(SUITES[suite])
    return SecretKey(public, MADE, private)


def keep(path: Path, *keys: SecretKey) -> None:
    KeyFile(path).change(lambda _: keys)


def pool(metric: Metric, stratum: str | None = None) -> Pool:
    return Pool(metric.name, metric.version, stratum)


def seal(row: bytes, key: SealKey, where: Pool) -> bytes:
    """Seal as the client does."""
    sealed: bytes = sealer(key)(row, info=where.info)
    return sealed


def split(metric: Metric, rows: bytes) -> list[bytes]:
    width = metric.mechanism.row_bytes
    return [rows[start : start + width] for start in range(0, len(rows), width)]


def sealed_rows(metric: Metric, key: SealKey, count: int = 5, stratum: str | None = None) -> list[bytes]:
    rows = rows_of(metric, count, secrets.token_bytes(8), "linux" if stratum else "light")
    return [seal(row, key, pool(metric, stratum)) for row in split(metric, rows)]


def batch_of(metric: Metric, sealed: Iterable[bytes], suite: str = "x25519", stratum: str | None = None) -> SealedBatch:
    listed = list(sealed)
    return SealedBatch.of(pool(metric, stratum), SUITES[suite], len(listed), listed)


def post(door: FlaskClient, body: bytes) -> TestResponse:
    return door.post("/v1/sealed", data=body, content_type="application/json")
