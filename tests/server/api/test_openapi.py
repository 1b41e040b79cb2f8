"""The OpenAPI document is true: schemathesis sends whatever it allows and validates every answer."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from dither_server.access.tokens import Role, digest_of, draw_token
from dither_server.api import schemas
from dither_server.api.routes import routes
from dither_server.api.routing import openapi
from dither_server.app import collector_of, create_app
from dither_server.dashboard.pages import pages
from dither_server.reading.schemas import Schema
from dither_server.reading.summaries import SUMMARIES
from dither_server.store import StoredToken
from server.collecting import KEPT, LAYOUT, METRICS, SHARD, STRATA, THEME, TODAY, ago, batch, config, rows_of, upload
from server.ingest.sealed.sealing import batch_of, drawn, keep, sealed_rows

BARE = Flask("dither_server")
for blueprint in (routes, pages):
    BARE.register_blueprint(blueprint)

OPERATIONS = [(path, method) for path, item in openapi(BARE)["paths"].items() for method in item]

PINNED = Path(__file__).with_name("openapi.json")
"""The document as it was agreed. To agree to a change: ``PYTHONPATH=tests python -m server.api.test_openapi``."""


def written(document: Any) -> str:
    """A document as text, one for all that mean the same: an operation's parameters have no order."""
    for item in document["paths"].values():
        for operation in item.values():
            operation.get("parameters", []).sort(key=lambda parameter: (parameter["in"], parameter["name"]))
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def admin_of(app: Flask) -> dict[str, str]:
    """The headers of a new admin."""
    token = draw_token(Role.ADMIN)
    collector_of(app).store.tokens.add(StoredToken(digest_of(token), "admin", "", TODAY))
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, dict[str, str]]]:
    """A collector's schema, and the headers of its admin."""
    app = create_app(config(tmp_path_factory.mktemp("collector"), body_limit=20_000, rows_limit=1000))
    with closing(collector_of(app)):
        yield schemathesis.openapi.from_wsgi("/openapi.json", app), admin_of(app)


# More examples find rarer mistakes in the same answers; make test-all has the time.
@pytest.mark.parametrize("examples", [3, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_answer_matches_the_openapi_document(
    path: str, method: str, examples: int, shared: tuple[Any, dict[str, str]]
) -> None:
    schema, admin = shared
    seen: set[int] = set()

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(case=schema[path][method.upper()].as_strategy())
    def holds(case: Any) -> None:
        response = case.call(headers=admin)
        seen.add(response.status_code)
        # No schema can say that since is not after until, and here a pattern's $ matches before a last newline too.
        case.validate_response(response, excluded_checks=[positive_data_acceptance])

    holds()
    assert seen & ({200} if "{name}" not in path else {404}) or method == "post" or path == "/v1/reports"
    assert not seen & {401, 403, 500}


class Asked:
    """A collector whose answers are held against its document; no generator draws a metric's name by chance."""

    def __init__(self, app: Flask) -> None:
        self._schema = schemathesis.openapi.from_wsgi("/openapi.json", app)
        self._headers = admin_of(app)

    def get(self, path: str, query: Mapping[str, object] = {}, **places: str) -> Any:
        return self._answer(self._schema[path]["GET"].Case(path_parameters=places, query=dict(query)))

    def post(self, path: str, body: bytes) -> Any:
        return self._answer(self._schema[path]["POST"].Case(body=json.loads(body), media_type="application/json"))

    def _answer(self, case: Any) -> Any:
        response = case.call(headers=self._headers)
        case.validate_response(response, excluded_checks=[positive_data_acceptance])
        return response


METRIC = "/v1/metrics/{name}"


def test_answers_about_known_metrics_match_the_openapi_document(app: Flask) -> None:
    collector_of(app).store.commit([upload(THEME, rows_of(THEME, 500))], TODAY, SHARD)
    asked = Asked(app)
    days = {"since": "2026-01-01", "until": "2026-12-31", "confidence": "0.9"}
    for query, status in ((days, 200), ({"confidence": "2"}, 400), ({"version": "0"}, 404), ({"format": "csv"}, 200)):
        assert asked.get(f"{METRIC}/estimate", query, name="theme").status_code == status
    statuses = {}
    paths = (*(METRIC + end for end in ("", "/estimate", "/compare", "/trend", "/combined")), "/m/{name}")
    for path, name in product(paths, ("theme", "version", "open", "nothing")):
        statuses[path, name] = asked.get(path, name=name).status_code
    for path in (METRIC, f"{METRIC}/estimate", "/m/{name}"):
        assert (statuses[path, "theme"], statuses[path, "nothing"]) == (200, 404)
    assert statuses[f"{METRIC}/estimate", "open"] == 400
    for name, version, status in (("theme", THEME.version, 200), ("theme", "0" * 16, 404), ("no", THEME.version, 404)):
        assert asked.get(f"{METRIC}/versions/{{version}}", name=name, version=version).status_code == status
    assert asked.post("/v1/reports", batch(THEME).encode()).status_code == 202


def test_answers_about_devices_match_the_openapi_document(make_app: Callable[..., Flask]) -> None:
    app = make_app(metrics=METRICS | {"kept": KEPT})
    for back, weeks in ((14, "0"), (7, "1")):
        uploads = [upload(THEME, rows_of(THEME, 9)), upload(KEPT, rows_of(KEPT, 900, value=weeks))]
        collector_of(app).store.commit(uploads, ago(back), SHARD)
    asked = Asked(app)
    for query in ({}, {"since": "2026-11-02", "until": "2026-11-15"}, {"format": "csv"}):
        assert asked.get("/v1/active", query).status_code == 200
        for name, status in (("kept", 200), ("theme", 400), ("nothing", 404)):
            assert asked.get(f"{METRIC}/retention", query, name=name).status_code == status


def test_answers_to_sealed_reports_match_the_openapi_document(app: Flask, tmp_path: Path) -> None:
    key, other, asked = drawn(), drawn(), Asked(app)
    body = batch_of(THEME, sealed_rows(THEME, key.public)).encode()
    for keys, status in (([other], 400), ([key, other], 202), ([other], 202)):
        keep(tmp_path / "seal-keys.json", *keys)
        assert asked.post("/v1/sealed", body).status_code == status
    assert asked.get("/v1/sealed").status_code == 200
    sealed = asked.get(f"{METRIC}/estimate", name="theme").json()["sealed"]
    assert sealed.pop("shuffled")["reports"] == 5
    assert sealed == {"batches": 1, "reports": 5, "least_total": 5, "refused": 0}


def test_answers_about_strata_match_the_openapi_document(make_app: Callable[..., Flask]) -> None:
    """Their attributes are parameters, too."""
    app = make_app(metrics=STRATA)
    for place in (0, 2):
        collector_of(app).store.commit([upload(LAYOUT, stratum=place)], TODAY, SHARD)
    asked = Asked(app)
    queries: tuple[tuple[str, dict[str, Any], int], ...] = (
        (METRIC, {}, 200),
        (f"{METRIC}/estimate", {"platform": "linux"}, 200),
        (f"{METRIC}/estimate", {"by": ["platform", "channel"], "by_day": "true"}, 200),
        (f"{METRIC}/estimate", {"platform": "amiga"}, 400),
        (f"{METRIC}/trend", {"channel": "stable"}, 200),
        (f"{METRIC}/combined", {"channel": "stable"}, 200),
        (f"{METRIC}/compare", {"platform": "linux", "other_platform": "windows"}, 200),
        ("/m/{name}", {"channel": "stable"}, 200),
    )
    for path, query, status in queries:
        assert asked.get(path, query, name="layout").status_code == status, (path, query)
    assert asked.post("/v1/reports", batch(LAYOUT, stratum="linux/stable").encode()).status_code == 202


def test_openapi_document_describes_every_route_once(app: Flask, client: FlaskClient) -> None:
    document = client.get("/openapi.json").json
    assert document == openapi(app)
    rules = [rule for rule in app.url_map.iter_rules() if rule.endpoint != "static"]
    assert set(document["paths"]) == {rule.rule.replace("<", "{").replace(">", "}") for rule in rules}
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    assert len({one["operationId"] for one in operations}) == len(operations)
    assert all(re.fullmatch("[A-Z].+[.]", one["summary"]) for one in operations)
    of_kinds = {id(summary.schema): summary.schema for summary in SUMMARIES.values()}.values()
    named = [one.name for one in (*vars(schemas).values(), *of_kinds) if isinstance(one, Schema)]
    assert sorted(named) == sorted(document["components"]["schemas"]), "of two with one name, one would be lost"


def test_openapi_document_is_the_committed_one(client: FlaskClient) -> None:
    assert written(client.get("/openapi.json").json) == PINNED.read_text(encoding="utf-8")


if __name__ == "__main__":
    PINNED.write_text(written(openapi(BARE)), encoding="utf-8")
