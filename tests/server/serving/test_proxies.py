"""The client address that a declared proxy forwards, in each spelling that proxies use."""

import pytest

from dither_serving.addresses import Proxies
from dither_shared import ParameterError


def test_a_declared_proxy_is_believed_for_the_last_address_that_is_no_proxy() -> None:
    proxies = Proxies("10.0.0.0/8, 192.0.2.1, ::1")
    assert [
        address in proxies for address in ("10.1.2.3", "192.0.2.1", "::ffff:10.1.2.3", "::1", "192.0.2.2", "", "x")
    ] == [
        *[True] * 4,
        *[False] * 3,
    ]
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
