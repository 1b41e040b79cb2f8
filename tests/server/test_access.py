"""Who may do what: every route by every role, and how a token is recognised."""

import base64
import hashlib
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from flask import Flask
from werkzeug.routing import Rule
from werkzeug.test import EnvironBuilder, TestResponse

from dither_server.app import collector_of, create_app
from dither_server.auth import Gatekeeper, Role, digest_of, draw_token, is_loopback
from dither_server.dashboard.pages import pages
from dither_server.policies import OPEN, POLICIES
from dither_server.problems import Problem
from dither_server.routes import routes
from dither_server.store import StoredToken, StoreError
from server.collecting import THEME, TODAY, batch, config, problem

FAR = {"REMOTE_ADDR": "192.0.2.7"}
TOKENS = {role: draw_token(role) for role in Role}


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    app = create_app(config(tmp_path))
    for role, token in TOKENS.items():
        collector_of(app).store.add_token(StoredToken(digest_of(token), role.value, "", TODAY))
    yield app
    collector_of(app).close()


def rules() -> list[Rule]:
    """Every route that the app's own url map knows, without a list to be forgotten."""
    bare = Flask("dither_server")
    for blueprint in (routes, pages):
        bare.register_blueprint(blueprint)
    return list(bare.url_map.iter_rules())


def ask(app: Flask, rule: Rule, method: str, token: str | None) -> TestResponse:
    path = rule.rule.replace("<name>", "theme").replace("<path:filename>", "dashboard.css")
    path = path.replace("<version>", THEME.version)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    data = batch(THEME).encode() if method == "POST" else None
    with app.test_client() as client:
        answer = client.open(
            path, method=method, headers=headers, environ_overrides=FAR, data=data, content_type="application/json"
        )
        answer.get_data()
        answer.close()
        return answer


def test_every_route_has_a_policy_and_no_policy_is_left_over(app: Flask) -> None:
    assert {rule.endpoint for rule in app.url_map.iter_rules()} == set(POLICIES)


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.endpoint)
def test_the_matrix_of_routes_and_roles(rule: Rule, app: Flask) -> None:
    needed = POLICIES[rule.endpoint]
    for method in (rule.methods or set()) - {"OPTIONS"}:
        for role in (None, *Role):
            answer = ask(app, rule, method, None if role is None else TOKENS[role])
            allowed = needed is OPEN or (role is not None and role.covers(needed))
            if allowed:
                assert answer.status_code in {200, 202}, (method, role, answer.data)
            elif role is None:
                assert answer.status_code == 401
                assert 'Bearer realm="dither"' in answer.headers["WWW-Authenticate"]
            else:
                assert answer.status_code == 403
                assert method == "HEAD" or problem(answer) == (403, "forbidden")


def test_a_route_without_a_policy_is_refused_to_everyone(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(POLICIES, "dither.healthz")
    assert problem(app.test_client().get("/healthz")) == (403, "forbidden")


def test_roles() -> None:
    assert [[one.covers(other) for other in Role] for one in Role] == [
        [True, False, False],
        [False, True, False],
        [True, True, True],
    ]


def gatekeeper(*tokens: str, **more: object) -> Gatekeeper:
    stored = [StoredToken(digest_of(token), "read", "", date(2026, 1, 1)) for token in tokens]
    return Gatekeeper(lambda: stored, **more)  # type: ignore[arg-type]  # a test names only what it changes


def admitted(keeper: Gatekeeper, **environ: str) -> bool:
    built = EnvironBuilder().get_environ()
    del built["HTTP_HOST"]
    try:
        keeper.admit({**built, **FAR, **environ}, Role.READ)
    except Problem:
        return False
    return True


@pytest.mark.parametrize(
    ("header", "right"),
    [
        ("Bearer good", True),
        ("bearer  good", True),
        ("Basic " + base64.b64encode(b"anyone:good").decode(), True),
        ("Basic " + base64.b64encode(b"good").decode(), False),
        ("Basic " + base64.b64encode(b"good:").decode(), False),
        ("Basic \xff", False),
        ("Basic !", False),
        ("Digest good", False),
        ("good", False),
        ("Bearer", False),
        ("Bearer Good", False),
        ("Bearer goo", False),
        ("Bearer " + "g" * 1000, False),
        ("Bearer " + hashlib.sha256(b"good").hexdigest(), False),
        ("Bearer \udcff", False),
        ("", False),
    ],
)
def test_how_a_token_is_sent(header: str, right: bool) -> None:
    assert admitted(gatekeeper("other", "good", "third"), HTTP_AUTHORIZATION=header) is right


@pytest.mark.parametrize(
    ("environ", "local"),
    [
        ({"REMOTE_ADDR": "127.0.0.1"}, True),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "localhost:8000"}, True),
        ({"REMOTE_ADDR": "::1", "HTTP_HOST": "[::1]:8000"}, True),
        ({"REMOTE_ADDR": "::1", "HTTP_HOST": "[::1]"}, True),
        ({"REMOTE_ADDR": "192.0.2.7", "HTTP_HOST": "localhost"}, False),
        ({"REMOTE_ADDR": "", "HTTP_HOST": "localhost"}, False),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "evil.example"}, False),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "evil.example:8000"}, False),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "unknown"}, False),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_FORWARDED": "for=unknown"}, False),
    ],
)
def test_loopback_is_open_but_not_through_a_proxy_or_a_rebound_name(environ: dict[str, str], local: bool) -> None:
    assert admitted(gatekeeper(), **environ) is local
    assert not admitted(gatekeeper(trust_loopback=False), **environ)


def test_a_public_read_only_collector(tmp_path: Path) -> None:
    app = create_app(config(tmp_path, open=frozenset({Role.READ})))
    client = app.test_client()
    assert client.get("/", environ_overrides=FAR).status_code == 200
    sent = client.post("/v1/reports", data=batch().encode(), content_type="application/json", environ_overrides=FAR)
    assert problem(sent) == (401, "unauthorized")
    collector_of(app).close()


def test_a_new_token_is_found_soon_and_a_revoked_one_refused_soon() -> None:
    now, stored, reads = [100.0], list[StoredToken](), []

    def read() -> list[StoredToken]:
        reads.append(now[0])
        return list(stored)

    keeper = Gatekeeper(read, clock=lambda: now[0])
    assert not admitted(keeper, HTTP_AUTHORIZATION="Bearer new")
    stored.append(StoredToken(digest_of("new"), "read", "", TODAY))
    assert not admitted(keeper, HTTP_AUTHORIZATION="Bearer new")  # a guesser does not make us read each time
    assert len(reads) == 1
    now[0] += 0.6
    assert admitted(keeper, HTTP_AUTHORIZATION="Bearer new")
    stored.clear()
    now[0] += 4.9
    assert admitted(keeper, HTTP_AUTHORIZATION="Bearer new")
    now[0] += 0.2
    assert not admitted(keeper, HTTP_AUTHORIZATION="Bearer new")


def test_while_the_database_is_away_known_tokens_go_on() -> None:
    now, away = [0.0], [True]

    def read() -> list[StoredToken]:
        if away[0]:
            raise StoreError("database: gone")
        return [StoredToken(digest_of("good"), "read", "", TODAY)]

    keeper = Gatekeeper(read, clock=lambda: now[0])
    with pytest.raises(Problem) as refused:
        keeper.admit({**FAR, "HTTP_AUTHORIZATION": "Bearer good"}, Role.READ)
    assert refused.value.kind.status == 503
    away[0] = False
    assert admitted(keeper, HTTP_AUTHORIZATION="Bearer good")
    away[0] = True
    now[0] += 100.0
    assert admitted(keeper, HTTP_AUTHORIZATION="Bearer good")


def test_what_is_loopback() -> None:
    for host, local in (("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("h", False)):  # noqa: S104
        assert is_loopback(host) is local


def test_a_token_is_settled_while_it_is_known_afresh_and_no_other_is() -> None:
    """What is not settled may need the database, for which the socket's thread does not wait."""
    now = [0.0]
    known = [StoredToken(digest_of("right"), "report", "", TODAY)]
    gatekeeper = Gatekeeper(lambda: known, trust_loopback=False, clock=lambda: now[0])
    assert not gatekeeper.settled("Bearer right")  # nothing was read yet
    gatekeeper.admit(FAR | {"HTTP_AUTHORIZATION": "Bearer right"}, Role.REPORT)
    assert gatekeeper.settled("Bearer right")
    assert not gatekeeper.settled("Bearer wrong")
    assert not gatekeeper.settled("nonsense")
    now[0] = 60.0
    assert not gatekeeper.settled("Bearer right")
