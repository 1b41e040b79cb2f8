"""What the API's answers hold, as JSON schemas."""

from typing import Any

__all__ = ["Json", "schemas"]

Json = dict[str, Any]

_CANONICAL = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"
"""Base64 in which the bits that are not used are zero."""

_VERDICT = "Of the interval from low to high alone: it lies above 0, it contains 0, or it says nothing yet."
_FOUND = (
    "Of a candidate string: whether it is found, at an expected 5% of false discoveries among all that are. "
    "Null where nothing is selected, as where the answers are listed."
)
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
    "test": {"type": "string"},
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
    "metric": {"type": "string"},
    "version": {"type": "string"},
    "reports": {"type": "integer", "minimum": 0},
    "periods": {"type": "integer", "minimum": 1},
    "since": {"type": ["string", "null"]},
    "until": {"type": ["string", "null"]},
}
_DIFFERENCE = {
    "value": {"type": "string"},
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
    "value": {"type": "string"},
    "slope": _NUMBER | {"description": "Of a straight line, in shares a day."},
    "slope_error": _NUMBER | {"description": "Its standard error, as if the same people reported in all steps."},
    "p_value": _NUMBER | {"description": "Of no change, over the slope and every step against all others."},
    "adjusted": _NUMBER | {"description": "The same, corrected for the number of values by Holm's method."},
    "drift": {"type": "boolean", "description": "Whether that is below 1 - confidence."},
}
_STEP = {
    "since": {"type": "string"},
    "until": {"type": "string"},
    "reports": {"type": "integer"},
    "tested": {"type": "boolean", "description": "Whether there are enough reports for the tests."},
}
_POINT = dict.fromkeys(("frequency", "standard_error", "low", "high"), _NUMBER)


def _object(properties: Json, **more: Any) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties), **more}


_TEXT = {"type": "string"}
_COST = {
    "epsilon": {"type": "number"},
    "epsilon_after_10": {"type": "number"},
    "epsilon_forever": _NUMBER,
    "privacy": _TEXT,
}


def _told() -> Json:
    """Return the schemas of what is estimated."""
    text, number, strings = _TEXT, {"type": "number"}, {"type": "array", "items": _TEXT}
    estimate = {
        "metric": text, "version": text, "mechanism": text, **_COST, "reports": {"type": "integer", "minimum": 0},
        "periods": {"type": "integer", "minimum": 1, "description": "In so many periods one device may have reported."},
        "refused": {"type": "object", "additionalProperties": {"type": "integer"}, "description": _REFUSED},
        "since": {"type": ["string", "null"]}, "until": {"type": ["string", "null"]}, "confidence": {"type": "number"},
        "simultaneous": {"enum": [None, "sidak", "bonferroni"]},
        "poisoning": _object(_POISONING, additionalProperties=False),
        "health": {"type": "array", "items": _object(_CHECK, additionalProperties=False)},
        "unlisted": {"anyOf": [{"type": "null"}, _object(_REST, additionalProperties=False)]},
        "values": {"type": "array", "items": _object(_ROW, additionalProperties=False)},
    }  # fmt: skip
    few = {name: _ROW[name] for name in ("value", "frequency", "standard_error", "low", "high")}
    combination = {
        "metric": text, "versions": strings, "reports": {"type": "integer", "minimum": 0}, "confidence": number,
        "values": {"type": "array", "items": _object(few, additionalProperties=False)},
    }  # fmt: skip
    comparison = {
        "sides": {"type": "array", "items": _object(_SIDE, additionalProperties=False), "minItems": 2, "maxItems": 2},
        "confidence": number, "correction": text, "change": number, "power": number,
        "note": text,
        "values": {"type": "array", "items": _object(_DIFFERENCE, additionalProperties=False)},
    }  # fmt: skip
    course = {**_COURSE, "points": {"type": "array", "items": _object(_POINT, additionalProperties=False)}}
    trend = {
        "metric": text, "version": text, "confidence": number, "correction": text, "slope_unit": text,
        "note": text,
        "steps": {"type": "array", "items": _object(_STEP, additionalProperties=False)},
        "values": {"type": "array", "items": _object(course, additionalProperties=False)},
    }  # fmt: skip
    return {
        "Combined": _object(combination, additionalProperties=False),
        "Comparison": _object(comparison, additionalProperties=False),
        "Estimate": _object(estimate, additionalProperties=False),
        "Trend": _object(trend, additionalProperties=False),
    }


def schemas() -> Json:
    """Return the schemas by name."""
    text, strings = _TEXT, {"type": "array", "items": _TEXT}
    metric = {
        **dict.fromkeys(("metric", "version", "description", "type", "mechanism", "odds", "period"), text),
        **_COST, "size": {"type": "integer", "description": "How many values it has."}, "values": strings,
    }  # fmt: skip
    batch = {
        "batch": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "metric": text,
        "version": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "reports": {"type": "string", "contentEncoding": "base64", "minLength": 4, "pattern": _CANONICAL},
    }
    token = {"enum": ["needed", "not-needed"], "description": "Whether one without a token would be refused."}
    reception = {"collector": {"const": "dither"}, "reports": {"const": "accepted"}, "token": token}
    version = {"metric": text, "version": text, "reports": {"enum": ["accepted", "disabled"]}}
    problem = {"type": text, "title": text, "status": {"type": "integer"}, "detail": text}
    return _told() | {
        "Accepted": _object({"accepted": {"type": "integer", "minimum": 1}}, additionalProperties=False),
        "Batch": _object(batch, additionalProperties=False),
        "Metric": _object(metric),
        "Metrics": _object(
            {
                "metrics": {"type": "array", "items": {"$ref": "#/components/schemas/Metric"}},
                "size": {"type": "integer", "description": "How many metrics there are."},
                "former": {"type": "array", "items": {"type": "string"}},
            }
        ),
        "Problem": _object(problem, additionalProperties=False),
        "Reception": _object(reception, additionalProperties=False),
        "Status": _object({"status": text}),
        "Version": _object(version, additionalProperties=False),
    }
