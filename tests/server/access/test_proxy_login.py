"""A login at a proxy: who can read with it, and which forgeries are refused."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from dither_server.app import collector_of
from dither_serving.request import Request, environ_of
from dither_shared import ParameterError
from server.collecting import config

READ = ("/", "/m/theme", "/v1/metrics", "/v1/metrics/theme/estimate", "/metrics")
PROXY, STRANGER = "10.0.0.7", "192.0.2.7"


@pytest.fixture
def app(make_app: Callable[..., Flask]) -> Flask:
    """A closed collector that believes a proxy."""
    return make_app(open=frozenset(), proxies="10.0.0.0/24", login_header="X-Forwarded-User")


def status(app: Flask, path: str, peer: str, method: str = "GET", **headers: str) -> int:
    named = {f"HTTP_{name.upper()}": value for name, value in headers.items()}
    return app.test_client().open(path, method=method, environ_overrides={"REMOTE_ADDR": peer, **named}).status_code


def ignored(app: Flask) -> int:
    text = collector_of(app).prometheus.text(collector_of(app).gauges()).decode()
    return int(float(text.split("\ndither_logins_ignored_total ")[1].split("\n")[0]))


def test_user_named_by_the_proxy_may_read_and_nobody_else(app: Flask) -> None:
    for path in READ:
        assert status(app, path, PROXY, x_forwarded_user="anna@example.org") == 200
        assert status(app, path, PROXY) == 401
    for name in (" ", "anna, mallory", "mallory,", ",", "anna,anna"):  # a header that is sent twice names nobody
        assert status(app, "/v1/metrics", PROXY, x_forwarded_user=name) == 401
    for header in ("x_forwarded_email", "x_forwarded_preferred_username", "x_forwarded_user_", "remote_user"):
        assert status(app, "/v1/metrics", PROXY, **{header: "anna"}) == 401
    assert status(app, "/v1/diagnosis", PROXY, x_forwarded_user="anna") == 401  # a login only reads
    assert status(app, "/v1/reports", PROXY, "POST", x_forwarded_user="anna") == 401
    assert status(app, "/v1/metrics", PROXY, x_forwarded_user="anna", authorization="Bearer wrong") == 200
    assert ignored(app) == 0


def test_login_header_from_another_peer_is_ignored_counted_and_logged_once(
    app: Flask, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for peer in (STRANGER, "127.0.0.1", "::1", "", "10.0.1.7", "::ffff:192.0.2.7", "10.0.0.7, 192.0.2.7"):
            for path in READ:
                assert status(app, path, peer, x_forwarded_user="anna", x_forwarded_for=PROXY) == 401
    said = [record.getMessage() for record in caplog.records if "login header" in record.getMessage()]
    assert len(said) == 1
    assert not any(name in said[0] for name in (STRANGER, "anna"))
    assert ignored(app) == 7 * len(READ)


def test_the_server_lets_no_header_pass_for_another() -> None:
    def sent(*headers: tuple[bytes, bytes]) -> object:
        request = Request("GET", b"/", "1.1", list(headers), b"", False, False)
        return environ_of(request, PROXY, ("127.0.0.1", 8000)).get("HTTP_X_FORWARDED_USER")

    assert sent((b"X_Forwarded_User", b"mallory")) is None
    assert sent((b"X-Forwarded_User", b"mallory")) is None
    assert sent((b"x-forwarded-user", b"mallory"), (b"X-Forwarded-User", b"anna")) == "mallory, anna"


def test_another_sites_page_does_not_read_by_the_login_of_its_visitor(app: Flask) -> None:
    cross = {"sec_fetch_site": "cross-site", "x_forwarded_user": "anna"}
    assert status(app, "/v1/metrics", PROXY, **cross) == 401
    assert status(app, "/v1/metrics", PROXY, sec_fetch_mode="navigate", **cross) == 200


def test_login_header_is_ignored_unless_it_is_configured(make_app: Callable[..., Flask]) -> None:
    app = make_app(open=frozenset(), proxies="10.0.0.0/24")
    assert status(app, "/v1/metrics", PROXY, x_forwarded_user="anna") == 401
    assert ignored(app) == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"login_header": "X-Forwarded-User"}, "needs proxies"),
        ({"login_header": "X-Forwarded-For", "proxies": "10.0.0.1"}, "cannot name a person"),
        ({"login_header": "x-forwarded-proto", "proxies": "10.0.0.1"}, "cannot name a person"),
        ({"login_header": "X-Real-IP", "proxies": "10.0.0.1"}, "cannot name a person"),
        ({"login_header": "User-Agent", "proxies": "10.0.0.1"}, "cannot name a person"),
        ({"login_header": "X-Forwarded_User", "proxies": "10.0.0.1"}, "cannot name a person"),
        ({"login_header": "X-User", "proxies": "10.0.0.1, 0.0.0.0/0"}, "names every address"),
        ({"login_header": "X-User", "proxies": "::/0"}, "names every address"),
    ],
)
def test_settings_that_would_let_anybody_in_are_refused(settings: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=said):
        config(tmp_path, **settings)
