"""Limits of what a command takes, and the formats of pictures."""

__all__ = ["DEVICES", "FORMATS", "MAX_SIZE", "MAX_USERS", "VISITORS"]

MAX_SIZE = 1 << 20
"""The most values of a question."""

MAX_USERS = 10**15
"""Counts below this are exact in a float, which numpy's binomial draws rely on."""

FORMATS = (".png", ".svg", ".pdf")
"""File name endings of pictures."""

DEVICES = 10_000
"""Devices of the demo, if no one says how many."""

VISITORS = 200
"""The same of visitors of its page, each of whom takes a browser's context."""
