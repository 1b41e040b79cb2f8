"""The words that options and parameters accept, apart from the modules that do what they stand for."""

__all__ = ["FORMAT_NAMES", "STEPS"]

STEPS = ("day", "week")
"""The steps of a trend."""

FORMAT_NAMES = ("json", "csv", "ndjson", "arrow")
"""The formats of answers; ``exports.FORMATS`` writes them."""
