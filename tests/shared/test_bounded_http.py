"""Bodies of answers; heads, TLS and deadlines are tested at sockets in tests/client/upload/test_hostile_peer.py."""

import pytest

from dither_shared.bounded_http import AnswerError, exchange, request


class Said:
    """A stream of a peer's bytes, which arrive in pieces of a fixed size."""

    def __init__(self, words: bytes, size: int) -> None:
        self._pieces = [words[start : start + size] for start in range(0, len(words), size)]
        self.sent = b""

    def send(self, data: bytes) -> None:
        self.sent += data

    def receive(self) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""

    def close(self) -> None:
        pass


HEAD = b"HTTP/1.1 200 OK\r\nServer: x\r\nserver: y\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("size", [1, 4096])
@pytest.mark.parametrize(
    ("words", "body"),
    [
        (HEAD + b"\r\nto the end", b"to the end"),
        (HEAD + b"Content-Length: 4\r\n\r\nfour, and more", b"four"),
        (HEAD + b"Content-Length: 99999999999999999999\r\n\r\n" + b"x" * 30, b"x" * 20),
        (HEAD + b"Content-Length: 0\r\n\r\n", b""),
        (CHUNKED + b"4\r\nfour\r\n5;a=b\r\n more\r\n0\r\nTrailer: x\r\n\r\n", b"four more"),
        (CHUNKED + b"ffffffffffff\r\n" + b"x" * 30, b"x" * 20),
        (CHUNKED + b"14\r\n" + b"x" * 20 + b"\r\n14\r\n", b"x" * 20),
    ],
)
def test_a_body_is_read_up_to_its_end_or_the_limit(words: bytes, body: bytes, size: int) -> None:
    stream = Said(words, size)
    sent = request("GET", "/x", {"Host": "example.org"})
    status, fields, received = exchange(stream, sent, 20)
    assert (status, fields["server"], received[:20]) == (200, "x", body)
    assert stream.sent == b"GET /x HTTP/1.1\r\nHost: example.org\r\n\r\n"


@pytest.mark.parametrize(
    "words",
    [
        HEAD + b"Content-Length: 4\r\n\r\nfou",
        HEAD + b"Content-Length: \xb2\r\n\r\nxx",
        CHUNKED + b"-1\r\nx",
        CHUNKED + b"0x4\r\nfour\r\n",
        CHUNKED + b"1" * 17 + b"\r\nx",
        CHUNKED + b"4\r\nfour\r\n",
        CHUNKED + b"1\r\nx\r\n" * 10_000,
    ],
)
def test_response_with_an_impossible_length_is_refused(words: bytes) -> None:
    with pytest.raises(AnswerError):
        exchange(Said(words, 4096), b"", 1 << 14)
