"""Labels as people read them: long ones without their middle."""

_LONG, _START, _END = 80, 44, 28
"""The most characters of a label. A longer one keeps its start and its end, because labels may begin alike."""


def shortened(label: str) -> str:
    """Return a label, without its middle if it is long."""
    return label if len(label) <= _LONG else f"{label[:_START]} … {label[-_END:]}"
