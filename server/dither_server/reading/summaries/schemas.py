"""Parts of JSON schemas that the estimates of every kind of question have."""

from ...protocol.json_schema import NUMBER, REPORTS, TEXT, Json, Optional, list_of

__all__ = ["ABOUT", "COST", "FOLDED", "STRATUM"]

COST = {
    "epsilon": {"type": "number", "description": "Privacy loss of one report, at most."},
    "epsilon_after_10": {"type": "number", "description": "Privacy loss of ten reports of one value, at most."},
    "epsilon_forever": NUMBER | {"description": "Privacy loss of any number of reports of one value. Null: no bound."},
    "privacy": TEXT,
}

_REFUSED = "Number of the metric's batches that were refused on these days, by the last part of the problem's type."
_CHECK = {
    "test": TEXT,
    "says": {"type": "string", "description": "What the test expects of honest reports."},
    "p_value": {"type": "number", "minimum": 0, "maximum": 1},
    "level": {"type": "number", "description": "Significance level: all tests alarm falsely in 1 of 1,000 estimates."},
    "odd": {"type": "boolean", "description": "Whether p_value is below level: honest reports hardly look like this."},
}

STRATUM = Optional({
    "type": "object",
    "additionalProperties": {"type": ["string", "null"]},
    "description": "Each attribute of the metric's strata with the value that reports were read of; null: of any.",
})  # fmt: skip

FOLDED = Optional({
    "type": "string",
    "format": "date-time",
    "description": "Where collectors spool: when the last fold began. Segments of then are counted, journals are not.",
})  # fmt: skip

ABOUT: Json = {
    "metric": TEXT, "version": TEXT, "mechanism": TEXT, **COST, "reports": REPORTS,
    "periods": {"type": "integer", "minimum": 1, "description": "Periods in which one device may have reported."},
    "refused": {"type": "object", "additionalProperties": {"type": "integer"}, "description": _REFUSED},
    "since": {"type": ["string", "null"]}, "until": {"type": ["string", "null"]}, "confidence": {"type": "number"},
    "health": list_of(_CHECK), "stratum": STRATUM, "folded_up_to": FOLDED,
}  # fmt: skip
"""What is told beside every estimate."""
