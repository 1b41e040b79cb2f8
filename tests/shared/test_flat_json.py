"""Flat objects are read strictly. Here are the rules for all objects; those of a batch are tested with the batch."""

import pytest

from dither_shared import WireError
from dither_shared.flat_json import base64, read_base64, read_object

FIELDS, KNOWN = ("a",), ("a", "b")


def test_optional_members_of_a_flat_object_may_be_missing() -> None:
    assert read_object(b'{"a":"1"}', FIELDS, KNOWN) == {"a": "1"}
    assert read_object(b'{"b":"2","a":"1"}', FIELDS, KNOWN) == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"b":"2"}', "a: missing; the object has a"),
        (b'{"a":"1","c":"2"}', "unknown member; the object has a, b"),
        (b'{"a":"1","a":"1"}', "a: given twice"),
        (b'{"a":1}', "a: not a string"),
        (b'{"a":NaN}', "NaN is not JSON"),
        (b'{"a":{}}', "nested"),
        (b'{"a":[]}', "nested"),
        (b'"a"', "not a JSON object"),
        (b"\xff", "not UTF-8"),
        (b"", "not JSON"),
    ],
)
def test_mistake_in_a_flat_object_is_named(body: bytes, message: str) -> None:
    with pytest.raises(WireError, match=message):
        read_object(body, FIELDS, KNOWN)


def test_base64_is_canonical() -> None:
    for data in (b"", b"a", b"ab", b"abc", bytes(range(256))):
        assert read_base64(base64(data), "a") == data
    for text in ("YR==", "YQ=", "YQ", "Y Q==", "é", "YQ==YQ=="):
        with pytest.raises(WireError, match=r"a: not .*base64"):
            read_base64(text, "a")
