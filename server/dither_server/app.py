"""The app factory."""

from http import HTTPStatus

from flask import Flask, Response, current_app, request
from werkzeug.exceptions import HTTPException

from .collector import Collector
from .config import Config
from .ingest import IngestLayer
from .policies import OPEN, POLICIES
from .problems import SAFE_HEADERS, Kind, Problem, http_answer
from .routes import EXTENSION, routes

__all__ = ["collector_of", "create_app"]

_CONTENT_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


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
    app.before_request(_admit)
    app.after_request(_guard)
    app.wsgi_app = IngestLayer(app.wsgi_app, collector.ingest)  # type: ignore[method-assign]
    return app


def collector_of(app: Flask) -> Collector:
    """Return the collector behind an app."""
    collector: Collector = app.extensions[EXTENSION]
    return collector


def _admit() -> Response | None:
    """Hold a request to the policy of its route; one that meets no route is answered as an error in any case."""
    if request.endpoint is None:
        return None
    try:
        if request.endpoint not in POLICIES:
            raise Problem(Kind.FORBIDDEN, "the route has no policy")
        role = POLICIES[request.endpoint]
        if role is not OPEN:
            collector_of(current_app).gatekeeper.admit(request.environ, role)
    except Problem as problem:
        status, headers, body = problem.answer()
        return Response(body, status, headers)
    return None


def _guard(response: Response) -> Response:
    response.headers.extend({name: value for name, value in SAFE_HEADERS if name not in response.headers})
    response.headers["Content-Security-Policy"] = _CONTENT_POLICY
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _http_problem(error: HTTPException) -> Response:
    """Answer the framework's own errors as problems, with the headers that belong to them, such as Allow."""
    if error.code is None or error.code < HTTPStatus.BAD_REQUEST:
        return Response(error.get_body(), error.code, error.get_headers())
    status, headers, body = http_answer(error.code)
    own = {name for name, _ in headers}
    return Response(body, status, [*headers, *(pair for pair in error.get_headers() if pair[0] not in own)])
