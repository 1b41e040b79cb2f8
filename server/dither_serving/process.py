"""Prepare a process that is a server and nothing else, so that analyses leave room for ingest."""

import ctypes
import sys
from contextlib import suppress

_SWITCH = 0.0005
"""Seconds after which a computing thread lets another run. A commit releases the interpreter at each statement and
waits that long to get it back: beside an analysis, at Python's default of 5 ms, that was most of its time.
"""

_ARENAS = (-8, 2)
"""The option M_ARENA_MAX of glibc's ``mallopt``, and the number of heaps that threads share (by default 8 per
processor).
"""


def prepare_process() -> None:
    """Let threads switch often, and share heaps: otherwise each thread keeps the memory of its largest answer."""
    sys.setswitchinterval(_SWITCH)
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(*_ARENAS)
