"""The format of sealed reports that a device, a relay and a collector share."""

import base64
import hashlib
import json
import random
from datetime import date
from typing import get_args

import pytest

from dither_shared import ParameterError, WireError
from dither_shared.metrics.definition import parse_metrics
from dither_shared.metrics.period import Period, first_day
from dither_shared.seal_key import SUITES, SealKey, Suite
from dither_shared.sealed import Pool, SealedBatch, SealedReport, pool_period

VERSION = "0123456789abcdef"
NOVEMBER = date(2026, 11, 1).toordinal()
POOL = Pool("theme", VERSION)
KEY = SealKey(SUITES["x25519"], bytes(range(32)))
TOML = '[metrics.theme]\ntype = "choice"\nvalues = ["light", "dark"]\nepsilon = 1.0\n'


@pytest.mark.parametrize("suite", SUITES.values(), ids=str)
def test_a_key_is_a_line_of_text(suite: Suite) -> None:
    key = SealKey(suite, bytes(number % 256 for number in range(suite.key_bytes)))
    assert SealKey.parse(str(key)) == key
    assert key.fingerprint == hashlib.sha256(str(key).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    "text",
    [
        "x25519",
        "rsa:AAAA",
        f"{KEY}=",
        str(KEY).replace("x25519", "xwing"),
        str(KEY)[:-1] + "9",
        "x25519:" + "é" * 43,
    ],
)
def test_text_that_is_no_seal_key_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="key: "):
        SealKey.parse(text)


def low_order_points() -> list[bytes]:
    """All encodings that X25519 reads as a point of low order, with and without the top bit."""
    prime = 2**255 - 19
    order_8 = [
        bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
        bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    ]
    points = [*order_8, *(u.to_bytes(32, "little") for u in (0, 1, prime - 1, prime, prime + 1))]
    return points + [point[:31] + bytes([point[31] | 0x80]) for point in points]


@pytest.mark.parametrize("suite", SUITES.values(), ids=str)
def test_a_key_that_keeps_nothing_secret_is_refused(suite: Suite) -> None:
    for point in low_order_points():
        text = str(SealKey(suite, bytes(suite.key_bytes - 32) + point))
        with pytest.raises(ParameterError, match="key: its point of X25519 has a low order"):
            SealKey.parse(text)


def test_seal_key_of_a_file_applies_to_all_metrics_without_new_versions() -> None:
    plain = parse_metrics(TOML)["theme"]
    sealed = parse_metrics(f'{TOML}\n[seal]\nkey = "{KEY}"\n')["theme"]
    assert (plain.seal, sealed.seal) == (None, KEY)
    assert sealed.version == plain.version


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[seal]", "seal.key: does not begin with"),
        ('[seal]\nkey = "x25519:AAAA"', "seal.key: not 32 bytes in base64url"),
        ("[seal]\nkey = 3", "seal.key: 3 is not a string"),
        (f'[seal]\nkey = "{KEY}"\nkeys = 2', "seal.keys: "),
    ],
)
def test_a_mistake_in_the_table_is_named(table: str, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_metrics(f"{TOML}\n{table}\n", "m.toml")
    assert str(caught.value).startswith(f"m.toml: {message}")
    with pytest.raises(ParameterError, match="seal: not a table"):
        parse_metrics(f'seal = "{KEY}"\n{TOML}')


@pytest.mark.parametrize("stratum", [None, "linux", "linux/stable", "é", '"\\'])
def test_a_pool_has_a_name(stratum: str | None) -> None:
    pool = Pool("theme", VERSION, stratum, "week-2026-11-23", 1000)
    assert Pool.parse(str(pool)) == Pool.of(pool.series, pool.period) == pool
    assert pool.info == b"dither sealed 1\0" + str(pool).encode()


@pytest.mark.parametrize("period", [period for period in get_args(Period) if period != "once"])
def test_a_pool_names_the_period_of_a_day_and_knows_its_days(period: str) -> None:
    for today in range(NOVEMBER, NOVEMBER + 100):
        days = Pool("theme", VERSION, None, pool_period(period, today)).days
        assert days is not None
        assert today in days
        assert {first_day(day, period) for day in days} == {days.start}
        assert first_day(days.stop, period) == days.stop
    assert Pool("theme", VERSION, None, pool_period("once", NOVEMBER)).days is None


def test_pools_of_a_series_differ_in_name_and_info_and_share_a_digest() -> None:
    pools = [Pool("theme", VERSION, "linux", period, 20) for period in ("once", "day-2026-11-23", "week-2026-11-23")]
    assert len({pool.info for pool in pools}) == 3
    assert len({pool.digest for pool in pools}) == 1
    assert pools[0].digest != pools[0]._replace(least=19).digest


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"theme/{VERSION}/once/1/\ud800",
        f"theme/{VERSION}/once/0",
        f"theme/{VERSION}/once/01",
        f"theme/{VERSION}/once",
        f"theme/{VERSION}/day/1",
        f"theme/{VERSION}/once-2026-11-23/1",
        f"theme/{VERSION}/week-2026-11-24/1",
        f"theme/{VERSION}/week-20261123/1",
        f"theme/{VERSION}/year-2026-01-01/1",
        f"Theme/{VERSION}/once/1",
        f"theme/{VERSION}/once/1/",
        f"theme/{VERSION}0/once/1",
        f"theme/{VERSION}/once/1/{'x' * 101}",
    ],
)
def test_text_that_names_no_pool_is_refused(text: str) -> None:
    with pytest.raises(WireError, match="pool: "):
        Pool.parse(text)


def test_a_report_is_one_flat_object() -> None:
    report = SealedReport(Pool("theme", VERSION, "linux"), b"\xff" * 49)
    text = base64.b64encode(report.sealed).decode()
    assert json.loads(report.encode()) == {"pool": f"theme/{VERSION}/once/1/linux", "sealed": text}
    assert SealedReport.decode(report.encode()) == report
    for body in (b"{}", b"[]", b'{"pool":"x","sealed":""}', report.encode()[:-1], b'{"pool":1,"sealed":"AA=="}'):
        with pytest.raises(WireError):
            SealedReport.decode(body)
    with pytest.raises(WireError, match="sealed: empty"):
        SealedReport.decode(report._replace(sealed=b"").encode())


def test_sealed_batch_reveals_nothing_about_the_order_of_arrival() -> None:
    chance = random.Random(5)
    rows = [chance.randbytes(49) for _ in range(100)]
    batch = SealedBatch.of(POOL, SUITES["x25519"], 100, rows)
    chance.shuffle(rows)
    assert SealedBatch.of(POOL, SUITES["x25519"], 100, rows) == batch
    assert SealedBatch.decode(batch.encode()) == batch
    assert batch.split(1) == sorted(rows)
    assert SealedBatch.of(Pool("other", VERSION), SUITES["x25519"], 100, rows).batch != batch.batch


def test_a_batch_that_no_relay_sends_is_refused() -> None:
    rows = [bytes([number]) * 49 for number in range(3)]
    batch = SealedBatch.of(POOL, SUITES["x25519"], 3, rows)
    for change, message in (
        ({"suite": "rsa"}, "suite: not one of"),
        ({"total": "0"}, "total: not a number"),
        ({"total": "03"}, "total: not a number"),
        ({"total": "1" * 13}, "total: not a number"),
        ({"batch": "0" * 32}, "batch: not the digest"),
        ({"batch": "x"}, "batch: not 32"),
        ({"pool": f"other/{VERSION}/once/1"}, "batch: not the digest"),
        ({"sealed": ""}, "sealed: empty"),
    ):
        with pytest.raises(WireError, match=message):
            SealedBatch.decode(json.dumps(json.loads(batch.encode()) | change).encode())
    with pytest.raises(WireError, match="a sealed row of this pool and suite has 50"):
        batch.split(2)
    with pytest.raises(WireError, match="total: 2, less than the 3"):
        batch._replace(total=2).split(1)
    for order in ([1, 0, 2], [0, 1, 1]):
        with pytest.raises(WireError, match="not in ascending order"):
            batch._replace(sealed=b"".join(rows[place] for place in order)).split(1)
