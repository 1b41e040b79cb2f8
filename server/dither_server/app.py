"""The app factory: which requests are admitted, and how failures are answered."""

import json
from collections.abc import Callable
from http import HTTPStatus

from flask import Flask, Response, current_app, render_template, request
from werkzeug.exceptions import HTTPException

from dither_serving.logs import OnceAMinute
from dither_serving.problems import BASIC, MEDIA_TYPE, SAFE_HEADERS, Answer, Kind, Problem, http_answer
from dither_shared import ParameterError

from .access.tokens import OPEN
from .api.routes import routes
from .api.routing import EXTENSION, Route
from .collector import Collector
from .config.settings import Config
from .dashboard.pages import entered, pages
from .reading.analysis_limiter import PeerGoneError
from .store import StoreError

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
    app.register_error_handler(Problem, _problem)
    app.register_error_handler(ParameterError, _parameter)
    app.register_error_handler(StoreError, _unavailable())
    app.register_error_handler(PeerGoneError, _unheard)
    app.register_error_handler(HTTPException, _http_problem)
    app.before_request(_admit)
    app.after_request(_guard)
    return app


def collector_of(app: Flask) -> Collector:
    """Return the collector behind an app."""
    collector: Collector = app.extensions[EXTENSION]
    return collector


def _admit() -> Response | None:
    """Check a request against the role of its route; one without a route is answered as an error in any case."""
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
        return _problem(problem)
    return None


def _guard(response: Response) -> Response:
    response.headers.extend({name: value for name, value in SAFE_HEADERS if name not in response.headers})
    response.headers["Content-Security-Policy"] = _CONTENT_POLICY
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _problem(problem: Problem) -> Response:
    return _as_preferred(problem.answer())


def _parameter(error: ParameterError) -> Response:
    return _problem(Problem(Kind.PARAMETER, str(error)))


def _unavailable() -> Callable[[StoreError], Response]:
    """Return the handler, which logs once a minute: a probe that asks each second could fill a disk."""
    lines = OnceAMinute()

    def unavailable(error: StoreError) -> Response:
        if lines.add():
            current_app.logger.warning("%s", error)
        return _problem(Problem(Kind.UNAVAILABLE, error.public, 10))

    return unavailable


def _unheard(error: PeerGoneError) -> Response:
    """Return an answer that nobody reads: the peer has hung up."""
    return Response(status=HTTPStatus.REQUEST_TIMEOUT)


def _http_problem(error: HTTPException) -> Response:
    """Answer the framework's own errors as problems, with the headers that belong to them, such as Allow."""
    status, headers, body = http_answer(error.code or HTTPStatus.INTERNAL_SERVER_ERROR)
    own = {name for name, _ in headers}
    return _as_preferred((status, [*headers, *(pair for pair in error.get_headers() if pair[0] not in own)], body))


def _as_preferred(answer: Answer) -> Response:
    status, headers, body = answer
    if request.accept_mimetypes.best_match([MEDIA_TYPE, "text/html"]) != "text/html":
        return Response(body, status, headers)
    page = Response(render_template("problem.html", problem=json.loads(body)), status, headers, mimetype="text/html")
    if "WWW-Authenticate" in page.headers:
        # Chromium knows only the first scheme of a header. Only a page makes it ask: otherwise any other site could, by
        # a request to the API.
        page.headers["WWW-Authenticate"] = BASIC
    return page
