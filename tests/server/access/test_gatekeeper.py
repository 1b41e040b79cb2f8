"""Who may do what: every route by every role, and how a token is recognised."""

import base64
import hashlib
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import date, timedelta
from itertools import product
from pathlib import Path

import pytest
from flask import Flask
from werkzeug.routing import Rule
from werkzeug.test import EnvironBuilder, TestResponse

from dither_server.access.gatekeeper import Gatekeeper
from dither_server.access.tokens import OPEN, KnownTokens, Role, digest_of, draw_token
from dither_server.api.routes import routes
from dither_server.api.routing import Route
from dither_server.app import collector_of
from dither_server.dashboard.pages import pages
from dither_server.store import StoredToken, StoreError
from dither_serving.problems import Problem
from server.collecting import KEPT, METRICS, THEME, TODAY, batch, problem
from server.ingest.posting import post
from server.ingest.sealed.sealing import batch_of, drawn, keep, sealed_rows

FAR = {"REMOTE_ADDR": "192.0.2.7"}
KEY = drawn()
BODIES = {
    "/v1/reports": lambda: batch(THEME).encode(),
    "/v1/sealed": lambda: batch_of(THEME, sealed_rows(THEME, KEY.public)).encode(),
}
TOKENS = {role: draw_token(role) for role in Role}


@pytest.fixture
def app(make_app: Callable[..., Flask], tmp_path: Path) -> Flask:
    keep(tmp_path / "seal-keys.json", KEY)
    app = make_app(open=frozenset(), metrics=METRICS | {"kept": KEPT})
    for role, token in TOKENS.items():
        collector_of(app).store.tokens.add(StoredToken(digest_of(token), role.value, "", TODAY))
    return app


def rules() -> list[Rule]:
    """Return every route of the app's own URL map, so that no list can be out of date."""
    bare = Flask("dither_server")
    for blueprint in (routes, pages):
        bare.register_blueprint(blueprint)
    return list(bare.url_map.iter_rules())


def ask(app: Flask, rule: Rule, method: str, token: str | None) -> TestResponse:
    name = "kept" if rule.rule.endswith("/retention") else "theme"
    path = rule.rule.replace("<name>", name).replace("<path:filename>", "dashboard.css")
    path = path.replace("<version>", THEME.version)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    data = BODIES[path]() if method == "POST" else None
    with app.test_client() as client:
        answer = client.open(
            path, method=method, headers=headers, environ_overrides=FAR, data=data, content_type="application/json"
        )
        answer.get_data()
        answer.close()
        return answer


OPENED = {"static", "dither.show_version", "dither.healthz", "dither.readyz", "dither.show_openapi"}
REPORTING = {"dither.post_reports", "dither.may_report", "dither.post_sealed", "dither.list_pools"}
ADMINISTERING = {"dither.show_diagnosis"}
"""The routes that do not take the role READ, written down a second time: who opens one, changes two files."""


def test_every_route_declares_the_role_that_it_should(app: Flask) -> None:
    for rule in app.url_map.iter_rules():
        route = app.view_functions[rule.endpoint]
        assert isinstance(route, Route), rule.endpoint
        expected = Role.REPORT if rule.endpoint in REPORTING else Role.READ
        expected = Role.ADMIN if rule.endpoint in ADMINISTERING else expected
        assert route.role is (OPEN if rule.endpoint in OPENED else expected), rule.endpoint


def test_each_route_admits_exactly_the_roles_that_cover_its_own(app: Flask) -> None:
    for rule, role in product(rules(), (None, *Role)):
        route = app.view_functions[rule.endpoint]
        assert isinstance(route, Route)
        for method in (rule.methods or set()) - {"OPTIONS"}:
            answer, case = ask(app, rule, method, None if role is None else TOKENS[role]), (rule.endpoint, method, role)
            if route.role is OPEN or (role is not None and role.covers(route.role)):
                assert answer.status_code in {200, 202}, (case, answer.data)
            elif role is None:
                assert answer.status_code == 401, case
                assert 'Bearer realm="dither"' in answer.headers["WWW-Authenticate"], case
            else:
                assert answer.status_code == 403, case
                assert method == "HEAD" or problem(answer) == (403, "forbidden"), case


class Tokens:
    """A database of tokens that read, and the uses that were written into it."""

    def __init__(self, *tokens: str, **more: date) -> None:
        self.stored = [StoredToken(digest_of(token), "read", "", date(2026, 1, 1), **more) for token in tokens]
        self.used: list[tuple[list[bytes], date]] = []
        self.reads = 0
        self.away = False

    def all(self) -> list[StoredToken]:
        if self.away:
            raise StoreError("database: gone")
        self.reads += 1
        return list(self.stored)

    def note_uses(self, digests: Collection[bytes], day: date) -> None:
        if self.away:
            raise StoreError("database: gone")
        self.used.append((list(digests), day))
        self.stored = [replace(token, used=day) if token.digest in digests else token for token in self.stored]


def gatekeeper(tokens: Tokens, clock: Callable[[], float] = time.monotonic) -> Gatekeeper:
    return Gatekeeper(KnownTokens(tokens, lambda: TODAY, clock))


def admitted(keeper: Gatekeeper, **environ: str) -> bool:
    built = EnvironBuilder().get_environ()
    del built["HTTP_HOST"]
    try:
        keeper.admit({**built, **FAR, **environ}, Role.READ)
    except Problem:
        return False
    return True


def test_token_is_taken_as_bearer_or_basic_password_and_in_no_other_form() -> None:
    keeper = gatekeeper(Tokens("other", "good", "third"))
    for header in ("Bearer good", "bearer  good", "Basic " + base64.b64encode(b"anyone:good").decode()):
        assert admitted(keeper, HTTP_AUTHORIZATION=header), header
    basic = ["Basic " + base64.b64encode(text).decode() for text in (b"good", b"good:")]
    bearer = [f"Bearer {text}" for text in ("Good", "goo", "g" * 1000, hashlib.sha256(b"good").hexdigest(), "\udcff")]
    for header in (*basic, *bearer, "Basic \xff", "Basic !", "Digest good", "good", "Bearer", ""):
        assert not admitted(keeper, HTTP_AUTHORIZATION=header), header


def test_whom_a_closed_collector_lets_report(make_app: Callable[..., Flask]) -> None:
    """Whoever is local to it, but nobody is local to a server that does not say where it listens."""
    for settings, far, status in (
        ({}, {}, 202),
        ({}, FAR, 401),
        ({"open": frozenset({Role.READ})}, FAR, 401),
        ({"local_address": ""}, {}, 401),
        ({"trust_loopback": False}, {}, 401),
    ):
        client = make_app(**{"open": frozenset()} | settings).test_client()
        assert post(client, batch().encode(), environ_overrides=far).status_code == status, settings


def test_a_new_token_is_found_soon_and_a_revoked_one_refused_soon() -> None:
    now, tokens = [100.0], Tokens()
    keeper = gatekeeper(tokens, lambda: now[0])
    assert not admitted(keeper, HTTP_AUTHORIZATION="Bearer new")
    tokens.stored = Tokens("new").stored
    assert not admitted(keeper, HTTP_AUTHORIZATION="Bearer new")  # a guesser does not make us read each time
    assert tokens.reads == 1
    now[0] += 0.6
    assert admitted(keeper, HTTP_AUTHORIZATION="Bearer new")
    tokens.stored = []
    now[0] += 4.9
    assert admitted(keeper, HTTP_AUTHORIZATION="Bearer new")
    now[0] += 0.2
    assert not admitted(keeper, HTTP_AUTHORIZATION="Bearer new")


def test_while_the_database_is_away_known_tokens_go_on() -> None:
    now, tokens = [0.0], Tokens("good")
    tokens.away = True
    keeper = gatekeeper(tokens, lambda: now[0])
    with pytest.raises(Problem) as refused:
        keeper.admit({**FAR, "HTTP_AUTHORIZATION": "Bearer good"}, Role.READ)
    assert refused.value.kind.status == 503
    tokens.away = False
    assert admitted(keeper, HTTP_AUTHORIZATION="Bearer good")
    tokens.away = True
    now[0] += 100.0
    assert admitted(keeper, HTTP_AUTHORIZATION="Bearer good")
    keeper.close()  # and nothing is raised at the end
    tokens.away = False
    keeper.close()
    assert tokens.used == [([digest_of("good")], TODAY)]


def test_only_a_token_read_recently_is_judged_without_the_database() -> None:
    """An undecided request may need the database; the socket's thread must not wait for it."""
    now = [0.0]
    keeper = gatekeeper(Tokens("right"), lambda: now[0])
    assert not keeper.settled("Bearer right")  # nothing was read yet
    assert admitted(keeper, HTTP_AUTHORIZATION="Bearer right")
    assert keeper.settled("Bearer right")
    assert not keeper.settled("Bearer wrong")
    assert not keeper.settled("nonsense")
    now[0] = 60.0
    assert not keeper.settled("Bearer right")


def test_token_is_refused_from_the_day_on_which_it_expires() -> None:
    assert admitted(gatekeeper(Tokens("good", expires=TODAY + timedelta(1))), HTTP_AUTHORIZATION="Bearer good")
    for expires in (TODAY, TODAY - timedelta(1)):
        keeper = gatekeeper(Tokens("good", expires=expires))
        with pytest.raises(Problem, match=f"expired on {expires}"):
            keeper.admit({**FAR, "HTTP_AUTHORIZATION": "Bearer good"}, Role.READ)


def test_the_last_use_is_written_once_a_day_whatever_the_number_of_requests() -> None:
    now, day, tokens = [0.0], [TODAY], Tokens("good", "idle")
    keeper = Gatekeeper(KnownTokens(tokens, lambda: day[0], lambda: now[0]))
    for _ in range(1000):
        now[0] += 0.1
        assert admitted(keeper, HTTP_AUTHORIZATION="Bearer good")
        assert not admitted(keeper, HTTP_AUTHORIZATION="Bearer unknown")
    assert tokens.used == [([digest_of("good")], TODAY)]
    day[0] += timedelta(days=1)
    assert admitted(keeper, HTTP_AUTHORIZATION="Bearer good")
    keeper.close()
    keeper.close()
    assert tokens.used[1:] == [([digest_of("good")], day[0])]


def test_an_open_role_opens_what_it_covers() -> None:
    for role, covered in ((Role.ADMIN, set(Role)), (Role.READ, {Role.READ}), (Role.REPORT, {Role.REPORT})):
        keeper = Gatekeeper(KnownTokens(Tokens(), lambda: TODAY), frozenset({role}))
        assert {one for one in Role if not keeper.asks_for_token(FAR, one)} == covered
