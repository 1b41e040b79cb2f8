"""What a route declares beside its path: who may ask, what it reads, what it answers, and which problems it meets.

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

from .parameters import Parameters
from .problems import Kind
from .roles import Role
from .schemas import Json, Schema

__all__ = ["HTML", "Route", "Success", "as_json", "declared"]

View = Callable[..., ResponseReturnValue]

_ANYWHERE = (Kind.UNAVAILABLE, Kind.UNAUTHORIZED, Kind.FORBIDDEN, Kind.CROWDED, Kind.INTERNAL)
"""The problems that every route may meet."""


@dataclass(frozen=True)
class Success:
    """An answer that is no problem: ``content`` holds a schema, or nothing, by media type."""

    content: Json
    status: int = 200
    description: str = "Found."


HTML = Success({"text/html": {}})


def as_json(schema: Schema, status: int = 200, description: str = "Found.") -> Success:
    """Return the answer of such an object in JSON."""
    return Success({"application/json": {"schema": schema}}, status, description)


@dataclass
class Route:
    """A view with what it declares. One without ``answers`` is no part of the API, and its document leaves it out."""

    view: View
    role: Role | None
    answers: Success | None = None
    reads: type[Parameters] | None = None
    takes: Schema | None = None
    problems: tuple[Kind, ...] = ()

    def __post_init__(self) -> None:
        update_wrapper(self, self.view)

    def __call__(self, **places: str) -> ResponseReturnValue:
        """Answer the present request; ``places`` are the parameters of its path."""
        if self.reads is None:
            return self.view(**places)
        return self.view(self.reads.read(request.args), **places)

    @property
    def is_page(self) -> bool:
        """Whether it is for a browser's address line."""
        return self.answers is HTML

    @property
    def summary(self) -> str:
        """What it does, in one sentence."""
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
) -> Callable[[View], Route]:
    """Return a decorator that makes a view a ``Route``.

    ``role`` is the role it takes, or OPEN. ``reads`` reads the parameters after ``?``; the view gets what was read as
    its first argument. ``takes`` is the schema of a body. ``problems`` are those beside the ones of every route.
    """
    return partial(Route, role=role, answers=answers, reads=reads, takes=takes, problems=problems)
