"""The API's description, OpenAPI 3.1. The tests hold the app to it, request by request."""

from .confidence import LEAST_CONFIDENCE, MOST_CONFIDENCE
from .exports import FORMATS
from .policies import POLICIES
from .problems import MEDIA_TYPE, Kind
from .roles import Role
from .schemas import Json, schemas

__all__ = ["openapi"]

_ROLES = {endpoint.rpartition(".")[2]: role for endpoint, role in POLICIES.items()}
"""By the name of a route's function, which is its operation's id."""


_ABOUT = """A collector of reports under local privacy.

Metrics cannot be crossed: reports carry no identity, so which answer to one question came with which answer to another
is not known here, nor could it be. To ask how two things go together, ask one question whose values are the pairs."""


def openapi() -> Json:
    """Return the document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "dither", "version": "1", "description": _ABOUT},
        "paths": _paths(),
        "components": {
            "schemas": schemas(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "password": {"type": "http", "scheme": "basic", "description": "Any user; the token is the password."},
            },
        },
    }


def _paths() -> Json:
    return {
        "/v1/reports": {
            "post": _post_reports(),
            "get": _get("may_report", "Say that a report would be let in, with this token.", _json("Reception")),
        },
        "/v1/metrics": {"get": _get_metrics()},
        "/v1/metrics/{name}": {"get": _get_metric()},
        "/v1/metrics/{name}/versions/{version}": {"get": _get_version()},
        "/v1/metrics/{name}/estimate": {"get": _get_estimate()},
        "/v1/metrics/{name}/combined": {"get": _get_combined()},
        "/v1/metrics/{name}/compare": {"get": _get_compare()},
        "/v1/metrics/{name}/trend": {"get": _get_trend()},
        "/healthz": {"get": _get("healthz", "Say that the process answers.", _json("Status"))},
        "/readyz": {"get": _get("readyz", "Say that the database answers.", _json("Status"))},
        "/metrics": {"get": _get("show_gauges", "Show how the collector fares.", {"text/plain": {}})},
        "/v1/diagnosis": {
            "get": _get("show_diagnosis", "Show what the collector sees of this request.", _json("Diagnosis"))
        },
        "/openapi.json": {"get": _get("show_openapi", "Show this document.", {"application/json": {}})},
        "/m/{name}": {"get": _get_page()},
        "/plotly.js": {
            "get": _get("show_plotly", "Hand out Plotly's script.", {"text/javascript": {}}, [], Kind.NOT_FOUND)
        },
        "/": {"get": _get_dashboard()},
    }


_NAME: Json = {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[^/]+$"}}


def _get_version() -> Json:
    version: Json = {**_NAME, "name": "version"}
    summary = "Say whether reports of a metric version are counted, to whoever knows its name and version."
    return _get("show_version", summary, _json("Version"), [_NAME, version], Kind.UNKNOWN_VERSION)


def _query(name: str, schema: Json, description: str) -> Json:
    return {"name": name, "in": "query", "schema": schema, "description": description}


_DAY = {"type": "string", "format": "date"}
_SHARE = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_CONFIDENCE = {"type": "number", "minimum": LEAST_CONFIDENCE, "maximum": MOST_CONFIDENCE}
_VERSION = _query("version", {"type": "string"}, "Another version than the current one.")

_COUNT = {"type": "integer", "minimum": 1, "maximum": 999_999_999}
_FOUND = [
    _query("find", {"type": "string"}, "Show only what has this in its name."),
    _query("page", _COUNT, "Of many, the page."),
    _query("limit", {"type": "integer", "minimum": 1, "maximum": 500}, "Rows or metrics of a page."),
]
_PART = [
    _query("limit", _COUNT, "Show so many at most."),
    _query("offset", {"type": "integer", "minimum": 0, "maximum": 999_999_999}, "Leave out so many before them."),
]
_SHOWN = [
    _query(
        "values",
        {"type": "array", "items": {"type": "string"}},
        "Show only these values; repeat the parameter for each. No number changes with what is left out.",
    ),
    _query("top", _COUNT, "Show the most frequent, in the order of their shares; in place of limit and offset."),
    *_PART,
]


def _days() -> list[Json]:
    return [
        _NAME,
        _query("since", _DAY, "First UTC day."),
        _query("until", _DAY, "Last UTC day, included."),
        _query("confidence", _CONFIDENCE, "Confidence of the intervals."),
    ]


def _span() -> list[Json]:
    return [*_days(), *_SHOWN]


def _get_metrics() -> Json:
    summary = "List the metrics, each with its first 100 values."
    return _get("list_metrics", summary, _json("Metrics"), _PART, Kind.PARAMETER)


def _get_metric() -> Json:
    wrong = (Kind.PARAMETER, Kind.UNKNOWN_METRIC)
    return _get("show_metric", "Show a metric, its values and its versions.", _json("Metric"), [_NAME, *_PART], *wrong)


def _get_combined() -> Json:
    summary = "Combine every version's estimates, each weighed by the inverse of its variance."
    wrong = (Kind.PARAMETER, Kind.UNKNOWN_METRIC, *_COSTLY)
    return _get("combine_versions", summary, _json("Combined"), _span(), *wrong)


def _asked(span: list[Json]) -> list[Json]:
    return [
        *span,
        _query("simultaneous", {"enum": ["true", "false"]}, "Whether the intervals are to hold all together."),
        _query("forged", _SHARE, "The share of reports assumed forged, where their effect is told."),
    ]


def _get_dashboard() -> Json:
    parameters = [*_asked(_days())[1:], *_FOUND]
    wrong = (Kind.PARAMETER, *_COSTLY)
    return _get("show_dashboard", "Show every metric as a page.", {"text/html": {}}, parameters, *wrong)


def _get_page() -> Json:
    wrong = (Kind.PARAMETER, Kind.UNKNOWN_METRIC, Kind.UNKNOWN_VERSION, *_COSTLY)
    parameters = [*_asked(_days()), _VERSION, *_FOUND]
    return _get("show_page", "Show a metric as a page.", {"text/html": {}}, parameters, *wrong)


def _get_estimate() -> Json:
    parameters = [
        *_asked(_span()),
        _query("by_day", {"enum": ["true", "false"]}, "Whether to answer for each day with reports, in place of all."),
        _query("format", {"enum": list(FORMATS)}, "Before what Accept prefers."),
        _VERSION,
    ]
    tables: Json = {one.media_type: {} for one in FORMATS.values() if one.name != "json"}
    one = _json("Estimate")["application/json"]["schema"]
    content = {"application/json": {"schema": {"oneOf": [one, {"type": "array", "items": one}]}}} | tables
    wrong = (*_ESTIMABLE, Kind.NOT_ACCEPTABLE)
    return _get("estimate_metric", "Estimate a metric's frequencies.", content, parameters, *wrong)


def _get_compare() -> Json:
    parameters = [
        *_span(),
        _VERSION,
        _query("other", {"type": "string"}, "Another metric, to compare the values that both list."),
        _query("other_version", {"type": "string"}, "The other side's version, if not the current one."),
        _query("other_since", _DAY, "The other side's first UTC day."),
        _query("other_until", _DAY, "The other side's last UTC day, included."),
        _query("change", _SHARE, "The change for which the needed reports are counted."),
    ]
    summary = "Compare a metric with itself on other days (by default the last two weeks) or versions, or with another."
    return _get("compare_estimates", summary, _json("Comparison"), parameters, *_ESTIMABLE)


def _get_trend() -> Json:
    parameters = [*_span(), _VERSION, _query("step", {"enum": ["day", "week"]}, "Weeks are from Monday to Sunday.")]
    summary = "Show a metric's course over days or weeks, and which values drift."
    return _get("trend_of_estimates", summary, _json("Trend"), parameters, *_ESTIMABLE)


_COSTLY = (Kind.TOO_COSTLY, Kind.BUSY)
_ESTIMABLE = (Kind.PARAMETER, Kind.NO_CANDIDATES, Kind.UNKNOWN_METRIC, Kind.UNKNOWN_VERSION, *_COSTLY)


def _post_reports() -> Json:
    kinds = (
        Kind.MALFORMED, Kind.UNKNOWN_METRIC, Kind.VERSION_CONFLICT, Kind.BATCH_CONFLICT, Kind.DISABLED,
        Kind.LENGTH_REQUIRED,
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
    role = _ROLES[name]
    if role is None:
        return {"security": []}
    roles = [one.value for one in Role if one.covers(role)]
    return {"security": [{"token": roles}, {"password": roles}, {}]}


def _wrong(*kinds: Kind) -> Json:
    """Return the problems of an operation, those of one status together."""
    answers: Json = {}
    for kind in (*kinds, Kind.UNAUTHORIZED, Kind.FORBIDDEN, Kind.CROWDED, Kind.INTERNAL):
        content = {MEDIA_TYPE: _json("Problem")["application/json"], "text/html": {}}
        said = answers.setdefault(str(kind.status), {"description": "", "content": content})
        said["description"] = "; ".join(filter(None, (said["description"], f"{kind.urn}: {kind.title}")))
    return answers


def _json(name: str) -> Json:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
