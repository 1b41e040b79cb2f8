"""Rows of bits as integers, lane i being bit i."""

__all__ = ["lanes_of"]


def lanes_of(row: int) -> tuple[int, ...]:
    """Return which lanes of ``row`` are 1, ascending."""
    return tuple(lane for lane, bit in enumerate(f"{row:b}"[::-1]) if bit == "1")
