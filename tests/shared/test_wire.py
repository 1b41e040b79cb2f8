"""The wire format is read strictly: bytes that no honest peer writes are refused."""

import json
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither_shared import Batch, WireError

BATCH = Batch("0123456789abcdef" * 2, "theme", "00112233aabbccdd", b"\x01\x02\x00")
BODY = BATCH.encode()


def body(**changed: object) -> bytes:
    return json.dumps(json.loads(BODY) | changed).encode()


def test_the_stratum_stands_behind_the_version() -> None:
    batch = BATCH._replace(stratum="linux/beta")
    assert batch.encode() == BODY.replace(b'"reports"', b'"stratum":"linux/beta","reports"')
    assert Batch.decode(batch.encode()) == batch
    assert Batch.decode(body(stratum="linux/beta")) == batch  # in any order
    assert Batch.decode(BODY).stratum is None


def test_bodies_without_end_are_refused() -> None:
    """tests/vectors/batches.json has the other bodies that no honest peer sends."""
    for wrong in (b"[" * 100_000, BODY.replace(b'"theme"', b"1" * 5000)):
        with pytest.raises(WireError, match="body: "):
            Batch.decode(wrong)


def decoded(body: bytes) -> Batch | str:
    try:
        return Batch.decode(body)
    except WireError as error:
        return str(error)


NAMES = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(["theme", "", "]}", "a b"])
BATCHES = st.builds(
    Batch,
    st.text("0123456789abcdef", min_size=32, max_size=32),
    NAMES,
    st.text("0123456789abcdef", min_size=16, max_size=16),
    st.binary(min_size=1, max_size=9),
    st.none()
    | st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)
    | st.sampled_from(["linux", "a/b", "x" * 100]),
)
BLANKS = st.sampled_from([b"", b" ", b"  ", b"\t", b"\n", b"\r\n", b"\x0b", b"\xc2\xa0"])
PIECES = st.sampled_from([bytes([byte]) for byte in range(256)] + [b'"', b"\\", b"\\u0061", b"{", b"[", b"==", b"AR=="])


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Draw a peer's body: with blanks anywhere, then perhaps changed, cut or lengthened somewhere."""
    written = draw(BATCHES).encode()
    for mark in (b"{", b":", b",", b"}"):
        written = written.replace(mark, draw(BLANKS) + mark + draw(BLANKS)) if draw(st.booleans()) else written
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(written)))
        written = written[:start] + draw(PIECES) + written[start + draw(st.integers(0, 2)) :]
    return written


@settings(max_examples=200)  # every change of one byte is tried below, without chance
@given(bodies())
def test_quick_reader_takes_nothing_that_the_strict_one_refuses(body: bytes) -> None:
    """Two blanks behind a body leave it to the strict reader."""
    read, strictly = decoded(body), decoded(body + b"  ")
    assert read == strictly or (isinstance(read, str) and isinstance(strictly, str))


@settings(max_examples=100)
@given(BATCHES)
def test_quick_reader_takes_what_this_code_and_json_write(batch: Batch) -> None:
    names = batch.metric + (batch.stratum or "")
    plain = names.isascii() and names.isprintable() and not set(names) & set('"\\[{')
    for written in (batch.encode(), json.dumps(json.loads(batch.encode())).encode()):
        with patch("json.loads", wraps=json.loads) as parser:
            read = decoded(written)
        assert (read == batch and not parser.called) == plain


def test_quick_reader_takes_no_body_with_one_byte_changed_unless_the_strict_one_does() -> None:
    """Try all neighbours of a body: each byte replaced by every printable one and some others, dropped, or doubled."""
    written = BATCH._replace(stratum="linux").encode()
    for place in range(len(written)):
        head, tail = written[:place], written[place + 1 :]
        others = [*range(0x20, 0x7F), 0, 9, 10, 13, 0x7F, 0x80, 0xC2, 0xFF]
        changed = [head + bytes([byte]) + tail for byte in others]
        for body in [*changed, head + tail, head + written[place : place + 1] * 2 + tail]:
            read = decoded(body)
            assert isinstance(read, str) or read == decoded(body + b"  ")
