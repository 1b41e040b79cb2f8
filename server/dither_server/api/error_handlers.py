"""Answer failures: as problems in JSON, or as a page for whoever prefers one."""

import json
from http import HTTPStatus

from flask import Flask, Response, current_app, render_template, request
from werkzeug.exceptions import HTTPException

from dither_serving.problems import MEDIA_TYPE, Answer, Kind, Problem, http_answer
from dither_shared import ParameterError

from ..reading.limiter import PeerGoneError
from ..store import StoreError

__all__ = ["answer_failures", "problem_answer"]


def answer_failures(app: Flask) -> None:
    """Register handlers by which an app answers whatever is raised in it."""
    app.register_error_handler(Problem, problem_answer)
    app.register_error_handler(ParameterError, _parameter)
    app.register_error_handler(StoreError, _unavailable)
    app.register_error_handler(PeerGoneError, _unheard)
    app.register_error_handler(HTTPException, _http_problem)


def problem_answer(problem: Problem) -> Response:
    """Return a problem as the answer to the present request."""
    return _as_preferred(problem.answer())


def _parameter(error: ParameterError) -> Response:
    return problem_answer(Problem(Kind.PARAMETER, str(error)))


def _unavailable(error: StoreError) -> Response:
    current_app.logger.warning("%s", error)
    return problem_answer(Problem(Kind.UNAVAILABLE, error.public, 10))


def _unheard(error: PeerGoneError) -> Response:
    """Answer nobody: the peer has hung up."""
    return Response(status=HTTPStatus.REQUEST_TIMEOUT)


def _http_problem(error: HTTPException) -> Response:
    """Answer the framework's own errors as problems, with the headers that belong to them, such as Allow."""
    if error.code is None or error.code < HTTPStatus.BAD_REQUEST:
        return Response(error.get_body(), error.code, error.get_headers())
    status, headers, body = http_answer(error.code)
    own = {name for name, _ in headers}
    return _as_preferred((status, [*headers, *(pair for pair in error.get_headers() if pair[0] not in own)], body))


def _as_preferred(answer: Answer) -> Response:
    status, headers, body = answer
    if request.accept_mimetypes.best_match([MEDIA_TYPE, "text/html"]) != "text/html":
        return Response(body, status, headers)
    kept = [pair for pair in headers if pair[0] not in {"Content-Type", "Content-Length"}]
    return Response(render_template("problem.html", problem=json.loads(body)), status, kept, mimetype="text/html")
