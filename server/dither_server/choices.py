"""Words that may be chosen from, for whoever offers them without doing what they stand for."""

__all__ = ["FORMAT_NAMES", "STEPS"]

STEPS = ("day", "week")
"""The steps of a trend."""

FORMAT_NAMES = ("json", "csv", "ndjson", "arrow")
"""How answers can be written; ``exports.FORMATS`` does it."""
