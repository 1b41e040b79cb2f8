"""JSON schemas for the API's description, and the parts that the estimates of every kind of question have."""

from dataclasses import dataclass
from typing import Any

from ..analysis.columns import schemas_of
from ..analysis.weighted import WEIGHTED

Json = dict[str, Any]


@dataclass(frozen=True)
class Schema:
    """A JSON schema that is defined once, and referred to by its name; ``holds`` may contain other Schemas."""

    name: str
    holds: Json


class _Optional(Json):
    """The schema of a property that some objects lack."""


def optional(schema: Json) -> Json:
    """Return the schema of a property that some objects lack."""
    return _Optional(schema)


TEXT: Json = {"type": "string"}
STRINGS: Json = {"type": "array", "items": TEXT}
NUMBER: Json = {"type": ["number", "null"]}
REPORTS: Json = {"type": "integer", "minimum": 0}


def object_of(properties: Json, **more: Any) -> Json:
    """Return the schema of an object with at least these properties, except for those that are ``optional``."""
    required = [name for name, one in properties.items() if not isinstance(one, _Optional)]
    return {"type": "object", "properties": properties, "required": required, **more}


def closed(properties: Json) -> Json:
    """Return the schema of an object with these properties and no others."""
    return object_of(properties, additionalProperties=False)


def list_of(properties: Json, **more: Any) -> Json:
    """Return the schema of an array of such objects."""
    return {"type": "array", "items": closed(properties), **more}


COST = {
    "epsilon": {"type": "number", "description": "Privacy loss of one report, at most."},
    "epsilon_after_10": {"type": "number", "description": "Privacy loss of ten reports of one value, at most."},
    "epsilon_forever": NUMBER | {"description": "Privacy loss of any number of reports of one value. Null: no bound."},
    "privacy": TEXT,
}

_UNCOUNTED = "Further reports that did not open, that no device could have sent, or that were counted before."
_REFUSED = "Number of the metric's batches that were refused on these days, by the last part of the problem's type."
_CHECK = {
    "test": TEXT,
    "says": {"type": "string", "description": "Expected statistic if all reports are honest."},
    "p_value": {"type": "number", "minimum": 0, "maximum": 1},
    "level": {"type": "number", "description": "Significance level: all tests alarm falsely in 1 of 1,000 estimates."},
    "odd": {"type": "boolean", "description": "Whether p_value is below level: honest reports rarely look like this."},
}

_REPEATS = "Design effect: the largest mean of the number of reports that the device of a report made here."

STRATUM = optional({
    "type": "object",
    "additionalProperties": {"type": ["string", "null"]},
    "description": "Each attribute of the metric's strata with the value whose reports were read; null: all values.",
})  # fmt: skip

FOLDED = optional({
    "type": "string",
    "format": "date-time",
    "description": "If collectors use a spool: when the last fold began. Segments that existed then are counted, "
    "journals are not.",
})  # fmt: skip

_SHUFFLED: Json = {
    "description": "What shuffling adds to privacy, if relay and collector do not work together and all of "
    "least_total are honest. It does not replace epsilon. Left out in answers by day or stratum.",
    "oneOf": [
        closed({"none": TEXT | {"description": "Why shuffling adds nothing."}}),
        closed({
            "reports": REPORTS
            | {
                "description": "Number of reports for which it holds: least_total minus refused, or the number of "
                "sealed "
                "reports if that is smaller; rounded down."
            },
            "delta": NUMBER,
            "epsilon": NUMBER | {"description": "The smallest of this_law, any_law and the epsilon of a report."},
            "any_law": NUMBER | {"description": "By Feldman, McMillan and Talwar 2021."},
            "this_law": optional(NUMBER | {"description": "By the privacy blanket (Balle et al. 2019)."}),
            "periods": {"type": "integer", "minimum": 1},
            "together": NUMBER
            | {"description": "The epsilon of a device with a report in each period, each in a batch of its own."},
            "together_delta": NUMBER,
        }),
    ],
}  # fmt: skip

_SEALED = optional(closed({
    "batches": REPORTS,
    "reports": REPORTS,
    "least_total": REPORTS | {"description": "Minimum number of reports shuffled together, according to the relay."},
    "refused": REPORTS | {"description": _UNCOUNTED},
    "shuffled": optional(_SHUFFLED),
}) | {"description": "Reports among these that came sealed, through a relay. Left out if there are none."})  # fmt: skip


def optional_weighted(*left_out: str) -> Json:
    """Return the schemas of the columns ``WEIGHTED``, which rows have if weights are asked for."""
    return {name: optional(one) for name, one in schemas_of(WEIGHTED).items() if name not in left_out}


_WEIGHTS = optional(closed({
    "population": TEXT | {"description": "What the population's margins are of, in words."},
    "attributes": STRINGS | {"description": "Attributes whose margins are known."},
    "design_effect": {"type": "number", "minimum": 1, "description": "By how much unequal weights raise variances."},
    "effective_reports": {"type": "number", "description": "The number of reports over this design effect."},
    "repeats": {"type": "number", "minimum": 1, "description": "Design effect of repeated reports, weighted."},
    "largest": {"type": "number", "description": "The largest weight."},
    "most_weight": {"type": "number", "description": "The weight above which no estimate is given."},
    "left_out": REPORTS | {"description": "Reports of strata that are no part of the population."},
    "strata": list_of({
        "stratum": {"type": "object", "additionalProperties": TEXT},
        "reports": REPORTS,
        "population": {"type": "number", "description": "Share of the people who are asked about."},
        "weight": {"type": "number", "description": "Weight of one report; the mean over reports is 1."},
    }),
}) | {"description": "How reports are weighted. Left out unless weighted is true."})  # fmt: skip

ABOUT: Json = {
    "metric": TEXT, "version": TEXT, "mechanism": TEXT, **COST, "reports": REPORTS,
    "periods": {"type": "integer", "minimum": 1, "description": "Periods in which one device may have reported."},
    "repeats": NUMBER | {"description": _REPEATS},
    "refused": {"type": "object", "additionalProperties": {"type": "integer"}, "description": _REFUSED},
    "since": {"type": ["string", "null"]}, "until": {"type": ["string", "null"]}, "confidence": {"type": "number"},
    "health": list_of(_CHECK), "stratum": STRATUM, "sealed": _SEALED, "folded_up_to": FOLDED,
    "weights": _WEIGHTS,
}  # fmt: skip
"""The fields that accompany every estimate."""
