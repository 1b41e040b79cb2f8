"""A route's declaration: who may call it, what it reads, what it answers, and which problems it may answer with.

    @routes.get("/v1/metrics/<name>")
    @declared(role=Role.READ, reads=ListQuery, answers=as_json(METRIC), problems=(Kind.UNKNOWN_METRIC,))
    def show_metric(query: ListQuery, name: str) -> dict[str, object]: ...

From this follow the check of the role, the reading of the parameters, and the operation in ``/openapi.json``, whose
summary is the docstring's first line. A route that declares nothing is refused to everyone.

Below are what every view of the API uses: the collector, metric and version that a request names, and answers that take
work, which are sent piece by piece and stop when the peer is gone; then the description in OpenAPI 3.1.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, update_wrapper
from itertools import chain
from typing import Any, cast

from flask import Flask, Response, current_app, request
from flask.typing import ResponseReturnValue

from dither_serving.problems import MEDIA_TYPE, Kind, Problem
from dither_shared import Metric

from ..access.tokens import Role
from ..analysis.estimate_table import privacy_fields, privacy_statement
from ..collector import Collector
from ..reading.analysis_limiter import Analysis, peer_gone_check
from ..reading.parameters import Parameter, Parameters
from ..reading.query import ListQuery
from ..reading.schemas import Json, Schema
from .schemas import PROBLEM

View = Callable[..., ResponseReturnValue]

_ANYWHERE = (Kind.UNAVAILABLE, Kind.UNAUTHORIZED, Kind.FORBIDDEN, Kind.CROWDED, Kind.INTERNAL)
"""Problems that every route may answer with."""


@dataclass(frozen=True)
class Success:
    """A successful answer: its ``content`` by media type, as in OpenAPI."""

    content: Json
    status: int = 200
    description: str = "Found."


HTML = Success({"text/html": {}})


def as_json(schema: Schema, status: int = 200, description: str = "Found.") -> Success:
    """Return a successful answer in JSON of this schema."""
    return Success({"application/json": {"schema": schema}}, status, description)


@dataclass
class Route:
    """A view with its declaration. Without ``answers`` it is not part of the API, and the document leaves it out."""

    view: View
    role: Role | None
    answers: Success | None = None
    reads: type[Parameters] | None = None
    takes: Schema | None = None
    problems: tuple[Kind, ...] = ()
    admits: bool = False

    def __post_init__(self) -> None:
        update_wrapper(self, self.view)

    def __call__(self, **places: str) -> ResponseReturnValue:
        """Answer the current request; ``places`` are the parameters in its path."""
        if self.reads is None:
            return self.view(**places)
        return self.view(self.reads.read(request.args), **places)

    @property
    def is_page(self) -> bool:
        """Whether it is a page for people, to be opened in a browser."""
        return self.answers is HTML

    @property
    def summary(self) -> str:
        """The first line of the view's docstring."""
        return (self.view.__doc__ or "").partition("\n")[0]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Every problem that it may answer with."""
        wrong = () if self.reads is None else (Kind.PARAMETER,)
        return (*wrong, *self.problems, *_ANYWHERE)


def declared(
    *,
    role: Role | None,
    answers: Success,
    reads: type[Parameters] | None = None,
    takes: Schema | None = None,
    problems: tuple[Kind, ...] = (),
    admits: bool = False,
) -> Callable[[View], Route]:
    """Return a decorator that makes a view a ``Route``.

    - ``role``: the role that a caller needs, or OPEN;
    - ``reads``: the class that reads the query parameters; the view gets its instance as first argument;
    - ``takes``: the schema of the request's body;
    - ``problems``: the problems in addition to those of every route;
    - ``admits``: whether the view itself holds callers to the role, and counts those that it refuses.
    """
    return partial(Route, role=role, answers=answers, reads=reads, takes=takes, problems=problems, admits=admits)


EXTENSION = "dither"
"""The key in ``app.extensions`` under which an app keeps its ``Collector``."""


def collector_here() -> Collector:
    """Return the collector of the app that answers this request."""
    return cast("Collector", current_app.extensions[EXTENSION])


def metric_named(name: str) -> Metric:
    """Return the metric of that name as it is now, or as it last was if it is no longer asked.

    Raises Problem if there is none.
    """
    here = collector_here()
    metric = here.metrics.get(name) or here.store.definitions.last_reported(name)
    if metric is None:
        raise Problem(Kind.UNKNOWN_METRIC, "no metric has this name; GET /v1/metrics lists all")
    return metric


def version_named(metric: Metric, version: str | None) -> Metric:
    """Return the metric as it was in ``version``, or as it is if that is None.

    Raises Problem if there is no such version.
    """
    if version is None or version == metric.version:
        return metric
    older = collector_here().store.definitions.read(metric.name, version)
    if older is None:
        raise Problem(Kind.UNKNOWN_VERSION, f"version: not collected here; GET /v1/metrics/{metric.name} lists all")
    return older


def listing(metric: Metric) -> Metric:
    """Return the metric; raise Problem if it lists no values to estimate."""
    if not metric.question.estimable:
        raise Problem(
            Kind.NO_CANDIDATES, "the metric takes any string; list candidates in metrics.toml to estimate them"
        )
    return metric


def described(metric: Metric, part: ListQuery = ListQuery()) -> dict[str, object]:  # noqa: B008  # it is frozen
    """Return what a metric asks and promises, as JSON, with some of its values."""
    return {
        "metric": metric.name,
        "version": metric.version,
        "description": metric.description,
        "type": metric.question.kind,
        "mechanism": metric.mechanism.name,
        **privacy_fields(metric),
        "odds": privacy_statement(metric),
        "period": metric.period,
        "strata": {} if metric.strata is None else {name: list(values) for name, values in metric.strata.attributes},
        "size": len(metric.labels),
        "values": list(part.part(metric.labels)),
    }


COSTLY = (Kind.TOO_COSTLY, Kind.BUSY)
"""Problems of every answer that takes work."""


def begin() -> Analysis:
    """Begin an analysis for the present request."""
    return collector_here().analyses.begin(peer_gone_check(request.environ))


def streamed(make: Callable[[], Iterator[bytes]], media_type: str = "application/json") -> Response:
    """Answer with the pieces that ``make`` yields.

    An error within the first hundred kilobytes or so is answered as a problem; later the connection is cut, so that
    nobody takes a part for the whole.
    """
    analysis = begin()
    try:
        pieces = analysis.pieces(make)
        first, second = next(pieces, b""), next(pieces, None)
    except BaseException as error:
        analysis.end(error)
        raise
    if second is None:
        analysis.end()
        return Response(first, mimetype=media_type)
    response = Response(_sent(analysis, chain((first, second), pieces)), mimetype=media_type)
    response.call_on_close(analysis.end)
    return response


def _sent(analysis: Analysis, pieces: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from pieces
        analysis.end()
    except BaseException as error:
        analysis.end(error)
        raise


_ABOUT = """A collector of reports under local privacy.

Metrics cannot be crossed afterwards: reports carry no identity, so the collector cannot know which answers to two
questions came from the same device. To learn how two answers go together, define a metric of type cross."""

_PLACE = re.compile(r"<(\w+)>")
"""A parameter in a path, in Flask's notation."""


def openapi(app: Flask) -> Json:
    """Return the OpenAPI document of an app."""
    paths: Json = {}
    for path, method, operation in _operations(app):
        paths.setdefault(path, {})[method] = operation
    components: Json = {}
    return {
        "openapi": "3.1.0",
        "info": {"title": "dither", "version": "1", "description": _ABOUT},
        "paths": _referring(paths, components),
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "password": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "The password is the token; the user name is ignored.",
                },
            },
        },
    }


def _operations(app: Flask) -> Iterator[tuple[str, str, Json]]:
    """Yield path, method and operation of each route that declares an answer."""
    for rule in app.url_map.iter_rules():
        route = app.view_functions.get(rule.endpoint)
        if isinstance(route, Route) and route.answers is not None:
            name, places = rule.endpoint.rpartition(".")[2], _PLACE.findall(rule.rule)
            for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
                operation = _operation(name, route, route.answers, places)
                yield _PLACE.sub(r"{\1}", rule.rule), method.lower(), operation


def _operation(name: str, route: Route, answers: Success, places: list[str]) -> Json:
    read = {} if route.reads is None else route.reads.parameters()
    parameters = [*map(_in_path, places), *(_in_query(name, one) for name, one in read.items())]
    success = {"description": answers.description, "content": answers.content}
    operation: Json = {
        "operationId": name,
        "summary": route.summary,
        "responses": {str(answers.status): success, **_wrong(route.kinds)},
        "security": _security(route.role),
    }
    if route.takes is not None:
        content = {"application/json": {"schema": route.takes}}
        operation["requestBody"] = {"required": True, "content": content}
    if parameters or route.takes is None:
        operation["parameters"] = parameters
    return operation


def _in_path(name: str) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[^/]+$"}}


def _in_query(name: str, parameter: Parameter) -> Json:
    one = {"name": name, "in": "query", "schema": parameter.schema, "description": parameter.description}
    return one | ({"style": "form", "explode": True} if parameter.takes_others else {})


def _security(role: Role | None) -> list[Json]:
    if role is None:
        return []
    roles = [one.value for one in Role if one.covers(role)]
    return [{"token": roles}, {"password": roles}, {}]


def _wrong(kinds: tuple[Kind, ...]) -> Json:
    """Return the error responses of an operation: one for each status, naming every problem of that status."""
    content = {MEDIA_TYPE: {"schema": PROBLEM}, "text/html": {}}
    answers: Json = {}
    for kind in kinds:
        said = answers.setdefault(str(kind.status), {"description": "", "content": content})
        said["description"] = "; ".join(filter(None, (said["description"], f"{kind.urn}: {kind.title}")))
    return answers


def _referring(part: Any, components: Json) -> Any:
    """Return ``part`` with each Schema in it replaced by a reference, and put the Schemas into ``components``."""
    if isinstance(part, Schema):
        if part.name not in components:
            components[part.name] = _referring(part.holds, components)
        return {"$ref": f"#/components/schemas/{part.name}"}
    if isinstance(part, dict):
        return {name: _referring(one, components) for name, one in part.items()}
    if isinstance(part, list):
        return [_referring(one, components) for one in part]
    return part
