"""What is local, and that it opens nothing but reporting."""

import pytest
from werkzeug.test import EnvironBuilder

from dither_serving.locality import Here, is_loopback
from dither_shared import ParameterError

LOCAL = {
    "REMOTE_ADDR": "127.0.0.1",
    "HTTP_HOST": "127.0.0.1:8000",
    "SERVER_PROTOCOL": "HTTP/1.1",
    "REQUEST_URI": "/v1/reports",
}


def made(address: str = "127.0.0.1:8000", **environ: str) -> bool:
    return Here.at(address).made({**EnvironBuilder().get_environ(), **LOCAL, **environ})


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "LocalHost:8000", "[::1]:8000"])
def test_a_local_request_names_the_listening_address(host: str) -> None:
    assert made(HTTP_HOST=host)
    assert made("[::1]:8000", HTTP_HOST=host, REMOTE_ADDR="::1")


@pytest.mark.parametrize(
    "host",
    [
        "", "localhost", "127.0.0.1", "localhost:80", "localhost:8001", "localhost:8000.", "localhost.:8000",
        "localhost:08000", "localhost:8000, localhost:8000", "localhost:8000,evil.example", "localhost:8000/",
        "user@localhost:8000", "127.1:8000", "127.0.0.2:8000", "0.0.0.0:8000", "[::1%25lo]:8000", "::1:8000",
        "evil.example", "evil.example:8000", "localhost.evil.example:8000", "localhost:8000 ", "localhost:\u0668000",
    ],
)  # fmt: skip
def test_another_host_is_not_local(host: str) -> None:
    """A page that rebinds its name to loopback sends that name; what is near enough to ours is not ours."""
    assert not made(HTTP_HOST=host)


@pytest.mark.parametrize(
    "name",
    [
        "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Anything", "X-Real-IP",
        "Via", "CF-Connecting-IP", "CF-Connecting-IPv6", "CF-Ray", "True-Client-IP", "X-Client-IP",
        "Fastly-Client-IP", "X-Azure-ClientIP", "X-Cluster-Client-IP", "X-Original-Forwarded-For",
        "X-Original-Host", "X-Envoy-External-Address", "X-ProxyUser-Ip", "Proxy-Connection", "CDN-Loop",
        "Max-Forwards", "Origin", "Referer", "Sec-Fetch-Site",
    ],
)  # fmt: skip
def test_what_shows_another_behind_it_is_not_local(name: str) -> None:
    assert not made(**{"HTTP_" + name.upper().replace("-", "_"): ""})


@pytest.mark.parametrize(
    "environ",
    [
        {"SERVER_PROTOCOL": "HTTP/1.0"},
        {"SERVER_PROTOCOL": "HTTP/0.9"},
        {"SERVER_PROTOCOL": "HTTP/1.11"},
        {"REMOTE_ADDR": "192.0.2.7"},
        {"REMOTE_ADDR": ""},
        {"REMOTE_ADDR": "fe80::1%lo"},
        {"REMOTE_ADDR": "localhost.evil.example"},
        {"REQUEST_URI": "http://localhost:8000/v1/reports"},
    ],
)
def test_other_signs_of_a_proxy(environ: dict[str, str]) -> None:
    assert made()
    assert not made(**environ)


@pytest.mark.parametrize("address", ["", "0.0.0.0:8000", "[::]:8000", "192.0.2.1:8000", "[fe80::1%eth0]:8000"])
def test_nothing_is_local_to_a_socket_that_others_reach(address: str) -> None:
    assert Here.at(address).hosts == frozenset()
    assert not made(address)


def test_the_usual_port_may_be_left_out() -> None:
    assert made("127.0.0.1:80", HTTP_HOST="localhost")
    assert made("127.0.0.1:80", HTTP_HOST="localhost:80")


@pytest.mark.parametrize(
    "address", ["8000", "localhost", ":8000", "localhost:0", "localhost:x", "http://localhost:8000", "a@localhost:1"]
)
def test_what_is_no_address_is_told(address: str) -> None:
    with pytest.raises(ParameterError, match=r"local_address: .* such as 127\.0\.0\.1:8000"):
        Here.at(address)


def test_what_is_loopback() -> None:
    for host, local in (("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("h", False)):  # noqa: S104
        assert is_loopback(host) is local
