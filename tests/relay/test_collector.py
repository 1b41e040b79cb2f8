import threading
from pathlib import Path

import pytest

from client.peers import certificate, replying_with, serving
from dither_relay.collector import CollectorClient, RejectedError, TroubleError
from dither_serving.collector_url import CollectorUrl
from dither_shared import ParameterError
from relay.fake_collector import collecting
from relay.relaying import POOLS


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("https://collector.example", (True, "collector.example", 443, "")),
        ("https://collector.example:8443/dither/", (True, "collector.example", 8443, "/dither")),
        ("http://127.0.0.1:8000", (False, "127.0.0.1", 8000, "")),
        ("http://[::1]:8000/", (False, "::1", 8000, "")),
    ],
)
def test_collector_urls_are_parsed(text: str, read: tuple[bool, str, int, str]) -> None:
    assert CollectorUrl.parse("collector", text) == read


WRONG = "|collector.example|ftp://x|https://|https://x:99999|http://[a|https://u:secret@x|https://x/?a|https://x/#a"


@pytest.mark.parametrize("text", [*WRONG.split("|"), "https://x y", "https://x/\r\nHost: y", "https://\xe4"])
def test_invalid_collector_urls_are_refused_without_their_password(text: str) -> None:
    with pytest.raises(ParameterError, match="collector: ") as caught:
        CollectorUrl.parse("collector", text)
    assert "secret" not in str(caught.value)


def test_a_token_can_be_read_without_https() -> None:
    urls = ("http://x", "https://x", "http://localhost:1")
    assert [CollectorUrl.parse("collector", url).is_exposed for url in urls] == [True, False, False]


def test_a_redirect_is_not_followed_and_its_token_goes_nowhere() -> None:
    with collecting(POOLS) as other, collecting(POOLS) as collector:
        collector.answers.append((307, {"Location": f"{other.url}/v1/sealed"}))
        with pytest.raises(RejectedError, match="redirects are not followed"):
            CollectorClient(collector.url, "secret", 5).post(b"{}", 1)
        assert other.tokens == set()


def test_certificate_is_refused_until_it_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, context = (
        replying_with(answer(b'{"pools": [], "batch_limit": 1, "body_limit": 1}')),
        certificate(tmp_path, "c"),
    )
    with serving(script, context) as peer:
        with pytest.raises(TroubleError, match="certificate is not valid"):
            CollectorClient(peer.endpoint, "", 5).listing()
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "c.pem"))
        assert CollectorClient(peer.endpoint, "", 5).listing()[1]["batch_limit"] == 1


def test_control_characters_of_the_collectors_answer_are_dropped() -> None:
    with collecting(POOLS) as collector:
        collector.answers.append(400)
        with pytest.raises(RejectedError, match=r"so it is: 400$"):
            CollectorClient(collector.url, "", 5).post(b"{}", 1)


def answer(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body


def answer_to_a_post(sent: bytes) -> None:
    with serving(replying_with(sent)) as peer:
        CollectorClient(peer.endpoint, "", 30).post(b"{}", 1)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 60_000,
        b"[]",
        b"",
        b'{"accepted": Infinity, "refused": 0}',
        b'{"accepted": 1, "refused": -1}',
        b'{"accepted": 1, "refused": 1' + b"0" * 30 + b"}",
        b'{"accepted": true, "refused": "0"}',
    ],
    ids=lambda body: body[:40].decode(),
)
def test_invalid_receipt_is_rejected(body: bytes) -> None:
    with pytest.raises(RejectedError, match="receipt"):
        answer_to_a_post(answer(body, b"202 Accepted"))


@pytest.mark.parametrize("status", [b"200 OK", b"400 No"])
def test_deeply_nested_answer_is_rejected(status: bytes) -> None:
    with serving(replying_with(answer(b"[" * 60_000, status))) as peer, pytest.raises(RejectedError):
        CollectorClient(peer.endpoint, "", 30).listing()


def test_endless_answer_is_read_up_to_the_limit() -> None:
    head = b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n"
    with serving(lambda peer, connection: peer.pour(connection, head + bytes(1 << 20), 1 << 26)) as peer:
        with pytest.raises(RejectedError, match="more than 65536 bytes"):
            CollectorClient(peer.endpoint, "", 30).post(b"{}", 1)
        assert peer.bytes_sent < 1 << 26


def test_answer_that_never_ends_is_cut_off_at_the_deadline() -> None:
    """The deadline holds although there is always something to read."""
    slow, gone = b"HTTP/1.1 202 Accepted\r\nA: " + bytes(1000), threading.Event()
    with serving(lambda peer, connection: peer.trickle(connection, slow, gone)) as peer:
        with pytest.raises(TroubleError, match=r"in 0\.3 seconds"):
            CollectorClient(peer.endpoint, "", 0.3).post(b"{}", 1)
        gone.set()


def test_truncated_answer_is_trouble_and_not_a_rejection() -> None:
    whole = answer(b'{"accepted": 1, "refused": 0}', b"202 Accepted")
    with pytest.raises(TroubleError):
        answer_to_a_post(whole[:-9])


def test_answer_that_is_no_http_is_reported_in_a_short_line() -> None:
    with pytest.raises(TroubleError) as caught:
        answer_to_a_post(b"\x1b[31mnot HTTP\x07" + b"A" * 50_000 + b"\r\n\r\n")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400
