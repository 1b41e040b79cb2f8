"""The JSON schema of an estimate of a number."""

from ....protocol.json_schema import NUMBER, TEXT, Schema, closed, list_of
from ..schemas import ABOUT

__all__ = ["ESTIMATE"]

_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_SCALE = {
    "low": {"type": "number", "description": "Low end of the range. Answers below count as it."},
    "high": {"type": "number", "description": "High end of the range. Answers above count as it."},
    "log": {"type": "boolean", "description": "Whether the grid is even in the logarithm."},
}
_MEAN = {
    "kind": {"enum": ["arithmetic", "geometric"], "description": "Geometric on log scales."},
    "value": NUMBER | {"description": "Estimated mean of the answers within the range, raw and unbiased."},
    "noise_error": NUMBER | {"description": "Standard error of the mean of those who reported: from the noise alone."},
    "standard_error": NUMBER | {"description": "Standard error of the mean in the population: noise and sampling."},
    "repeat_error": NUMBER | {"description": "Standard error if the same people reported in every period."},
    "noise_low": NUMBER | {"description": "Lower end of the interval of the mean of those who reported."},
    "noise_high": NUMBER | {"description": "Upper end of that interval."},
    "low": NUMBER | {"description": "Lower end of the interval of the mean in the population."},
    "high": NUMBER | {"description": "Upper end of that interval."},
    "verdict": {
        "enum": ["ok", "too-few"],
        "description": "Whether the interval is narrower than half of the range (ok) or says nothing (too-few).",
    },
}
_QUANTILE = {
    "share": {"type": "number", "description": "Share of people who have this number or less."},
    "value": NUMBER | {"description": "The quantile of the consistent curve."},
    "low": {"type": "number", "description": "Lower end of the confidence interval."},
    "high": {"type": "number", "description": "Upper end of the confidence interval."},
    "verdict": {
        "enum": ["ok", "edge", "too-few"],
        "description": "Edge: the interval reaches an end of the range, beyond which the quantile may lie.",
    },
}
_CDF = {
    "at": {"type": "number", "description": "A point of the range."},
    "share": NUMBER | {"description": "Estimated share of people below it, raw and unbiased. Null if none is made."},
    "noise_error": NUMBER | {"description": "Standard error from the noise alone."},
    "standard_error": NUMBER | {"description": "Standard error from the noise and from sampling."},
    "low": _SHARE | {"description": "Lower end of the confidence interval, which pools neighbouring points."},
    "high": _SHARE | {"description": "Upper end of that interval."},
    "consistent": _SHARE | {"description": "Share below it by the curve that makes the reports most likely."},
}
_END = {
    "share": _SHARE | {"description": "Share by the curve, which may put some of them at the points beside the end."},
    "low": _SHARE | {"description": "Lower end of the confidence interval, which does not rest on the curve."},
    "high": _SHARE | {"description": "Upper end of that interval."},
}
_POISONING = {
    "share": {"type": "number", "description": "Share of the reports that is assumed to be forged."},
    "reports": {"type": "integer", "description": "Number of reports that is assumed to be forged."},
    "mean_down": NUMBER | {"description": "The most by which they could have lowered the mean."},
    "mean_up": NUMBER | {"description": "The most by which they could have raised the mean."},
    "cdf_shift": NUMBER | {"description": "The most by which they could have moved all shares. Null: unknown."},
}

ESTIMATE = Schema("NumberEstimate", closed({
    **ABOUT,
    "unit": TEXT,
    "scale": closed(_SCALE),
    "mean": closed(_MEAN),
    "quantiles": list_of(_QUANTILE),
    "clipped": closed({
        "low": closed(_END) | {"description": "People at the lowest point of the grid or below."},
        "high": closed(_END) | {"description": "People at the highest point or above."},
    }),
    "poisoning": closed(_POISONING),
    "cdf": list_of(_CDF),
}))  # fmt: skip
