"""Shared by the tests of sealed reports: a collector's keys, and what it reads from a device's uploads."""

import dataclasses
import sys
from collections.abc import Mapping

import pytest
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from client.devices import METRICS
from dither.reporting.bodies import sealed, sealer
from dither_shared import Batch, Metric
from dither_shared.seal_key import SUITES, SealKey
from dither_shared.sealed import SealedReport

_CURVE = X25519PrivateKey.from_private_bytes(bytes(range(32)))
_LATTICE = MLKEM768PrivateKey.from_seed_bytes(bytes(range(64)))
_PRIVATE: dict[str, tuple[hpke.KEM, X25519PrivateKey | hpke.MLKEM768X25519PrivateKey]] = {
    "x25519": (hpke.KEM.X25519, _CURVE),
    "xwing": (hpke.KEM.MLKEM768_X25519, hpke.MLKEM768X25519PrivateKey(_LATTICE, _CURVE)),
}
_PUBLIC = {
    "x25519": _CURVE.public_key().public_bytes_raw(),
    "xwing": _LATTICE.public_key().public_bytes_raw() + _CURVE.public_key().public_bytes_raw(),
}
KEYS = {name: SealKey(suite, _PUBLIC[name]) for name, suite in SUITES.items()}
KEY = KEYS["x25519"]


def sealing(metrics: Mapping[str, Metric] = METRICS, key: SealKey = KEY) -> dict[str, Metric]:
    """Return the metrics of an app that seals its reports."""
    return {name: dataclasses.replace(metric, seal=key) for name, metric in metrics.items()}


def shut(batch: Batch, key: SealKey = KEY) -> bytes:
    """Return the body of a row that is reported once."""
    return sealed(batch, dataclasses.replace(METRICS["theme"], seal=key, period="once"), 1)


def opened(body: bytes, suite: str = "x25519") -> bytes:
    """Return the row that the collector finds in the body of a sealed report."""
    report = SealedReport.decode(body)
    kem, private = _PRIVATE[suite]
    opener = hpke.Suite(kem, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)
    return opener.decrypt(report.sealed, private, report.pool.info)


def take_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make importing HPKE fail until the test's end, as if it were not installed."""
    sealer.cache_clear()
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.hpke", None)
