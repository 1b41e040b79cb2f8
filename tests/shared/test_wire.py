"""The wire format is read strictly: what an honest peer does not write is refused."""

import json

import pytest

from dither_shared import Batch, WireError

BATCH = Batch("0123456789abcdef" * 2, "theme", "00112233aabbccdd", b"\x01\x02\x00")
BODY = BATCH.encode()


def body(**changed: object) -> bytes:
    return json.dumps(json.loads(BODY) | changed).encode()


def test_a_batch_round_trips_and_is_written_as_documented() -> None:
    assert Batch.decode(BODY) == BATCH
    assert BODY == (
        b'{"batch":"0123456789abcdef0123456789abcdef","metric":"theme","version":"00112233aabbccdd","reports":"AQIA"}'
    )


def test_the_length_of_a_body_does_not_depend_on_what_it_says() -> None:
    other = Batch("f" * 32, "theme", "00112233aabbccdd", b"\xff\xfe\xfd").encode()
    assert len(other) == len(BODY)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (b"", "body: not JSON"),
        (b"hello", "body: not JSON"),
        (b"\xff\xfe", "body: not UTF-8"),
        (b"[" * 100_000, "body: nested"),
        (b'{"a":' * 100_000, "body: nested"),
        (BODY.replace(b'"theme"', b'{"a": 1}'), "body: nested"),
        (b'"text"', "body: not a JSON object"),
        (b"3", "body: not a JSON object"),
        (b"NaN", "body: NaN is not JSON"),
        (BODY.replace(b'"theme"', b"Infinity"), "body: Infinity is not JSON"),
        (BODY.replace(b'"theme"', b"true"), "metric: not a string"),
        (BODY.replace(b'"theme"', b"1" * 5000), "body: not JSON"),
        (BODY.replace(b'"theme"', b'"theme","metric":"theme"'), "metric: given twice"),
        (BODY.replace(b'"theme"', b'"theme","user":"42"'), "body: unknown member"),
        (b"{}", "batch: missing"),
        (body(batch="0" * 31), "batch: not 32"),
        (body(batch="A" * 32), "batch: not 32"),
        (body(batch="0" * 32 + "\n"), "batch: not 32"),
        (body(version="x" * 16), "version: not 16"),
        (body(reports="AQI"), "reports: not base64"),
        (body(reports="AQIA\n"), "reports: not base64"),
        (body(reports="AQ==AQ=="), "reports: not base64"),
        (body(reports="AR=="), "reports: not canonical base64"),
        (body(reports="ß"), "reports: not base64"),
        (body(reports=""), "reports: empty"),
        (BODY + b"x", "body: not JSON"),
    ],
)
def test_bodies_that_no_honest_peer_sends(wrong: bytes, complaint: str) -> None:
    with pytest.raises(WireError) as caught:
        Batch.decode(wrong)
    assert str(caught.value).startswith(complaint)
