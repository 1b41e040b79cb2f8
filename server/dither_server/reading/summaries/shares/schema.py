"""The JSON schema of an estimate of shares."""

from ....protocol.json_schema import NUMBER, TEXT, Json, Schema, closed, list_of
from ..schemas import ABOUT

__all__ = ["ESTIMATE", "ROW", "SHARES", "VERDICT"]

VERDICT: Json = {
    "enum": ["ok", "noise", "too-few"],
    "description": "Whether the interval from low to high lies above 0 (ok), contains 0 (noise) or is too wide to tell "
    "(too-few).",
}
_FOUND = (
    "Whether a candidate string is found. Of all strings that are found, 5% are expected to be false discoveries. "
    "Null if the metric lists its values, or the mechanism does not select."
)
ROW = {
    "value": TEXT,
    **{
        name: NUMBER | {"description": said}
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
            (
                "consistent",
                "Frequency from 0 to 1; all sum to 1 (strings: at most; selections: need not). Prettier, and biased.",
            ),
            ("gain_up", "The most by which forged reports could have raised the frequency."),
            ("gain_down", "The most by which forged reports could have lowered it."),
        )
    },
    "verdict": VERDICT,
    "found": {"type": ["boolean", "null"], "description": _FOUND},
}
_POISONING = {
    "share": {"type": "number", "description": "Share of the reports that is assumed to be forged."},
    "reports": {"type": "integer", "description": "Number of reports that is assumed to be forged."},
    "reports_to_appear": {
        "type": "integer",
        "description": "Number of forged reports that moves the interval of a value that nobody has above 0.",
    },
}
_REST = {
    **{name: {"type": "number"} for name in ("frequency", "standard_error", "low", "high")},
    "beyond": {"enum": ["candidates", "found"], "description": "The share is of people whose string is none of these."},
}

SHARES: Json = {
    **ABOUT,
    "simultaneous": {"enum": [None, "sidak", "bonferroni"]},
    "poisoning": closed(_POISONING),
    "unlisted": {"anyOf": [{"type": "null"}, closed(_REST)]},
    "values": list_of(ROW),
}
"""The fields of an estimate of shares."""

ESTIMATE = Schema("Estimate", closed(SHARES))
