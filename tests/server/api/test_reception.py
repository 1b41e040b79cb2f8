"""What a developer can check without sending a report: whether it would be accepted and counted."""

from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dither_server.access.tokens import Role, digest_of, draw_token
from dither_server.app import collector_of
from dither_server.store import StoredToken, StoreError
from server.collecting import MOBILE, SHARD, THEME, TODAY, batch, problem, upload
from server.ingest.posting import post
from server.test_prometheus import samples

FAR = {"REMOTE_ADDR": "192.0.2.7"}


def version_path(name: str = "theme", version: str = THEME.version) -> str:
    return f"/v1/metrics/{name}/versions/{version}"


@pytest.fixture
def tokens(app: Flask) -> dict[str, str]:
    drawn = {role.value: draw_token(role) for role in Role}
    for role, token in drawn.items():
        collector_of(app).store.tokens.add(StoredToken(digest_of(token), role, "", TODAY))
    return drawn | {"nonsense": "dither-report-x"}


def test_probe_of_the_reports_route_gets_the_status_that_a_report_would_get(
    client: FlaskClient, tokens: dict[str, str]
) -> None:
    for credential, status in (("nothing", 401), ("nonsense", 401), ("report", 200), ("read", 403), ("admin", 200)):
        headers = {"Authorization": f"Bearer {tokens[credential]}"} if credential in tokens else {}
        sent = post(client, batch().encode(), headers=headers, environ_overrides=FAR)
        for method in ("GET", "HEAD"):
            probe = client.open("/v1/reports", method=method, headers=headers, environ_overrides=FAR)
            assert (probe.status_code, sent.status_code) == (status, 202 if status == 200 else status), credential
            if method == "GET" and status == 200:
                assert probe.json == {"collector": "dither", "reports": "accepted", "token": "needed"}
            elif method == "GET":
                assert probe.json == sent.json


def test_collector_says_when_no_token_is_needed(client: FlaskClient, make_app: Callable[..., Flask]) -> None:
    opened = make_app(open=frozenset({Role.REPORT})).test_client()
    for needs_none, environ in ((client, {}), (opened, FAR), (opened, FAR | {"HTTP_AUTHORIZATION": "Bearer x"})):
        answer = needs_none.get("/v1/reports", environ_overrides=environ)
        assert answer.json == {"collector": "dither", "reports": "accepted", "token": "not-needed"}


def test_version_route_says_whether_its_reports_are_accepted(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer() -> object:
        return client.get(version_path(), environ_overrides=FAR).json

    assert answer() == {"metric": "theme", "version": THEME.version, "reports": "accepted"}
    collector_of(app).store.definitions.disable("theme", None, TODAY)
    assert answer() == {"metric": "theme", "version": THEME.version, "reports": "disabled"}

    def away() -> None:
        raise StoreError("database: gone")

    monkeypatch.setattr(collector_of(app).store.definitions, "disabled", away)
    assert problem(client.get(version_path(), environ_overrides=FAR)) == (503, "unavailable")
    unknown = client.get(version_path(version="0" * 16), environ_overrides=FAR)
    assert unknown.status_code == 404, "a stranger does not make the collector read its database"


def test_unknown_versions_of_known_and_unknown_metrics_get_the_same_answer(client: FlaskClient) -> None:
    strange = client.get(version_path("x", "y"), environ_overrides=FAR).data
    versions = [("theme", "0" * 16), ("nothing", THEME.version), ("mobile", THEME.version), ("theme", "%20")]
    for name, version in versions:
        response = client.get(version_path(name, version), environ_overrides=FAR)
        assert problem(response) == (404, "unknown-version")
        assert response.data == strange, (name, version)


def test_requested_metric_names_do_not_become_labels_of_gauges(app: Flask, client: FlaskClient) -> None:
    collector_of(app).store.commit([upload(MOBILE)], TODAY, SHARD)
    before = samples(client.get("/metrics").text).keys()
    for name in ("theme", "nothing", "evil"):
        client.get(version_path(name))
    client.get("/v1/reports")
    assert samples(client.get("/metrics").text).keys() == before
