"""The JSON schema of an estimate of sets."""

from ....protocol.json_schema import NUMBER, REPORTS, TEXT, Schema, closed, list_of
from ..shares.schema import SHARES, VERDICT

__all__ = ["ESTIMATE"]

_AVERAGE = {
    "value": NUMBER | {"description": "Average number of values that a person has: the sum of the shares."},
    "standard_error": NUMBER,
    "low": {"type": "number"},
    "high": {"type": "number"},
}
_PAIR = {
    "given": TEXT | {"description": "The value that all people of the share have."},
    "value": TEXT | {"description": "The value that the share of them has, too."},
    "share": NUMBER | {"description": "Share of those with given who have value. Null if too few for an interval."},
    "low": NUMBER | {"description": "Lower end of its interval, by Fieller's method, in the population."},
    "high": NUMBER | {"description": "Upper end of that interval."},
    "verdict": VERDICT,
    "both": NUMBER | {"description": "Share of all people who have both values, raw and unbiased."},
    "both_error": NUMBER | {"description": "Standard error of that share, in the population."},
    "both_low": {"type": "number"},
    "both_high": {"type": "number"},
    "reports": REPORTS | {"description": "Number of reports that speak of both values."},
}
_UNSEEN = {"type": ["string", "null"], "description": "Why other pairs are in no report. Null if all are in some."}

ESTIMATE = Schema("SelectionEstimate", closed({
    **SHARES,
    "average": closed(_AVERAGE),
    "unseen_pairs": _UNSEEN,
    "pairs": list_of(_PAIR),
}))  # fmt: skip
