"""The JSON schema of an estimate of a crossing."""

from ....protocol.json_schema import NUMBER, TEXT, Schema, closed, list_of
from ..shares.schema import ESTIMATE, ROW
from .marginals import MarginalRow

__all__ = ["CROSSING"]

_WITHIN = {
    "given": TEXT | {"description": "The answer of those among whom the share is, to the question named beside."},
    "value": TEXT,
    "share": NUMBER
    | {"description": "Share of the value among them. Null if so few have that answer that it is open."},
    "low": NUMBER | {"description": "Lower end of the share's interval (Fieller's), for the population."},
    "high": NUMBER | {"description": "Upper end of that interval."},
    "verdict": ROW["verdict"],
}
_MARGINALS = {"axis": TEXT, "values": list_of({name: ROW[name] for name in MarginalRow.__annotations__})}
_CONDITIONAL = {"of": TEXT, "given": TEXT, "values": list_of(_WITHIN)}

CROSSING = Schema("Crossing", closed({
    **{name: one for name, one in ESTIMATE.holds["properties"].items() if name != "values"},
    "marginals": list_of(_MARGINALS, minItems=2, maxItems=2),
    "conditional": list_of(_CONDITIONAL, minItems=2, maxItems=2),
    "values": ESTIMATE.holds["properties"]["values"],
}))  # fmt: skip
