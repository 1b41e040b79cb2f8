"""A route's declaration: who may call it, what it reads, what it answers, and which problems it may answer with.

    @routes.get("/v1/metrics/<name>")
    @declared(role=Role.READ, reads=ListQuery, answers=as_json(METRIC), problems=(Kind.UNKNOWN_METRIC,))
    def show_metric(query: ListQuery, name: str) -> dict[str, object]: ...

From this follow the check of the role, the reading of the parameters, and the operation in ``/openapi.json``, whose
summary is the docstring's first line. A route that declares nothing is refused to everyone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, update_wrapper

from flask import request
from flask.typing import ResponseReturnValue

from dither_serving.problems import Kind

from ..access.roles import Role
from ..json_schema import Json, Schema
from ..reading.parameters import Parameters

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
    - ``problems``: the problems beside those of every route;
    - ``admits``: whether the view itself holds callers to the role, and counts those that it refuses.
    """
    return partial(Route, role=role, answers=answers, reads=reads, takes=takes, problems=problems, admits=admits)
