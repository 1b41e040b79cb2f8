"""The API's description in OpenAPI 3.1, built from what an app's routes declare. Tests compare the app with it."""

import re
from collections.abc import Iterator
from typing import Any

from flask import Flask

from dither_serving.problems import MEDIA_TYPE, Kind

from ..access.tokens import Role
from ..json_schema import Json, Schema
from ..reading.parameters import Parameter
from .routing import Route, Success
from .schemas import PROBLEM

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
