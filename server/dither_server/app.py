"""The app factory."""

from http import HTTPStatus

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from .collector import Collector
from .config import Config
from .ingest import IngestLayer
from .problems import MEDIA_TYPE, SAFE_HEADERS, Kind, problem_body
from .routes import EXTENSION, routes

__all__ = ["collector_of", "create_app"]

_CONTENT_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def create_app(config: Config) -> Flask:
    """Return a collector as a WSGI app.

    ``collector_of(app).close()`` commits what was accepted and lets go of the database.
    Raises ParameterError or StoreError if the configuration cannot be used.
    """
    app = Flask(__name__)
    app.json.sort_keys = False  # type: ignore[attr-defined]  # of the default provider, which this is
    app.extensions[EXTENSION] = collector = Collector(config)
    app.register_blueprint(routes)
    app.register_error_handler(HTTPException, _http_problem)
    app.after_request(_guard)
    app.wsgi_app = IngestLayer(app.wsgi_app, collector.ingest)  # type: ignore[method-assign]
    return app


def collector_of(app: Flask) -> Collector:
    """Return the collector behind an app."""
    collector: Collector = app.extensions[EXTENSION]
    return collector


def _guard(response: Response) -> Response:
    response.headers.extend({name: value for name, value in SAFE_HEADERS if name not in response.headers})
    response.headers["Content-Security-Policy"] = _CONTENT_POLICY
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _http_problem(error: HTTPException) -> Response:
    """Answer the framework's own errors as problems, with the headers that belong to them (Allow, Location)."""
    response = Response()
    if error.code is None or error.code < 400:
        return Response(error.get_response().get_data(), error.code, error.get_headers())
    kinds = {kind.status: kind for kind in (Kind.NOT_FOUND, Kind.METHOD_NOT_ALLOWED, Kind.INTERNAL)}
    kind = kinds.get(error.code)
    urn, title = (kind.urn, kind.title) if kind else ("about:blank", HTTPStatus(error.code).phrase)
    detail = "see GET /v1/metrics" if error.code == HTTPStatus.NOT_FOUND else title
    response = Response(problem_body(urn, title, error.code, detail), error.code, mimetype=MEDIA_TYPE)
    response.headers.extend((name, value) for name, value in error.get_headers() if name.lower() != "content-type")
    return response
