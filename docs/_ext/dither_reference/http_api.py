"""Reference of the collector's HTTP API, from its own OpenAPI document."""

import inspect
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from flask import Flask

from dither_server.access.tokens import Role
from dither_server.api.routes import routes
from dither_server.api.routing import openapi
from dither_server.dashboard.pages import pages

from .markdown import code, plain, table

__all__ = ["document", "http_api"]

_Json = Mapping[str, Any]
_KIND = re.compile(r"urn:dither:problem:([\w-]+)")
_FIELDS = ("field", "type", "what it says")


def http_api(part: str) -> str:
    """Return the ``routes`` of the API, or its ``schemas``: the bodies that it takes and answers."""
    return "\n".join(_routes() if part == "routes" else _schemas())


def document() -> dict[str, Any]:
    """Return the OpenAPI document of every collector."""
    return openapi(_app())


def _app() -> Flask:
    app = Flask("dither_server")
    for blueprint in (routes, pages):
        app.register_blueprint(blueprint)
    return app


def _routes() -> Iterator[str]:
    told = document()
    docstrings = {name.rpartition(".")[2]: inspect.getdoc(view) or "" for name, view in _app().view_functions.items()}
    anywhere = _of_every_route(told["paths"])
    yield f"Any route may answer {_kinds(sorted(anywhere))}; below stand those of its own.\n"
    paths = sorted(told["paths"].items(), key=lambda item: (not item[0].startswith("/v1"), item[0]))
    for path, methods in paths:
        for method, operation in methods.items():
            yield f"## {method.upper()} {path}\n"
            _, _, more = docstrings[operation["operationId"]].partition("\n")
            yield f"{plain(operation['summary'])}\n"
            yield from (f"{plain(paragraph)}\n" for paragraph in more.split("\n\n") if paragraph.strip())
            yield f"**Role**: {_role(operation['security'])}.\n"
            if operation.get("parameters"):
                yield table(("parameter", "type", "what it does"), map(_parameter, operation["parameters"]))
            if "requestBody" in operation:
                yield f"**Body**: {_content(operation['requestBody']['content'])}.\n"
            yield table(("answer", "what it holds"), _answers(operation["responses"], anywhere))


def _role(security: list[_Json]) -> str:
    if not security:
        return "none; anyone may ask"
    least = min((Role(one) for one in security[0]["token"]), key=lambda role: sum(role.covers(other) for other in Role))
    return f"{code(least.value)}, or one that may do the same"


def _parameter(one: _Json) -> tuple[str, str, str]:
    return code(one["name"]), _type(one["schema"]), plain(one.get("description", "In the path."))


def _of_every_route(paths: _Json) -> set[str]:
    """Return the problems that every route may answer with."""
    operations = (operation for methods in paths.values() for operation in methods.values())
    return set.intersection(*({*_KIND.findall(json.dumps(one["responses"]))} for one in operations))


def _answers(responses: _Json, anywhere: Collection[str]) -> Iterator[tuple[str, str]]:
    for status, answer in sorted(responses.items()):
        kinds = [kind for kind in _KIND.findall(answer["description"]) if kind not in anywhere]
        if status.startswith("2"):
            yield f"**{status}**", f"{plain(answer['description'])} {_content(answer['content'])}"
        elif kinds:
            yield status, _kinds(kinds)


def _kinds(kinds: Iterable[str]) -> str:
    return ", ".join(f"[{code(kind)}](problems.md#{kind})" for kind in kinds)


def _content(content: _Json) -> str:
    return "; ".join(
        f"{code(media)}{': ' + _type(one['schema']) if 'schema' in one else ''}" for media, one in content.items()
    )


def _schemas() -> Iterator[str]:
    for name, schema in sorted(document()["components"]["schemas"].items()):
        yield f"## {name}\n"
        yield table(_FIELDS, _fields(schema, ""))


def _fields(schema: _Json, prefix: str) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each field of an object, and for those of the objects in it."""
    for name, one in schema.get("properties", {}).items():
        optional = "" if name in schema.get("required", ()) else "Not always there. "
        yield code(prefix + name), _type(one), (optional + plain(one.get("description", ""))).strip()
        inner = one.get("items", one) if one.get("type") == "array" else one
        if "properties" in inner:
            yield from _fields(inner, f"{prefix}{name}{'[]' if inner is not one else ''}.")


def _type(schema: _Json) -> str:
    """Return what a schema allows, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](http-answers.md#{name.lower()})"
    if "oneOf" in schema:
        return " or ".join(dict.fromkeys(map(_type, schema["oneOf"])))
    if "enum" in schema:
        return " or ".join(code(str(one)) for one in schema["enum"])
    if "const" in schema:
        return code(str(schema["const"]))
    kinds = schema.get("type", [])
    return " or ".join(_named(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)) or "any"


def _named(kind: str, schema: _Json) -> str:
    if kind == "array":
        return f"list of {_type(schema['items'])}" if "items" in schema else "list"
    if kind == "object":
        more = schema.get("additionalProperties")
        return f"object of {_type(more)}" if isinstance(more, dict) else "object"
    words = {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(kind, kind)
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    bounds = [
        f"{sign} {schema[name]:,}" for name, sign in signs.items() if name in schema and kind in {"integer", "number"}
    ]
    form = {"date": ", such as 2026-11-01", "date-time": ", a moment in UTC"}.get(schema.get("format", ""), "")
    encoding = ", base64" if schema.get("contentEncoding") == "base64" else ""
    pattern = f", {code(schema['pattern'])}" if "pattern" in schema and len(schema["pattern"]) < 40 else ""
    within = f" ({', '.join(bounds)})" if bounds else ""
    return f"{words}{form}{encoding}{pattern}{within}"
