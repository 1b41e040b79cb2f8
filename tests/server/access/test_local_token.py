"""The token that a collector draws at its start: who can read with it, and how a browser keeps it."""

import base64
from collections.abc import Callable
from http.cookies import SimpleCookie

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from dither_server.access.tokens import LocalToken
from dither_server.app import collector_of
from server.collecting import batch, problem

READ = ("/", "/m/theme", "/v1/metrics", "/v1/metrics/theme/estimate", "/metrics")


@pytest.fixture
def app(make_app: Callable[..., Flask]) -> Flask:
    """A collector that is closed but to this machine's reports."""
    return make_app(open=frozenset())


@pytest.fixture
def token(app: Flask) -> LocalToken:
    return collector_of(app).gatekeeper.draw_local_token(8000)


def get(app: Flask, path: str, **headers: str) -> TestResponse:
    """Return the status that somebody on this machine gets without a cookie."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return app.test_client(use_cookies=False).get(path, headers=named)


def test_reading_from_this_machine_needs_a_token(app: Flask) -> None:
    """As all did who came from loopback, or through a proxy on this machine that says nothing of itself."""
    for path in READ:
        assert problem(get(app, path)) == (401, "unauthorized")
    sent = app.test_client().post("/v1/reports", data=batch().encode(), content_type="application/json")
    assert sent.status_code == 202


def test_local_token_reads_and_does_nothing_else(app: Flask, token: LocalToken) -> None:
    basic = base64.b64encode(f"me:{token.token}".encode()).decode()
    for path in READ:
        assert get(app, path, Authorization=f"Bearer {token.token}").status_code == 200
        assert get(app, path, Authorization=f"Basic {basic}").status_code == 200
        assert get(app, path, Authorization=f"Bearer {token.token}x").status_code == 401
        assert get(app, path, Authorization=f"Bearer {token.cookie}").status_code == 401
    far = {"REMOTE_ADDR": "192.0.2.7", "HTTP_AUTHORIZATION": f"Bearer {token.token}"}
    sent = app.test_client().post("/v1/reports", data=batch().encode(), environ_overrides=far)
    assert problem(sent) == (403, "forbidden")


def test_page_opened_with_the_local_token_sets_a_cookie_and_drops_the_token_from_its_address(
    app: Flask, token: LocalToken
) -> None:
    answer = get(app, f"/m/theme?since=2026-11-01&token={token.token}&find=a%26b")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/m/theme?since=2026-11-01&find=a%26b")
    assert (answer.headers["Cache-Control"], answer.headers["Referrer-Policy"]) == ("no-store", "no-referrer")
    (kept,) = answer.headers.getlist("Set-Cookie")
    morsel = SimpleCookie(kept)["dither-8000"]
    assert (morsel["samesite"], morsel["httponly"], morsel["path"]) == ("Strict", True, "/")
    assert (morsel["secure"], morsel["domain"], morsel["max-age"], morsel["expires"]) == ("", "", "", "")
    assert token.token not in "".join(f"{name}{value}" for name, value in answer.headers) + answer.text
    for path in READ:
        assert get(app, path, Cookie=f"other=1; dither-8000={morsel.value}").status_code == 200
    secure = get(app, f"/?token={token.token}", X_Forwarded_Proto="https").headers["Set-Cookie"]
    assert "; Secure" in secure
    assert "; Secure" in get(app, f"/?token={token.token}", Forwarded="for=unknown;proto=https").headers["Set-Cookie"]


def test_cookie_is_not_accepted_as_a_token_nor_a_token_as_a_cookie(app: Flask, token: LocalToken) -> None:
    for cookie in (
        "",
        "dither-8000=",
        f"dither-8000={token.token}",
        f"dither-8001={token.cookie}",
        f"dither-8000={token.cookie[:-1]}",
        f"x=dither-8000={token.cookie}",
        "dither-8000=" + "x" * 5000,
        "dither-8000=\xff",
    ):
        assert get(app, "/", Cookie=cookie).status_code == 401, cookie
    # Another port of this host may have set one of the same name, for a path before ours.
    assert get(app, "/m/theme", Cookie=f"dither-8000=tossed; dither-8000={token.cookie}").status_code == 200


def test_cookie_of_the_local_token_only_reads(app: Flask, token: LocalToken) -> None:
    """No page of another site or port may make the browser use the cookie for anything else."""
    kept = f"dither-8000={token.cookie}"
    far = {"REMOTE_ADDR": "192.0.2.7", "HTTP_COOKIE": kept}
    client = app.test_client(use_cookies=False)
    for method, path, status in (("POST", "/v1/reports", 401), ("GET", "/v1/reports", 401), ("HEAD", "/", 200)):
        assert client.open(path, method=method, environ_overrides=far).status_code == status
    for site, mode, status in (
        ("none", "navigate", 200),
        ("same-origin", "cors", 200),
        ("same-site", "cors", 401),
        ("cross-site", "no-cors", 401),
        ("same-site", "navigate", 200),
    ):
        assert get(app, "/", Cookie=kept, Sec_Fetch_Site=site, Sec_Fetch_Mode=mode).status_code == status


def test_redirect_that_drops_the_token_leads_to_the_same_page(app: Flask, token: LocalToken) -> None:
    for asked, location in (
        ("/?{}", "/"),
        ("/m/theme?{}&_external=1&_scheme=javascript&_anchor=x", "/m/theme?_external=1&_scheme=javascript&_anchor=x"),
        ("/m/theme?{}&name=other&endpoint=x", "/m/theme?name=other&endpoint=x"),
        ("/m/%5Cevil.example?{}", "/m/%5Cevil.example"),
        ("/m/a%0d%0aSet-Cookie:%20b?{}", "/m/a%0D%0ASet-Cookie:%20b"),
        ("/?find=%0d%0a//evil.example&{}", "/?find=%0D%0A%2F%2Fevil.example"),
        ("/?{}&token=again", "/"),
    ):
        for host in ("localhost", "evil.example"):
            answer = get(app, asked.format(f"token={token.token}"), Host=host)
            assert (answer.status_code, answer.headers["Location"]) == (303, location)
    mounted = app.test_client().get(
        "/", query_string=f"token={token.token}", environ_overrides={"SCRIPT_NAME": "//e.x"}
    )
    assert mounted.headers["Location"] == "/e.x/"


def test_only_the_local_token_is_accepted_in_the_address_and_only_by_pages(app: Flask, token: LocalToken) -> None:
    for path in ("/?token=", "/?token=wrong", f"/?token={token.cookie}", f"/m/theme?token=wrong&token={token.token}"):
        answer = get(app, path)
        assert problem(answer) == (401, "unauthorized")
        assert "Set-Cookie" not in answer.headers
    for path, status in (("/v1/metrics", 401), ("/metrics", 401), ("/nowhere", 404)):
        answer = get(app, f"{path}?token={token.token}")
        assert (answer.status_code, "Set-Cookie" in answer.headers) == (status, False)


def test_token_is_dropped_from_the_address_where_reading_is_open(make_app: Callable[..., Flask]) -> None:
    answer = get(make_app(), "/?token=of-yesterday")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    assert "Set-Cookie" not in answer.headers


def test_the_token_of_another_process_opens_nothing(app: Flask, token: LocalToken) -> None:
    again = collector_of(app).gatekeeper.draw_local_token(8000)
    assert get(app, "/", Authorization=f"Bearer {token.token}").status_code == 401
    assert get(app, "/", Cookie=f"dither-8000={token.cookie}").status_code == 401
    assert get(app, "/", Authorization=f"Bearer {again.token}").status_code == 200
