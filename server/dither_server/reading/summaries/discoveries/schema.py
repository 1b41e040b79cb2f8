"""The JSON schema of a discovery."""

from ....protocol.json_schema import NUMBER, TEXT, Schema, closed, list_of
from ..schemas import ABOUT

__all__ = ["ESTIMATE"]

_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_ROW = {
    "value": TEXT | {"description": "A string that is found. Of all that are, 5% are expected to be held by nobody."},
    **{
        name: NUMBER | {"description": said}
        for name, said in (
            ("frequency", "Estimated share of people who hold it, from the reports that confirm."),
            ("count", "The frequency times the number of reports."),
            ("standard_error", "Standard error of the share in the population: from the noise and from sampling."),
            ("low", "Lower end of the interval of the share in the population; it allows for the selection."),
            ("high", "Upper end of that interval."),
            ("repeat_error", "Standard error if the same people reported in every period."),
        )
    },
}
_REST = {
    **dict.fromkeys(("frequency", "standard_error"), NUMBER),
    **dict.fromkeys(("low", "high"), _SHARE),
    "beyond": {"enum": ["found"], "description": "The share is of people who hold none of the strings that are found."},
}
_POISONING = {
    "share": {"type": "number", "description": "Share of the reports that is assumed to be forged."},
    "reports": {"type": "integer", "description": "Number of reports that is assumed to be forged."},
    "gain_up": {"type": "number", "description": "The most by which they could have raised the frequency of a string."},
    "reports_to_appear": {
        "type": "integer",
        "description": "Number of forged reports by which a string that nobody holds is found about half the time.",
    },
}

ESTIMATE = Schema("Discovery", closed({
    **ABOUT,
    "confirming": {"type": "integer", "description": "Reports of whole strings, which tell the frequencies."},
    "tried": {"type": "integer", "description": "Strings that were left to be confirmed."},
    "reach": NUMBER | {"description": "Share of people that is found about half the time with so many reports."},
    "sought": closed({
        "share": {"type": "number", "description": "A share of people, to measure by."},
        "reports": {"type": "integer", "description": "Number of reports that find such a string half the time."},
    }),
    "unlisted": {"anyOf": [{"type": "null"}, closed(_REST)]},
    "poisoning": closed(_POISONING),
    "values": list_of(_ROW),
}))  # fmt: skip
