"""The app factory."""

from flask import Flask, Response, current_app, request

from dither_serving.problems import SAFE_HEADERS, Kind, Problem

from .access.roles import OPEN
from .api.error_handlers import answer_failures, problem_answer
from .api.lookup import EXTENSION
from .api.routes import routes
from .api.routing import Route
from .collector import Collector
from .config.settings import Config
from .dashboard.pages import entered, pages

_CONTENT_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def create_app(config: Config) -> Flask:
    """Return a collector as a WSGI app.

    ``collector_of(app).close()`` commits what was accepted and lets go of the database.
    Raises ParameterError or StoreError if the configuration cannot be used.
    """
    app = Flask(__name__, template_folder="dashboard/templates", static_folder="dashboard/static")
    app.json.sort_keys = False  # type: ignore[attr-defined]  # of the default provider, which this is
    app.extensions[EXTENSION] = Collector(config)
    app.register_blueprint(routes)
    app.register_blueprint(pages)
    app.view_functions["static"] = Route(app.send_static_file, OPEN)
    answer_failures(app)
    app.before_request(_admit)
    app.after_request(_guard)
    return app


def collector_of(app: Flask) -> Collector:
    """Return the collector behind an app."""
    collector: Collector = app.extensions[EXTENSION]
    return collector


def _admit() -> Response | None:
    """Hold a request to the role of its route; one that meets no route is answered as an error in any case."""
    if request.endpoint is None:
        return None
    try:
        route = current_app.view_functions.get(request.endpoint)
        if not isinstance(route, Route):
            raise Problem(Kind.FORBIDDEN, "the route declares no role")
        if route.role is OPEN or route.admits:
            return None
        gatekeeper = collector_of(current_app).gatekeeper
        if route.is_page and (way := entered(request, gatekeeper)) is not None:
            return way
        gatekeeper.admit(request.environ, route.role)
    except Problem as problem:
        return problem_answer(problem)
    return None


def _guard(response: Response) -> Response:
    response.headers.extend({name: value for name, value in SAFE_HEADERS if name not in response.headers})
    response.headers["Content-Security-Policy"] = _CONTENT_POLICY
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
