"""JSON schemas of the bodies that the API takes and answers. The document holds each once and refers to it by name."""

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
    """A JSON schema with its name in the document; ``holds`` may contain other Schemas."""

    name: str
    holds: Json


_TEXT = {"type": "string"}
_STRINGS = {"type": "array", "items": _TEXT}
_NUMBER = {"type": ["number", "null"]}
_REPORTS = {"type": "integer", "minimum": 0}


def _object(properties: Json, **more: Any) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties), **more}


def _closed(properties: Json) -> Json:
    """Return the schema of an object with these properties and no others."""
    return _object(properties, additionalProperties=False)


def _list(properties: Json, **more: Any) -> Json:
    """Return the schema of an array of such objects."""
    return {"type": "array", "items": _closed(properties), **more}


_CANONICAL = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"
"""Base64 in which the bits that are not used are zero."""

_VERDICT = (
    "Whether the interval from low to high lies above 0 (ok), contains 0 (noise) or is too wide to tell (too-few)."
)
_FOUND = (
    "Whether a candidate string is found. Of all strings that are found, 5% are expected to be false discoveries. "
    "Null if the metric lists its values, or the mechanism does not select."
)
_ROW = {
    "value": _TEXT,
    **{
        name: _NUMBER | {"description": said}
        for name, said in (
            ("frequency", "Estimated share, raw and unbiased: it may lie below 0 or above 1."),
            ("count", "The frequency times the number of reports."),
            ("noise_error", "Standard error of the share among those who reported: from the noise alone."),
            ("noise_low", "Lower end of the confidence interval of the share among those who reported."),
            ("noise_high", "Upper end of that interval."),
            ("standard_error", "Standard error of the share in the population: from the noise and from sampling."),
            ("low", "Lower end of the interval of the share in the population, if reporters are a random sample."),
            ("high", "Upper end of that interval."),
            ("repeat_error", "Standard error if the same people reported in every period."),
            ("consistent", "Frequency made non-negative; all sum to 1 (strings: at most 1). Prettier, and biased."),
            ("gain_up", "The most by which forged reports could have raised the frequency."),
            ("gain_down", "The most by which forged reports could have lowered it."),
        )
    },
    "verdict": {"enum": ["ok", "noise", "too-few"], "description": _VERDICT},
    "found": {"type": ["boolean", "null"], "description": _FOUND},
}

_REFUSED = "Number of the metric's batches that were refused on these days, by the last part of the problem's type."
_POISONING = {
    "share": {"type": "number", "description": "Share of the reports that is assumed to be forged."},
    "reports": {"type": "integer", "description": "Number of reports that is assumed to be forged."},
    "reports_to_appear": {
        "type": "integer",
        "description": "Number of forged reports that moves the interval of a value that nobody has above 0.",
    },
}
_CHECK = {
    "test": _TEXT,
    "says": {"type": "string", "description": "What the test expects of honest reports."},
    "p_value": {"type": "number", "minimum": 0, "maximum": 1},
    "level": {"type": "number", "description": "Significance level: all tests alarm falsely in 1 of 1,000 estimates."},
    "odd": {"type": "boolean", "description": "Whether p_value is below level: honest reports hardly look like this."},
}

_REST = {
    **{name: {"type": "number"} for name in ("frequency", "standard_error", "low", "high")},
    "beyond": {"enum": ["candidates", "found"], "description": "The share is of people whose string is none of these."},
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
    "difference": _NUMBER | {"description": "The second share minus the first."},
    "standard_error": _NUMBER | {"description": "Standard error, as if the same people reported in every period."},
    "low": _NUMBER,
    "high": _NUMBER,
    "p_value": _NUMBER | {"description": "P-value of the hypothesis that the shares are equal."},
    "adjusted": _NUMBER | {"description": "The p-value, adjusted for the number of values by Holm's method."},
    "changed": {"type": "boolean", "description": "Whether adjusted is below 1 - confidence."},
    "reports_needed": {
        "type": ["integer", "null"],
        "description": "Reports that each side needs to see the change asked for. Null if a change is seen.",
    },
}
_COURSE = {
    "value": _TEXT,
    "slope": _NUMBER | {"description": "Slope of a straight line, in share per day."},
    "slope_error": _NUMBER | {"description": "Standard error, as if the same people reported in every step."},
    "p_value": _NUMBER | {"description": "P-value of no change: of the slope, and of each step against the others."},
    "adjusted": _NUMBER | {"description": "The p-value, adjusted for the number of values by Holm's method."},
    "drift": {"type": "boolean", "description": "Whether adjusted is below 1 - confidence."},
}
_STEP = {
    "since": _TEXT,
    "until": _TEXT,
    "reports": {"type": "integer"},
    "tested": {"type": "boolean", "description": "Whether the step has enough reports to be tested."},
}
_POINT = dict.fromkeys(("frequency", "standard_error", "low", "high"), _NUMBER)
_COST = {
    "epsilon": {"type": "number", "description": "Privacy loss of one report, at most."},
    "epsilon_after_10": {"type": "number", "description": "Privacy loss of ten reports of one value, at most."},
    "epsilon_forever": _NUMBER | {"description": "Privacy loss of any number of reports of one value. Null: no bound."},
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
    "periods": {"type": "integer", "minimum": 1, "description": "Periods in which one device may have reported."},
    "refused": {"type": "object", "additionalProperties": {"type": "integer"}, "description": _REFUSED},
    "since": {"type": ["string", "null"]}, "until": {"type": ["string", "null"]}, "confidence": {"type": "number"},
    "simultaneous": {"enum": [None, "sidak", "bonferroni"]},
    "poisoning": _closed(_POISONING),
    "health": _list(_CHECK),
    "unlisted": {"anyOf": [{"type": "null"}, _closed(_REST)]},
    "values": _list(_ROW),
}))  # fmt: skip
TREND = Schema("Trend", _closed({
    "metric": _TEXT, "version": _TEXT, "confidence": {"type": "number"}, "correction": _TEXT,
    "slope_unit": _TEXT | {"description": "Unit of every slope and of its standard error."}, "note": _TEXT,
    "steps": _list(_STEP),
    "values": _list(_COURSE | {"points": _list(_POINT)}),
}))  # fmt: skip

METRIC = Schema("Metric", _object({
    **dict.fromkeys(("metric", "version", "description", "type", "mechanism", "odds", "period"), _TEXT),
    **_COST, "size": {"type": "integer", "description": "Number of values of the metric."}, "values": _STRINGS,
}))  # fmt: skip
METRICS = Schema("Metrics", _object({
    "metrics": {"type": "array", "items": METRIC},
    "size": {"type": "integer", "description": "Number of metrics."},
    "former": _STRINGS | {"description": "Names of metrics that are no longer asked, but can be read."},
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
    "token": {"enum": ["needed", "not-needed"], "description": "Whether a report without a token would be refused."},
}))  # fmt: skip
DIAGNOSIS = Schema("Diagnosis", _object({
    "version": _TEXT | {"description": "Version of the program that answers."},
    "seen": _closed({
        "address": _TEXT | {"description": "Address that the request came from. Nothing keeps it."},
        "loopback": {"type": "boolean", "description": "Whether that is the collector's own machine."},
        "proxy": {"type": "boolean", "description": "Whether it is a declared proxy."},
        "forwarded_for": {"type": ["string", "null"], "description": "Last forwarded address that is not a proxy."},
        "signs": _STRINGS | {"description": "What shows that somebody passes the request on."},
        "local": {"type": "boolean", "description": "Whether it may report without a token, being made here."},
    }),
}))  # fmt: skip
STATUS = Schema("Status", _object({"status": _TEXT}))
PROBLEM = Schema("Problem", _closed({
    "type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT,
}))  # fmt: skip
