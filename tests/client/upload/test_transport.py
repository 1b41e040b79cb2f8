"""The bytes that arrive at a socket, and what answers can and cannot do."""

import time
from email.utils import formatdate
from pathlib import Path

import pytest

import dither
from client.conftest import Collector
from client.devices import METRICS, Make, Script
from client.seals import KEY
from dither.upload.transport import Endpoint, without_secrets
from dither_shared import Batch


def test_the_bytes_that_arrive_are_the_bytes_that_were_shown(make: Make, collector: Collector) -> None:
    client = make(transport=None, endpoint=collector.endpoint + "/telemetry/")
    for name in METRICS:
        client.record(name, "true")
    shown = client.preview()
    assert client.flush(60)
    assert [request.body for request in collector.arrived] == shown
    assert [Batch.decode(body).metric for body in shown] == list(METRICS)
    assert {request.path for request in collector.arrived} == {"/telemetry/v1/reports"}
    assert client.status().sent == len(METRICS)


def test_all_requests_look_alike(make: Make, collector: Collector) -> None:
    for _ in range(2):
        client = make(transport=None, endpoint=collector.endpoint)
        client.record("browser", "firefox")
        assert client.flush(60)
    first, second = (request.headers for request in collector.arrived)
    assert first == second
    assert first["User-Agent"] == "dither"
    assert first["Content-Type"] == "application/json"
    assert set(first) <= {"Host", "User-Agent", "Content-Type", "Content-Length", "Connection", "Accept-Encoding"}


def test_the_apps_token_is_sent_to_a_collector_and_is_the_only_difference(make: Make, collector: Collector) -> None:
    for token, seal in (("an-app's.token", None), (None, None), ("an-app's.token", KEY)):
        client = make(transport=None, endpoint=collector.endpoint, token=token, seal=seal)
        client.record("browser", "firefox")
        assert client.flush(60)
        assert (
            "app's" not in f"{client!r} {client.status()!r} {dither.HttpTransport(collector.endpoint, token=token)!r}"
        )
    first, second, relayed = (request.headers for request in collector.arrived)
    assert first.pop("Authorization") == "Bearer an-app's.token"
    assert first == second
    assert "Authorization" not in relayed


@pytest.mark.parametrize("token", ["", "a b", "a\r\nCookie: id=1", "ü", "a\x7f"])
def test_an_invalid_token_is_refused_and_not_quoted(token: str) -> None:
    with pytest.raises(dither.ParameterError, match=r"^token: ") as caught:
        dither.HttpTransport("https://example.org", token=token)
    assert len(token) < 2 or token not in str(caught.value)


@pytest.mark.parametrize("name", list(METRICS))
def test_the_length_of_a_body_does_not_depend_on_the_value(make: Make, name: str) -> None:
    lengths = set()
    for value in ("", "light", "x" * 5000, "ü€𐍈", True, 3, None, '\n"{}'):
        client = make(strict=False)
        client.record(name, value)
        lengths |= {len(body) for body in client.preview()}
    assert len(lengths) == 1


def test_retry_after_in_both_forms(collector: Collector) -> None:
    transport = dither.HttpTransport(collector.endpoint)
    wishes = ["17", formatdate(time.time() + 100, usegmt=True), formatdate(0, usegmt=True), "soon", "-3", "9" * 40, "²"]
    collector.answers = [(503, {"Retry-After": wish}) for wish in wishes[:-1]] + [(429, {})]
    answers = [transport.send(b"{}") for _ in wishes]
    assert [answer.status for answer in answers] == [503] * (len(wishes) - 1) + [429]
    seconds = [answer.retry_after for answer in answers]
    assert seconds[0] == 17
    assert seconds[1] is not None
    assert 0 < seconds[1] <= 100
    assert seconds[2:] == [0, None, None, 999_999_999, None]


@pytest.mark.parametrize(
    "endpoint",
    [
        *("", "example.org", "ftp://example.org", "http://", "http://host:port", "https://user@host", "https://h/?a=b"),
        *("http://a b", "http://a\0b", "http://ho<st", "http://example.org/ü", "http://h/a b", "http://ü" * 90),
        *("https://[::1", f"https://{'a' * 70}.org", "https://example.org:65536", "https://host:²"),
    ],
)
def test_an_invalid_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(dither.ParameterError, match=r"^endpoint: "):
        dither.HttpTransport(endpoint)


def test_a_password_in_an_escaped_endpoint_or_in_place_of_the_app_is_not_quoted(make: Make) -> None:
    with pytest.raises(dither.ParameterError, match="endpoint: what was given is not a URL"):
        dither.HttpTransport("https://host:Very-Secret%40host")
    with pytest.raises(dither.ParameterError, match=r"^app: this cannot be an app's name"):
        make(mode=None, app="https://user:Very-Secret@host", endpoint="notes")


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://user:Very-Secret@host",
        "https://user:Very-Secret@[host",
        "https://user:Very/Very-Secret@host",
        "user:Very-Secret@host",
        "//user:Very-Secret@host",
        "ftp://host?token=Very-Secret",
        "host#Very-Secret",
    ],
)
def test_an_endpoint_with_a_password_is_refused_and_quoted_nowhere(
    endpoint: str, make: Make, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(dither.ParameterError, match="endpoint") as caught:
        dither.HttpTransport(endpoint)
    assert "Secret" not in f"{caught.value!r} {caught.value}"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    refused = make(mode=None, strict=False, endpoint=endpoint, transport=None)
    custom = make(
        folder, endpoint=endpoint, transport=Script([OSError("down"), 401])
    )  # a custom transport may handle this endpoint
    custom.record("mobile", True)
    assert not custom.flush(60)
    assert not custom.flush(60)
    texts = f"{refused!r} {refused.status()} {custom!r} {custom.status()} {caplog.text}"
    assert "Secret" not in texts
    assert "Secret" not in (folder / "delivery").read_text()


@pytest.mark.parametrize(
    ("endpoint", "shown"),
    [
        ("https://example.org:8443/a/b", "https://example.org:8443/a/b"),
        ("https://user:word@example.org/a", "https://example.org/a"),
        ("wss://example.org?a=//b#c", "wss://example.org"),
        ("example.org", "example.org"),
        ("", ""),
    ],
)
def test_endpoints_are_shown_without_secrets(endpoint: str, shown: str) -> None:
    assert without_secrets(endpoint) == shown


@pytest.mark.parametrize(
    ("endpoint", "host"),
    [
        ("https://Telemetry.Example.ORG:443", "telemetry.example.org"),
        ("http://example.org:443", "example.org:443"),
        ("http://bücher.example", "xn--bcher-kva.example"),
        ("http://[2001:DB8::1]:80/", "[2001:db8::1]"),
        ("http://10.0.0.1:8000", "10.0.0.1:8000"),
    ],
)
def test_the_host_header_is_ascii_with_any_unusual_port(endpoint: str, host: str) -> None:
    assert Endpoint.parse(endpoint).authority == host
