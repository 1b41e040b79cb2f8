"""Shorten labels for display by leaving out the middle."""

_LONG, _START, _END = 80, 44, 28
"""Maximum characters of a label, and the kept start and end: both are kept because labels may begin alike."""


def shortened(label: str) -> str:
    """Return a label, with its middle left out if it is long."""
    return label if len(label) <= _LONG else f"{label[:_START]} … {label[-_END:]}"
