"""Devices and ``python -m dither test`` against a collector that is closed, as WSGI below a path of another site."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from flask import Flask
from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware

import dither
from dither import __main__ as program
from dither_server.access.tokens import Role, digest_of, draw_token
from dither_server.app import collector_of, create_app
from dither_server.config.settings import Config
from dither_server.store import StoredToken
from dither_shared import load_metrics
from server.cli.invoking import invoke

TODAY = date(2026, 11, 20)


@pytest.fixture
def metrics(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.toml"
    path.write_text(
        '[metrics.theme]\ntype = "choice"\nvalues = ["light", "dark"]\nepsilon = 1.0\n'
        '[metrics.crashed]\ntype = "boolean"\ntruth = 0.75\n'
    )
    return path


@pytest.fixture
def app(tmp_path: Path, metrics: Path) -> Iterator[Flask]:
    """A collector that trusts nobody."""
    app = create_app(Config(metrics=load_metrics(metrics), db=f"sqlite:///{tmp_path}/dither.db", trust_loopback=False))
    yield app
    collector_of(app).close()


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def below(app: Flask) -> Iterator[str]:
    """Serve the app below a path of another site; yield the URL."""
    site = DispatcherMiddleware(NotFound(), {"/some/telemetry": app})
    with make_server("127.0.0.1", 0, site, handler_class=_Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/some/telemetry"
        server.shutdown()
        thread.join()


def results(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return the result of each step, or of each metric."""
    return {step["metric"] or step["step"]: step["result"] for step in json.loads(capsys.readouterr().out)["steps"]}


def test_the_command_test_says_what_a_token_may_do(
    below: str, app: Flask, metrics: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens = {role: draw_token(role) for role in Role}
    for role, token in tokens.items():
        collector_of(app).store.tokens.add(StoredToken(digest_of(token), role.value, "", TODAY))
    words = ["test", "--endpoint", below, "--metrics", str(metrics), "--json"]
    for given_token, status, result in (
        ("", 1, "failed"),
        ("dither-report-wrong", 1, "failed"),
        (tokens[Role.READ], 1, "failed"),
        (tokens[Role.REPORT], 0, "ok"),
    ):
        assert program.main([*words, *(["--token", given_token] if given_token else [])]) == status
        steps = results(capsys)
        assert (steps["collector"], steps["token"], steps["theme"], steps["crashed"]) == ("ok", result, "ok", "ok")
    collector_of(app).store.definitions.disable("crashed", None, TODAY)
    assert program.main([*words, "--token", tokens[Role.REPORT]]) == 1
    steps = results(capsys)
    assert (steps["token"], steps["theme"], steps["crashed"]) == ("ok", "ok", "failed")
    assert collector_of(app).store.refusals.read("theme") == {}, "nothing was sent"
    assert collector_of(app).store.reports_by_day(load_metrics(metrics)["theme"]) == {}


def test_the_command_test_fails_if_the_path_is_missing(below: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["test", "--endpoint", below.removesuffix("/some/telemetry"), "--json"]) == 1
    assert results(capsys)["collector"] == "failed"


def test_the_apps_token_opens_a_collector_that_is_closed(below: str, metrics: Path, tmp_path: Path) -> None:
    """A report without the token, or with another one, is kept for later."""
    created = invoke(tmp_path, "token", "create", "--role", "report")
    token = created.stdout.split()[-1]
    outcomes = {}
    for known in (None, token[:-1], token):
        state = dither.MemoryState("on")
        with closing(dither.Client(metrics, below, "notes", state, token=known, background=False, environ={})) as app:
            app.record("theme", "dark")
            outcomes[known] = (app.flush(60), app.status().sent, app.status().queued)
    assert outcomes == {None: (False, 0, 1), token[:-1]: (False, 0, 1), token: (True, 1, 0)}
    assert '"reports": 1,' in invoke(tmp_path, "estimate", "theme", "--json").stdout
