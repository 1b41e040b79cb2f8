"""Numbers as people read them."""

__all__ = ["size"]


def size(count: float) -> str:
    """Return a number of bytes with three digits and a unit, such as 12.3 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
