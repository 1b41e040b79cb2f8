"""The words that options and parameters accept, without the modules that implement them."""

from dither_shared.metrics.period import DAYS_IN

STEPS = tuple(DAYS_IN)
"""The steps of a trend."""

FORMAT_NAMES = ("json", "csv", "ndjson", "arrow")
"""The formats of answers; ``exports.FORMATS`` writes them."""
