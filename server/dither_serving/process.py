"""Prepare a process that is a server and nothing else, so that analyses leave room for ingest."""

import ctypes
import sys
from contextlib import suppress

_SWITCH = 0.0005
"""Seconds after which a thread that computes lets another run. A commit gives the interpreter away at each statement
and waits as long to have it back: beside an analysis, at Python's own 5 ms, that was most of its time."""

_ARENAS = (-8, 2)
"""The option M_ARENA_MAX of glibc's ``mallopt``, and how many heaps the threads share: by default 8 a processor."""


def prepare_process() -> None:
    """Let threads switch often, and share one heap: otherwise each keeps the memory of its largest answer."""
    sys.setswitchinterval(_SWITCH)
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(*_ARENAS)
