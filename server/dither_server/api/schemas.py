"""JSON schemas of the bodies that the API takes and returns. Those of estimates are in ``reading.summaries``."""

from dither_shared.seal_key import SUITES
from dither_shared.wire import LONGEST_STRATUM

from ..analysis import combine, compare, retention, trend
from ..analysis.columns import schemas_of
from ..reading.activity import ACTIVE
from ..reading.schemas import (
    COST,
    FOLDED,
    REPORTS,
    STRATUM,
    STRINGS,
    TEXT,
    Json,
    Schema,
    closed,
    list_of,
    object_of,
    optional,
)
from ..reading.summaries import SUMMARIES

_CANONICAL = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"
"""Base64 whose unused bits are zero."""

_POOL_DIGEST = "First 32 hexadecimal digits of SHA-256 of 'dither pool 1', a zero byte and the pool's name."
_POOL = "^[a-z][a-z0-9_.-]{0,63}/[0-9a-f]{16}(?:/.{1,100})?$"
_TOTAL = "Number of reports that the relay has shuffled and sends together, in this body and others."
_STRATA = "Attributes that are sent in the clear with a report, and their values. One value of each makes a stratum."
_STRATUM = (
    "Label of the stratum of all these reports, such as linux/beta. Present if and only if the metric has strata."
)
_SIDE = {
    "metric": TEXT,
    "version": TEXT,
    "reports": {"type": "integer", "minimum": 0},
    "periods": {"type": "integer", "minimum": 1},
    "since": {"type": ["string", "null"]},
    "until": {"type": ["string", "null"]},
    "stratum": STRATUM,
}
_STEP = {
    "since": TEXT,
    "until": TEXT,
    "reports": {"type": "integer"},
    "tested": {"type": "boolean", "description": "Whether the step has enough reports to be tested."},
}
COMBINED = Schema("Combined", closed({
    "metric": TEXT, "versions": STRINGS, "reports": REPORTS, "confidence": {"type": "number"}, "stratum": STRATUM,
    "values": list_of(schemas_of(combine.COMBINED)),
}))  # fmt: skip
COMPARISON = Schema("Comparison", closed({
    "sides": list_of(_SIDE, minItems=2, maxItems=2),
    "confidence": {"type": "number"}, "correction": TEXT, "change": {"type": "number"}, "power": {"type": "number"},
    "note": TEXT,
    "values": list_of(schemas_of(compare.COMPARED)),
}))  # fmt: skip
_ESTIMATES = list({summary.schema.name: summary.schema for summary in SUMMARIES.values()}.values())
ESTIMATE: Schema | Json = _ESTIMATES[0] if len(_ESTIMATES) == 1 else {"oneOf": _ESTIMATES}
"""An estimate of any kind of question."""
TREND = Schema("Trend", closed({
    "metric": TEXT, "version": TEXT, "confidence": {"type": "number"}, "correction": TEXT,
    "slope_unit": TEXT | {"description": "Unit of every slope and of its standard error."}, "note": TEXT,
    "stratum": STRATUM,
    "steps": list_of(_STEP),
    "values": list_of(schemas_of(trend.TREND) | {"points": list_of(schemas_of(trend.POINT))}),
}))  # fmt: skip
RETENTION = Schema("Retention", closed({
    "metric": TEXT, "version": TEXT, "reports": REPORTS, "confidence": {"type": "number"},
    "since": {"type": ["string", "null"]}, "until": {"type": ["string", "null"]}, "stratum": STRATUM,
    "weeks": list_of(schemas_of(retention.RETAINED)),
}))  # fmt: skip
ACTIVE_DEVICES = Schema("ActiveDevices", closed({
    "since": {"type": ["string", "null"]}, "until": {"type": ["string", "null"]},
    "periods": list_of(schemas_of(ACTIVE)),
}))  # fmt: skip

METRIC = Schema("Metric", object_of({
    **dict.fromkeys(("metric", "version", "description", "type", "mechanism", "odds", "period"), TEXT),
    **COST, "size": {"type": "integer", "description": "Number of values of the metric."}, "values": STRINGS,
    "strata": {"type": "object", "additionalProperties": STRINGS, "description": _STRATA},
}))  # fmt: skip
METRICS = Schema("Metrics", object_of({
    "metrics": {"type": "array", "items": METRIC},
    "size": {"type": "integer", "description": "Number of metrics."},
    "former": STRINGS | {"description": "Names of metrics that are no longer asked, but can be read."},
    "folded_up_to": FOLDED,
}))  # fmt: skip
VERSION = Schema("Version", closed({
    "metric": TEXT, "version": TEXT, "reports": {"enum": ["accepted", "disabled"]},
}))  # fmt: skip

BATCH = Schema("Batch", closed({
    "batch": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    "metric": TEXT,
    "version": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
    "stratum": optional({"type": "string", "minLength": 1, "maxLength": LONGEST_STRATUM, "description": _STRATUM}),
    "reports": {"type": "string", "contentEncoding": "base64", "minLength": 4, "pattern": _CANONICAL},
}))  # fmt: skip
ACCEPTED = Schema("Accepted", closed({"accepted": {"type": "integer", "minimum": 1}}))
SEALED_BATCH = Schema("SealedBatch", closed({
    "batch": {"type": "string", "pattern": "^[0-9a-f]{32}$", "description": "Digest of pool and sealed rows."},
    "pool": {"type": "string", "pattern": _POOL, "description": "Metric, version and, if it has any, stratum."},
    "suite": {"enum": list(SUITES)},
    "total": {"type": "string", "pattern": "^[1-9][0-9]{0,11}$", "description": _TOTAL},
    "sealed": {"type": "string", "contentEncoding": "base64", "minLength": 4, "pattern": _CANONICAL},
}))  # fmt: skip
OPENED = Schema("Opened", closed({
    "accepted": REPORTS,
    "refused": REPORTS | {"description": "Number of reports that did not open, or that no device could have sent."},
}))  # fmt: skip
POOLS = Schema("Pools", closed({
    "pools": list_of({
        "pool": {"type": "string", "pattern": "^[0-9a-f]{32}$", "description": _POOL_DIGEST},
        "suite": {"enum": list(SUITES)},
        "length": {"type": "integer", "minimum": 1, "description": "Number of bytes of a sealed report."},
    }),
    "batch_limit": {"type": "integer", "minimum": 1, "description": "Number of reports in a batch, at most."},
    "body_limit": {"type": "integer", "minimum": 1, "description": "Number of bytes of a body, at most."},
}))  # fmt: skip
RECEPTION = Schema("Reception", closed({
    "collector": {"const": "dither"},
    "reports": {"const": "accepted"},
    "token": {"enum": ["needed", "not-needed"], "description": "Whether a report without a token would be refused."},
}))  # fmt: skip
DIAGNOSIS = Schema("Diagnosis", object_of({
    "version": TEXT | {"description": "Version of the program that answers."},
    "seen": closed({
        "address": TEXT | {"description": "Address that the request came from. It is not stored."},
        "loopback": {"type": "boolean", "description": "Whether that is the collector's own machine."},
        "proxy": {"type": "boolean", "description": "Whether it is a declared proxy."},
        "forwarded_for": {"type": ["string", "null"], "description": "Last forwarded address that is not a proxy."},
        "signs": STRINGS | {"description": "Signs in the request that a proxy has forwarded it."},
        "local": {
            "type": "boolean",
            "description": "Whether it may report without a token because it comes from this machine.",
        },
    }),
}))  # fmt: skip
STATUS = Schema("Status", object_of({"status": TEXT}))
PROBLEM = Schema("Problem", closed({
    "type": TEXT, "title": TEXT, "status": {"type": "integer"}, "detail": TEXT,
}))  # fmt: skip
