"""Requests are parsed the same in whatever parts they arrive, and ambiguous ones are refused."""

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither_serving.parser import Parser
from dither_serving.request import Request, environ_of, path_of

HEAD = b"POST /v1/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def read(data: Iterable[bytes], body: int = 1000) -> list[Request | HTTPStatus]:
    """The requests of a connection, and the status that ends it, as a connection takes them off its parser."""
    parser = Parser(body)
    items: list[Request | HTTPStatus] = []
    for part in data:
        parser.receive(part)
        while (item := parser.next()) is not None:
            items.append(item)
            parser.begin()
            if isinstance(item, Request) and not item.keeps_alive:
                parser.close()
    assert parser.held == 0 or parser.is_partial
    return items


GOOD = HEAD + b"X-A: 1\r\nContent-Length: 5\r\n\r\n12345"
POSTED = ("POST", b"/v1/reports", b"12345")
LONGEST_HEAD = 1 << 15
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n12\r\n3\r\n345\r\n0\r\nX-Forwarded-For: 127.0.0.1\r\n\r\n"


@settings(max_examples=60)
@given(st.lists(st.integers(0, len(GOOD + GOOD + CHUNKED)), max_size=12))
def test_request_is_parsed_the_same_however_it_is_cut_into_parts(cuts: list[int]) -> None:
    whole = GOOD + GOOD + CHUNKED
    places = [0, *sorted(cuts), len(whole)]
    requests = read(whole[start:end] for start, end in pairwise(places))
    assert requests == read([whole])
    whole_ones = [request for request in requests if isinstance(request, Request)]
    assert [(request.method, request.target, request.body) for request in whole_ones] == [POSTED] * 3
    assert not any("HTTP_X_FORWARDED_FOR" in environ_of(request, "", ("", 0)) for request in whole_ones)


AMBIGUOUS = [
    b"POST /v1/reports HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n12345",
    b"POST / HTTP/1.1\r\nContent-Length : 5\r\n\r\n12345",
    b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n12345",
    b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 4400 + b"\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
    b"GET / HTTP/1.1\r\nX: a\0b\r\n\r\n",
    b"GET / HTTP/2.0\r\n\r\n",
    b"GET / HTTP/1.1 \r\nno header\r\n\r\n",
    b"GET ftp://x/ HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET /\r\n\r\n",
    b"GET / HTTP/1.1\n\n",
    b"GET / HTTP/1.1\r\nHost: a\n\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\n\nGET /b HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nX: a\r\nY\r: b\r\n\r\n",
    b"GET /a b HTTP/1.1\r\n\r\n",
    b"GET  / HTTP/1.1\r\n\r\n",
    b" GET / HTTP/1.1\r\n\r\n",
    b"OPTIONS * RTSP/1.0\r\n\r\n",
    b"GET / RTSP/1.0\r\n\r\n",
    b"SOURCE / ICE/1.0\r\n\r\n",
    b"SSH-2.0-OpenSSH_9.2\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\n12345",
    b"POST / HTTP/1.1\r\nContent-Length: +5\r\n\r\n12345",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\n12345\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
]


def test_ambiguous_requests_are_refused() -> None:
    for wrong in AMBIGUOUS:
        assert read([wrong + GOOD]) == [HTTPStatus.BAD_REQUEST], wrong
        assert read(bytes([byte]) for byte in wrong + GOOD) == [HTTPStatus.BAD_REQUEST], wrong


def test_size_of_a_request_is_bounded_while_it_arrives() -> None:
    def drip(part: bytes) -> Iterator[bytes]:
        yield HEAD
        yield from (part for _ in range(100_000))

    assert read(drip(b"X: " + b"a" * 500)) == [HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE]
    assert read([HEAD + b"Content-Length: 1001\r\n\r\n"]) == [HTTPStatus.REQUEST_ENTITY_TOO_LARGE]
    chunks = [HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[b"64\r\n" + b"x" * 100 + b"\r\n"] * 11]
    assert read(chunks) == [HTTPStatus.REQUEST_ENTITY_TOO_LARGE]
    trailers = [HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", *[b"X: " + b"a" * 500] * 1000]
    assert read(trailers) == [HTTPStatus.REQUEST_ENTITY_TOO_LARGE]


@pytest.mark.parametrize("step", [1, 1000, 1 << 20])
def test_the_limit_of_a_head_does_not_depend_on_reads(step: int) -> None:
    def in_steps(data: bytes) -> Iterator[bytes]:
        return (data[start : start + step] for start in range(0, len(data), step))

    longest = b"GET / HTTP/1.1\r\nX: " + b"a" * (LONGEST_HEAD - 23) + b"\r\n\r\n"
    assert len(longest) == LONGEST_HEAD
    assert [type(item) for item in read(in_steps(longest + GOOD))] == [Request, Request]
    longer = longest.replace(b"X: a", b"X: aa")
    assert read(in_steps(longer + GOOD)) == [HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE]
    headers = b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: \r\n" % number for number in range(100))
    assert [type(item) for item in read(in_steps(headers + b"\r\n"))] == [Request]
    assert read(in_steps(headers + b"Y: \r\n\r\n" + GOOD)) == [HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE]


def test_held_bytes_return_to_zero() -> None:
    for end in (b"", b"\0" * 2000):
        parser = Parser(1000)
        parser.receive(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n")
        assert parser.next() is None
        assert parser.held == 3 * len(HEAD + b"Transfer-Encoding: chunked\r\n\r\n") + 5
        parser.receive(end)
        parser.next()
        parser.close()
        assert parser.held == 0
    parser.receive(GOOD)
    assert parser.held == 0


def test_one_request_is_taken_at_a_time_and_what_follows_stays_unparsed() -> None:
    parser = Parser(1000)
    parser.receive(GOOD + b"\0 garbage")
    assert isinstance(parser.next(), Request)
    assert parser.held == 3 * (len(GOOD) - 5) + 5 + len(b"\0 garbage")
    parser.begin()
    assert parser.held == len(b"\0 garbage")
    assert parser.next() is HTTPStatus.BAD_REQUEST
    assert parser.held == 0


@pytest.mark.parametrize("after", [GOOD, b"\0 garbage", b"GET / HTTP/1.1\r\n\r\n" * 100, b""])
def test_chunked_request_ends_the_connection(after: bytes) -> None:
    for version in (b"1.0", b"1.1"):
        whole = CHUNKED.replace(b"HTTP/1.1", b"HTTP/" + version)
        for parts in ([whole + after], [bytes([byte]) for byte in whole + after]):
            (request,) = read(parts)
            assert isinstance(request, Request)
            assert (request.body, request.keeps_alive) == (b"12345", False)


def test_a_read_takes_what_the_body_lacks_and_little_beside_it() -> None:
    parser = Parser(1 << 20)
    assert parser.wanted == 1 << 14
    parser.receive(HEAD + b"Content-Length: 300000\r\n\r\n")
    assert parser.next() is None
    assert parser.wanted == 1 << 18
    parser.receive(b"x" * 200_000)
    assert parser.next() is None
    assert parser.wanted == 100_000
    parser.receive(b"x" * 99_999)
    assert parser.next() is None
    assert parser.wanted == 1 << 14


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/a%20b?c=%2F#d", (b"/a%20b", b"c=%2F")),
        (b"http://x:8/a?b", (b"/a", b"b")),
        (b"HTTPS://x", (b"/", b"")),
        (b"//x/a", (b"//x/a", b"")),
        (b"*", (b"*", b"")),
        (b"x", None),
        (b"ftp://x/a", None),
    ],
)
def test_request_target_is_split_into_path_and_query_or_refused(
    target: bytes, path: tuple[bytes, bytes] | None
) -> None:
    assert path_of(target) == path


def test_headers_are_passed_on_as_wsgi_variables() -> None:
    names = [(b"X_Forwarded_For", b"1"), (b"Cookie", b"a"), (b"cookie", b"b"), (b"X-A", b" 1 "), (b"x-a", b"2")]
    environ = environ_of(
        Request("GET", b"/%C3%A4", "1.1", names, b"", is_chunked=False, keeps_alive=True), "p", ("h", 1)
    )
    assert "HTTP_X_FORWARDED_FOR" not in environ
    assert (environ["HTTP_COOKIE"], environ["HTTP_X_A"]) == ("a; b", "1, 2")
    assert environ["PATH_INFO"].encode("latin-1").decode() == "/ä"


def test_refused_request_keeps_the_origin_that_was_read() -> None:
    assert Parser(10).refused == ("", b"", None)
    first = HEAD + b"Origin: https://c\r\nContent-Length: 5\r\n\r\n12345"  # of another request
    for head, origin in (
        (b"Origin: https://a\r\n", "https://a"),
        (b"ORIGIN:  https://a \r\norigin: https://b\r\n", "https://a, https://b"),
        (b"Origin: \xff\r\n", "\xff"),
        (b"Origin:\r\n", None),
        (b"X-Origin: https://a\r\n", None),
    ):
        parser = Parser(10)
        parser.receive(first + HEAD + head + b"Content-Length: 11\r\n\r\n")
        assert isinstance(parser.next(), Request)
        parser.begin()
        assert parser.next() is HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        assert parser.refused == ("POST", b"/v1/reports", origin)


def test_only_spaces_and_tabs_stand_around_a_value() -> None:
    (request,) = read([b"GET / HTTP/1.1\r\nOrigin: \t https://a\t \r\nHost: b\xa0\r\nX: \x85c\r\n\r\n"])
    assert isinstance(request, Request)
    environ = environ_of(request, "", ("", 0))
    assert (environ["HTTP_ORIGIN"], environ["HTTP_HOST"], environ["HTTP_X"]) == ("https://a", "b\xa0", "\x85c")
