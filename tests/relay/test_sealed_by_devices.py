"""Rows sealed by the client pass through a relay process, and exactly these open with the collector's key."""

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from dither.reporting.bodies import sealed
from dither_shared import Batch, Metric
from dither_shared.seal_key import SUITES, SealKey
from dither_shared.sealed import Pool, SealedBatch
from relay.fake_collector import collecting
from relay.relaying import ask, forward, running, stored, until_ready
from server.collecting import LAYOUT, THEME, rows_of

hpke = pytest.importorskip("cryptography.hazmat.primitives.hpke")
x25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.x25519")


@pytest.mark.parametrize(("chosen", "stratum", "value"), [(THEME, None, "light"), (LAYOUT, "linux/stable", "tabs")])
def test_collector_opens_exactly_the_rows_that_devices_sealed(
    chosen: Metric, stratum: str | None, value: str, tmp_path: Path
) -> None:
    private = x25519.X25519PrivateKey.generate()
    public = base64.urlsafe_b64encode(private.public_key().public_bytes_raw()).rstrip(b"=").decode()
    key = SealKey.parse(f"x25519:{public}")
    chosen = replace(chosen, seal=key, period="once")
    pool = Pool(chosen.name, chosen.version, stratum)
    width = chosen.mechanism.row_bytes
    answers = [rows_of(chosen, 1, b"%d" % number, value) for number in range(7)]
    listed = [(pool.series, "x25519", width + SUITES["x25519"].overhead)]
    with collecting(listed) as collector:
        with running(tmp_path, collector.url) as (url, process):
            until_ready(url)
            for row in answers:
                body = sealed(Batch("0" * 32, chosen.name, chosen.version, row, stratum), chosen, 1)
                assert ask(url, "POST", "/v1/sealed", body)[0] == 202
                assert ask(url, "POST", "/v1/sealed", body)[0] == 202  # its answer was lost
            process.terminate()
            process.wait(60)
        collector.row_bytes = width
        with stored(tmp_path) as store:
            assert forward(store, collector.url).reports == 7
        suite = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)
        (body,) = collector.bodies
        opened = [suite.decrypt(row, private, info=pool.info) for row in SealedBatch.decode(body).split(width)]
    assert sorted(opened) == sorted(answers)
