"""The relay's routes: sealed reports, health and readiness, and metrics for Prometheus."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from dither_serving.addresses import LocalHosts
from dither_serving.logs import OnceAMinute
from dither_serving.problems import SAFE_HEADERS, Answer, Kind, Problem, StoreError, http_answer, reason
from dither_serving.prometheus import CONTENT_TYPE

from .relay import Relay

_log = logging.getLogger(__name__)

_LINES = OnceAMinute()

_Routes = Mapping[str, Mapping[str, Callable[[WSGIEnvironment], Answer]]]
"""The views, by path and method."""


def create_app(relay: Relay, local_address: str = "") -> WSGIApplication:
    """Return a relay as a WSGI app; ``local_address`` is where it listens, so that it knows who is on this machine."""
    local_hosts = LocalHosts.at(local_address)

    def healthz(environ: WSGIEnvironment) -> Answer:
        return _json({"status": "ok"})

    def readyz(environ: WSGIEnvironment) -> Answer:
        relay.ready()
        if not relay.pools.is_known:
            raise Problem(Kind.UNAVAILABLE, "the collector has not listed its pools yet", 60)
        return _json({"status": "ready"})

    def metrics(environ: WSGIEnvironment) -> Answer:
        if not relay.config.open_metrics and not local_hosts.is_source_of(environ):
            raise Problem(Kind.FORBIDDEN, "only this machine may read this; set open_metrics to let others read it")
        return _answer(relay.numbers.text(relay.families()), CONTENT_TYPE)

    def introduce(environ: WSGIEnvironment) -> Answer:
        return _json({"relay": "dither"})  # shows an app's developer that the endpoint is right

    (path,) = relay.endpoint.paths
    routes: _Routes = {
        path: {"GET": introduce, "POST": relay.endpoint.respond},
        "/healthz": {"GET": healthz},
        "/readyz": {"GET": readyz},
        "/metrics": {"GET": metrics},
    }

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        status, headers, body = _routed(routes, environ)
        start_response(reason(status), headers)
        return [body]

    return app


def _routed(routes: _Routes, environ: WSGIEnvironment) -> Answer:
    methods = routes.get(environ.get("PATH_INFO", ""))
    if methods is None:
        return http_answer(HTTPStatus.NOT_FOUND)
    method = environ["REQUEST_METHOD"]
    route = methods.get("GET" if method == "HEAD" else method)
    if route is None:
        status, headers, body = http_answer(HTTPStatus.METHOD_NOT_ALLOWED)
        return status, [*headers, ("Allow", ", ".join(methods))], body
    try:
        return route(environ)
    except Problem as problem:
        return problem.answer()
    except StoreError as error:
        if _LINES.add():  # a probe may ask each second
            _log.warning("%s", error)
        return Problem(Kind.UNAVAILABLE, "the database cannot be read now", 10).answer()


def _json(content: object) -> Answer:
    return _answer(json.dumps(content).encode("ascii"), "application/json")


def _answer(body: bytes, content_type: str) -> Answer:
    return 200, [("Content-Type", content_type), ("Content-Length", str(len(body))), *SAFE_HEADERS], body
