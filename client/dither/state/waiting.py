"""Waiting: how long to wait before each further try for what others hold for a moment, a lock or a file."""

from collections.abc import Iterator

__all__ = ["TRIES", "pauses"]

TRIES = 22
"""Tries that take 0.08 s in all: the first report of a device, which others wait for, may have to be made durable."""

_PAUSE = 0.0001  # seconds before the second try for a lock that is held for some ten microseconds; then twice as many
_LONGEST_PAUSE = 0.005


def pauses(tries: int) -> Iterator[float]:
    """Yield the seconds before each try but the first."""
    pause = _PAUSE
    for _ in range(1, tries):
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE)
