"""Progress: show on standard error how far a slow command has come.

On a terminal it is one line that changes and is gone at the end, elsewhere a line every few seconds.
"""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

__all__ = ["Progress"]

_TERMINAL_PAUSE = 0.1
_OTHER_PAUSE = 5.0


class Progress:
    """A context in which ``total`` steps of ``what`` are done; ``advance`` tells how many more are."""

    def __init__(
        self, what: str, total: int, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what = what
        self._total = max(1, total)
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._terminal = self._stream.isatty()
        self._pause = _TERMINAL_PAUSE if self._terminal else _OTHER_PAUSE
        self._done = 0
        self._told = clock() - (self._pause if self._terminal else 0)
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._width:
            self._write(f"\r{' ' * self._width}\r")

    def advance(self, steps: int) -> None:
        """Say that so many more steps are done."""
        self._done += steps
        now = self._clock()
        if now - self._told < self._pause:
            return
        self._told = now
        text = f"{self._what}: {min(100, 100 * self._done // self._total)}%"
        self._width = len(text) if self._terminal else 0  # first: an interrupt may come while it is written
        self._write(f"\r{text}" if self._terminal else f"dither: {text}\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # nobody looks any more, and the work goes on
            self._pause = float("inf")
