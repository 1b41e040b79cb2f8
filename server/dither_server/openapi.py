"""The API's description, OpenAPI 3.1. The tests hold the app to it, request by request."""

from typing import Any

from .auth import Role
from .exports import FORMATS
from .policies import POLICIES
from .problems import MEDIA_TYPE, Kind

__all__ = ["openapi"]

Json = dict[str, Any]

_CANONICAL = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"
"""Base64 in which the bits that are not used are zero."""

_NUMBER = {"type": ["number", "null"]}
_ROW = {
    "value": {"type": "string"},
    **{
        name: _NUMBER | {"description": said}
        for name, said in (
            ("frequency", "Raw and unbiased: it may lie below 0 or above 1."),
            ("count", "The frequency times the number of reports."),
            ("noise_error", "Standard error from the noise alone: of the share among those who reported."),
            ("noise_low", "The interval of the share among those who reported."),
            ("noise_high", "Its other end."),
            ("standard_error", "From the noise and from who happened to report: of the share in the population."),
            ("low", "The interval of the share in the population of which those who reported are a random sample."),
            ("high", "Its other end."),
            ("consistent", "Non-negative and summing to 1, prettier and biased."),
        )
    },
    "verdict": {"enum": ["ok", "noise", "too-few"]},
}


def openapi() -> Json:
    """Return the document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "dither", "version": "1", "description": "A collector of reports under local privacy."},
        "paths": _paths(),
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "password": {"type": "http", "scheme": "basic", "description": "Any user; the token is the password."},
            },
        },
    }


def _paths() -> Json:
    return {
        "/v1/reports": {"post": _post_reports()},
        "/v1/metrics": {"get": _get("list_metrics", "List the metrics.", _json("Metrics"))},
        "/v1/metrics/{name}": {
            "get": _get("show_metric", "Show a metric and its versions.", _json("Metric"), [_NAME], Kind.UNKNOWN_METRIC)
        },
        "/v1/metrics/{name}/estimate": {"get": _get_estimate()},
        "/v1/metrics/{name}/combined": {"get": _get_combined()},
        "/healthz": {"get": _get("healthz", "Say that the process answers.", _json("Status"))},
        "/readyz": {"get": _get("readyz", "Say that the database answers.", _json("Status"))},
        "/metrics": {"get": _get("show_gauges", "Show how the collector fares.", {"text/plain": {}})},
        "/openapi.json": {"get": _get("show_openapi", "Show this document.", {"application/json": {}})},
        "/m/{name}": {
            "get": _get("show_page", "Show a metric as a page.", {"text/html": {}}, [_NAME], Kind.UNKNOWN_METRIC)
        },
        "/": {"get": _get("show_dashboard", "Show every metric as a page.", {"text/html": {}})},
    }


_NAME: Json = {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[^/]+$"}}


def _query(name: str, schema: Json, description: str) -> Json:
    return {"name": name, "in": "query", "schema": schema, "description": description}


def _span() -> list[Json]:
    day = {"type": "string", "format": "date"}
    return [
        _NAME,
        _query("since", day, "First UTC day."),
        _query("until", day, "Last UTC day, included."),
        _query("confidence", {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, "Of the intervals."),
    ]


def _get_combined() -> Json:
    summary = "Combine every version's estimates, each weighed by the inverse of its variance."
    wrong = (Kind.PARAMETER, Kind.UNKNOWN_METRIC)
    return _get("combine_versions", summary, _json("Combined"), _span(), *wrong)


def _get_estimate() -> Json:
    parameters = [
        *_span(),
        _query("simultaneous", {"enum": ["true", "false"]}, "Whether the intervals are to hold all together."),
        _query("format", {"enum": list(FORMATS)}, "Before what Accept prefers."),
        _query("version", {"type": "string"}, "Another version than the current one."),
    ]
    tables: Json = {one.media_type: {} for one in FORMATS.values() if one.name != "json"}
    content = _json("Estimate") | tables
    wrong = (Kind.PARAMETER, Kind.NO_CANDIDATES, Kind.UNKNOWN_METRIC, Kind.UNKNOWN_VERSION, Kind.NOT_ACCEPTABLE)
    return _get("estimate_metric", "Estimate a metric's frequencies.", content, parameters, *wrong)


def _post_reports() -> Json:
    kinds = (
        Kind.MALFORMED, Kind.UNKNOWN_METRIC, Kind.VERSION_CONFLICT, Kind.BATCH_CONFLICT, Kind.LENGTH_REQUIRED,
        Kind.TOO_LARGE, Kind.MEDIA_TYPE, Kind.OVERLOADED, Kind.UNAVAILABLE,
    )  # fmt: skip
    return {
        "operationId": "post_reports",
        "summary": "Count a batch of reports, once, however often it is sent.",
        "requestBody": {"required": True, "content": _json("Batch")},
        "responses": {"202": {"description": "Counted, durably.", "content": _json("Accepted")}, **_wrong(*kinds)},
        **_secured("post_reports", kinds),
    }


def _get(name: str, summary: str, content: Json, parameters: list[Json] | None = None, *kinds: Kind) -> Json:
    return {
        "operationId": name,
        "summary": summary,
        "parameters": parameters or [],
        "responses": {"200": {"description": "Found.", "content": content}, **_wrong(*kinds, Kind.UNAVAILABLE)},
        **_secured(name, kinds),
    }


def _secured(name: str, kinds: tuple[Kind, ...]) -> Json:
    role = POLICIES[f"dither.{name}"]
    if role is None:
        return {"security": []}
    roles = [one.value for one in Role if one.covers(role)]
    return {"security": [{"token": roles}, {"password": roles}, {}]}


def _wrong(*kinds: Kind) -> Json:
    """Return the problems of an operation, those of one status together."""
    answers: Json = {}
    for kind in (*kinds, Kind.UNAUTHORIZED, Kind.FORBIDDEN, Kind.INTERNAL):
        content = {MEDIA_TYPE: _json("Problem")["application/json"]}
        said = answers.setdefault(str(kind.status), {"description": "", "content": content})
        said["description"] = "; ".join(filter(None, (said["description"], f"{kind.urn}: {kind.title}")))
    return answers


def _json(name: str) -> Json:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _object(properties: Json, **more: Any) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties), **more}


def _schemas() -> Json:
    text, strings = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
    number = {"type": "number"}
    cost = {"epsilon": number, "epsilon_after_10": number, "epsilon_forever": _NUMBER, "privacy": text}
    metric = {
        **dict.fromkeys(("metric", "version", "description", "type", "mechanism", "odds", "period"), text),
        **cost, "values": strings,
    }  # fmt: skip
    estimate = {
        "metric": text, "version": text, "mechanism": text, **cost, "reports": {"type": "integer", "minimum": 0},
        "since": {"type": ["string", "null"]}, "until": {"type": ["string", "null"]}, "confidence": {"type": "number"},
        "simultaneous": {"enum": [None, "sidak", "bonferroni"]},
        "values": {"type": "array", "items": _object(_ROW, additionalProperties=False)},
    }  # fmt: skip
    few = {name: _ROW[name] for name in ("value", "frequency", "standard_error", "low", "high")}
    combination = {
        "metric": text, "versions": strings, "reports": {"type": "integer", "minimum": 0}, "confidence": number,
        "values": {"type": "array", "items": _object(few, additionalProperties=False)},
    }  # fmt: skip
    batch = {
        "batch": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "metric": text,
        "version": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "reports": {"type": "string", "contentEncoding": "base64", "minLength": 4, "pattern": _CANONICAL},
    }
    problem = {"type": text, "title": text, "status": {"type": "integer"}, "detail": text}
    return {
        "Accepted": _object({"accepted": {"type": "integer", "minimum": 1}}, additionalProperties=False),
        "Batch": _object(batch, additionalProperties=False),
        "Combined": _object(combination, additionalProperties=False),
        "Estimate": _object(estimate, additionalProperties=False),
        "Metric": _object(metric),
        "Metrics": _object({"metrics": {"type": "array", "items": {"$ref": "#/components/schemas/Metric"}}}),
        "Problem": _object(problem, additionalProperties=False),
        "Status": _object({"status": text}),
    }
