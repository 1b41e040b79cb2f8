"""Addresses: which requests are local, which peer a declared proxy forwards for; and the settings of every server."""

import pytest
from werkzeug.test import EnvironBuilder

from dither_serving.addresses import LocalHosts, Proxies, is_loopback
from dither_serving.settings import ServerSettings
from dither_shared import ParameterError


def test_a_declared_proxy_is_believed_for_the_last_address_that_is_no_proxy() -> None:
    proxies = Proxies("10.0.0.0/8, 192.0.2.1, ::1")
    assert all(address in proxies for address in ("10.1.2.3", "192.0.2.1", "::ffff:10.1.2.3", "::1"))
    assert not any(address in proxies for address in ("192.0.2.2", "", "x"))
    assert proxies.forwarded("203.0.113.9, 198.51.100.4, 10.0.0.3") == "198.51.100.4"
    assert proxies.forwarded("") == ""
    assert "127.0.0.1" not in Proxies("")
    with pytest.raises(ParameterError, match="proxies: not addresses or networks"):
        Proxies("localhost")


def test_port_behind_a_forwarded_address_is_left_out() -> None:
    for header, address in (
        ("198.51.100.4:50123", "198.51.100.4"),
        ("[2001:db8::7]:443", "2001:db8::7"),
        ("[2001:db8::7]", "2001:db8::7"),
        ("2001:db8::7", "2001:db8::7"),
        ("198.51.100.4:50123, 10.0.0.3:8080, [::1]:80", "198.51.100.4"),
        ("198.51.100.4, :80", "198.51.100.4"),
        ("unknown", "unknown"),
        ("198.51.100.4:123456", "198.51.100.4:123456"),
    ):
        assert Proxies("10.0.0.0/8, ::1").forwarded(header) == address


def test_a_peer_is_an_address_or_the_one_that_a_declared_proxy_names() -> None:
    proxies = Proxies("10.0.0.0/8")
    for address, forwarded, peer in (
        ("192.0.2.1", None, "192.0.2.1"),
        ("192.0.2.1", "198.51.100.4", "192.0.2.1"),  # which anyone can write
        ("10.0.0.1", "198.51.100.4", "198.51.100.4"),
        ("10.0.0.1", "2001:db8::1:2:3:4", "2001:db8::/64"),
        ("2001:db8:0:0:7::1", None, "2001:db8::/64"),
        ("::ffff:192.0.2.1", None, "192.0.2.1"),
        ("10.0.0.1", None, "unknown"),
        ("", None, "unknown"),
    ):
        environ = {"REMOTE_ADDR": address} | ({} if forwarded is None else {"HTTP_X_FORWARDED_FOR": forwarded})
        assert proxies.peer_of(environ) == peer


LOCAL = {
    "REMOTE_ADDR": "127.0.0.1",
    "HTTP_HOST": "127.0.0.1:8000",
    "SERVER_PROTOCOL": "HTTP/1.1",
    "REQUEST_URI": "/v1/reports",
}


def made(address: str = "127.0.0.1:8000", **environ: str) -> bool:
    return LocalHosts.at(address).is_source_of({**EnvironBuilder().get_environ(), **LOCAL, **environ})


def test_local_request_names_the_listening_address() -> None:
    for host in ("127.0.0.1:8000", "localhost:8000", "LocalHost:8000", "[::1]:8000"):
        assert made(HTTP_HOST=host), host
        assert made("[::1]:8000", HTTP_HOST=host, REMOTE_ADDR="::1"), host
    for host in ("localhost", "localhost:80"):  # the usual port may be left out
        assert made("127.0.0.1:80", HTTP_HOST=host), host


def test_request_for_another_host_is_not_local() -> None:
    """A page that rebinds its name to loopback sends that name; a name similar to ours is not ours."""
    for host in (
        "", "localhost", "127.0.0.1", "localhost:80", "localhost:8001", "localhost:8000.", "localhost.:8000",
        "localhost:08000", "localhost:8000, localhost:8000", "localhost:8000,evil.example", "localhost:8000/",
        "user@localhost:8000", "127.1:8000", "127.0.0.2:8000", "0.0.0.0:8000", "[::1%25lo]:8000", "::1:8000",
        "evil.example", "evil.example:8000", "localhost.evil.example:8000", "localhost:8000 ", "localhost:\u0668000",
    ):  # fmt: skip
        assert not made(HTTP_HOST=host), host


def test_request_with_a_header_of_a_proxy_or_page_is_not_local() -> None:
    for name in (
        "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Anything", "X-Real-IP",
        "Via", "CF-Connecting-IP", "CF-Connecting-IPv6", "CF-Ray", "True-Client-IP", "X-Client-IP",
        "Fastly-Client-IP", "X-Azure-ClientIP", "X-Cluster-Client-IP", "X-Original-Forwarded-For",
        "X-Original-Host", "X-Envoy-External-Address", "X-ProxyUser-Ip", "Proxy-Connection", "CDN-Loop",
        "Max-Forwards", "Origin", "Referer", "Sec-Fetch-Site",
    ):  # fmt: skip
        assert not made(**{"HTTP_" + name.upper().replace("-", "_"): ""}), name


def test_request_of_an_old_protocol_a_far_peer_or_an_absolute_address_is_not_local() -> None:
    assert made()
    for name, values in {
        "SERVER_PROTOCOL": ("HTTP/1.0", "HTTP/0.9", "HTTP/1.11"),
        "REMOTE_ADDR": ("192.0.2.7", "", "fe80::1%lo", "localhost.evil.example"),
        "REQUEST_URI": ("http://localhost:8000/v1/reports",),
    }.items():
        for value in values:
            assert not made(**{name: value}), (name, value)


def test_nothing_is_local_to_a_socket_that_others_reach() -> None:
    for address in ("", "0.0.0.0:8000", "[::]:8000", "192.0.2.1:8000", "[fe80::1%eth0]:8000"):
        assert not made(address), address


def test_local_address_that_is_none_is_refused_with_an_example() -> None:
    for address in ("8000", "localhost", ":8000", "localhost:0", "localhost:x", "http://localhost:8000", "a@b:1"):
        with pytest.raises(ParameterError, match=r"local_address: .* such as 127\.0\.0\.1:8000"):
            LocalHosts.at(address)


def test_loopback_addresses_are_recognised() -> None:
    for host, local in (("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("h", False)):  # noqa: S104
        assert is_loopback(host) is local


def test_settings_of_every_server_are_checked_and_named() -> None:
    ServerSettings(port=65_535, proxies="10.0.0.0/8", horizon=31)
    wrong: list[tuple[str, object]] = [("port", -1), ("port", 65_536), ("proxies", "nobody"), ("horizon", 30)]
    for name, value in [*wrong, ("log_level", "loud"), ("threads", 0), ("lock_wait", 0.0)]:
        with pytest.raises(ParameterError) as caught:
            ServerSettings(**{name: value})  # type: ignore[arg-type]  # that is what is tested
        assert caught.value.place == name
