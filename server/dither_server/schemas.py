"""What the API takes and answers, as named JSON schemas. A schema may hold others; the document refers to them."""

from dataclasses import dataclass
from typing import Any

__all__ = [
    "ACCEPTED",
    "BATCH",
    "COMBINED",
    "COMPARISON",
    "ESTIMATE",
    "METRIC",
    "METRICS",
    "PROBLEM",
    "RECEPTION",
    "STATUS",
    "TREND",
    "VERSION",
    "Json",
    "Schema",
]

Json = dict[str, Any]


@dataclass(frozen=True)
class Schema:
    """A JSON schema that the document holds once, by its name."""

    name: str
    holds: Json


_TEXT = {"type": "string"}
_STRINGS = {"type": "array", "items": _TEXT}
_NUMBER = {"type": ["number", "null"]}
_REPORTS = {"type": "integer", "minimum": 0}


def _object(properties: Json, **more: Any) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties), **more}


def _closed(properties: Json) -> Json:
    """Return the schema of an object that holds nothing else."""
    return _object(properties, additionalProperties=False)


def _list(properties: Json, **more: Any) -> Json:
    return {"type": "array", "items": _closed(properties), **more}


_CANONICAL = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"
"""Base64 in which the bits that are not used are zero."""

_VERDICT = "Of the interval from low to high alone: it lies above 0, it contains 0, or it says nothing yet."
_FOUND = (
    "Of a candidate string: whether it is found, at an expected 5% of false discoveries among all that are. "
    "Null where nothing is selected, as where the answers are listed."
)
_ROW = {
    "value": _TEXT,
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
            ("repeat_error", "The standard error if the same people reported in every period."),
            ("consistent", "Non-negative and summing to 1 (of strings, at most 1), prettier and biased."),
            ("gain_up", "By how much forged reports could have raised the frequency, at worst."),
            ("gain_down", "By how much they could have lowered it."),
        )
    },
    "verdict": {"enum": ["ok", "noise", "too-few"], "description": _VERDICT},
    "found": {"type": ["boolean", "null"], "description": _FOUND},
}

_REFUSED = "How many batches of the metric were refused on these days, by the end of the problem's type."
_POISONING = {
    "share": {"type": "number", "description": "So many of the reports are assumed forged"},
    "reports": {"type": "integer", "description": "that is, this number of them."},
    "reports_to_appear": {
        "type": "integer",
        "description": "So many forged ones take a value that nobody has to where its interval leaves 0.",
    },
}
_CHECK = {
    "test": _TEXT,
    "says": {"type": "string", "description": "What holds of honest reports."},
    "p_value": {"type": "number", "minimum": 0, "maximum": 1},
    "level": {"type": "number", "description": "Its part of the false alarms, of which there is 1 in 1,000 estimates."},
    "odd": {"type": "boolean", "description": "Whether honest reports would hardly be so."},
}

_REST = {
    **{name: {"type": "number"} for name in ("frequency", "standard_error", "low", "high")},
    "beyond": {"enum": ["candidates", "found"], "description": "Who counts: whose string is none of these."},
}

_SIDE = {
    "metric": _TEXT,
    "version": _TEXT,
    "reports": {"type": "integer", "minimum": 0},
    "periods": {"type": "integer", "minimum": 1},
    "since": {"type": ["string", "null"]},
    "until": {"type": ["string", "null"]},
}
_DIFFERENCE = {
    "value": _TEXT,
    "first": _NUMBER,
    "second": _NUMBER,
    "difference": _NUMBER | {"description": "The second less the first."},
    "standard_error": _NUMBER | {"description": "Of the difference, as if the same people reported in all periods."},
    "low": _NUMBER,
    "high": _NUMBER,
    "p_value": _NUMBER | {"description": "Of no difference."},
    "adjusted": _NUMBER | {"description": "The same, corrected for the number of values by Holm's method."},
    "changed": {"type": "boolean", "description": "Whether that is below 1 - confidence."},
    "reports_needed": {
        "type": ["integer", "null"],
        "description": "Where no change is seen: how many reports each side needs to see the change asked for.",
    },
}
_COURSE = {
    "value": _TEXT,
    "slope": _NUMBER | {"description": "Of a straight line, in shares a day."},
    "slope_error": _NUMBER | {"description": "Its standard error, as if the same people reported in all steps."},
    "p_value": _NUMBER | {"description": "Of no change, over the slope and every step against all others."},
    "adjusted": _NUMBER | {"description": "The same, corrected for the number of values by Holm's method."},
    "drift": {"type": "boolean", "description": "Whether that is below 1 - confidence."},
}
_STEP = {
    "since": _TEXT,
    "until": _TEXT,
    "reports": {"type": "integer"},
    "tested": {"type": "boolean", "description": "Whether there are enough reports for the tests."},
}
_POINT = dict.fromkeys(("frequency", "standard_error", "low", "high"), _NUMBER)
_COST = {
    "epsilon": {"type": "number"},
    "epsilon_after_10": {"type": "number"},
    "epsilon_forever": _NUMBER,
    "privacy": _TEXT,
}

COMBINED = Schema("Combined", _closed({
    "metric": _TEXT, "versions": _STRINGS, "reports": _REPORTS, "confidence": {"type": "number"},
    "values": _list({name: _ROW[name] for name in ("value", "frequency", "standard_error", "low", "high")}),
}))  # fmt: skip
COMPARISON = Schema("Comparison", _closed({
    "sides": _list(_SIDE, minItems=2, maxItems=2),
    "confidence": {"type": "number"}, "correction": _TEXT, "change": {"type": "number"}, "power": {"type": "number"},
    "note": _TEXT,
    "values": _list(_DIFFERENCE),
}))  # fmt: skip
ESTIMATE = Schema("Estimate", _closed({
    "metric": _TEXT, "version": _TEXT, "mechanism": _TEXT, **_COST, "reports": _REPORTS,
    "periods": {"type": "integer", "minimum": 1, "description": "In so many periods one device may have reported."},
    "refused": {"type": "object", "additionalProperties": {"type": "integer"}, "description": _REFUSED},
    "since": {"type": ["string", "null"]}, "until": {"type": ["string", "null"]}, "confidence": {"type": "number"},
    "simultaneous": {"enum": [None, "sidak", "bonferroni"]},
    "poisoning": _closed(_POISONING),
    "health": _list(_CHECK),
    "unlisted": {"anyOf": [{"type": "null"}, _closed(_REST)]},
    "values": _list(_ROW),
}))  # fmt: skip
TREND = Schema("Trend", _closed({
    "metric": _TEXT, "version": _TEXT, "confidence": {"type": "number"}, "correction": _TEXT, "note": _TEXT,
    "steps": _list(_STEP),
    "values": _list(_COURSE | {"points": _list(_POINT)}),
}))  # fmt: skip

METRIC = Schema("Metric", _object({
    **dict.fromkeys(("metric", "version", "description", "type", "mechanism", "odds", "period"), _TEXT),
    **_COST, "size": {"type": "integer", "description": "How many values it has."}, "values": _STRINGS,
}))  # fmt: skip
METRICS = Schema("Metrics", _object({
    "metrics": {"type": "array", "items": METRIC},
    "size": {"type": "integer", "description": "How many metrics there are."},
    "former": _STRINGS,
}))  # fmt: skip
VERSION = Schema("Version", _closed({
    "metric": _TEXT, "version": _TEXT, "reports": {"enum": ["accepted", "disabled"]},
}))  # fmt: skip

BATCH = Schema("Batch", _closed({
    "batch": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    "metric": _TEXT,
    "version": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
    "reports": {"type": "string", "contentEncoding": "base64", "minLength": 4, "pattern": _CANONICAL},
}))  # fmt: skip
ACCEPTED = Schema("Accepted", _closed({"accepted": {"type": "integer", "minimum": 1}}))
RECEPTION = Schema("Reception", _closed({
    "collector": {"const": "dither"},
    "reports": {"const": "accepted"},
    "token": {"enum": ["needed", "not-needed"], "description": "Whether one without a token would be refused."},
}))  # fmt: skip
STATUS = Schema("Status", _object({"status": _TEXT}))
PROBLEM = Schema("Problem", _closed({
    "type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT,
}))  # fmt: skip
