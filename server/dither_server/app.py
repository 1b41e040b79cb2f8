"""The app factory."""

from flask import Flask, Response, current_app, request

from .collector import Collector
from .config import Config
from .dashboard.entry import entered
from .dashboard.pages import pages
from .failures import answer_failures, problem_answer
from .ingest import IngestLayer
from .lookup import EXTENSION
from .policies import OPEN, POLICIES
from .problems import SAFE_HEADERS, Kind, Problem
from .routes import routes

__all__ = ["collector_of", "create_app"]

_CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
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
    app.register_blueprint(pages)
    answer_failures(app)
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
        gatekeeper = collector_of(current_app).gatekeeper
        if (way := entered(request, gatekeeper)) is not None:
            return way
        if role is not OPEN:
            gatekeeper.admit(request.environ, role)
    except Problem as problem:
        return problem_answer(problem)
    return None


def _guard(response: Response) -> Response:
    response.headers.extend({name: value for name, value in SAFE_HEADERS if name not in response.headers})
    response.headers["Content-Security-Policy"] = _CONTENT_POLICY
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
