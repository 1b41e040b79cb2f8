"""The holder of a lock: which process it is, and since when; it signs the lock's file, for whoever waits in vain."""

import os
import time
from contextlib import suppress
from typing import NamedTuple

from .files import open_private, read_small

__all__ = ["Holder", "holder_of", "sign"]

_SIGNATURE = 64
"""Bytes that a signature may have."""


class Holder(NamedTuple):
    """A process, None if it did not sign, and the Unix time at which it took the lock."""

    pid: int | None
    since: float


def sign(path: str) -> None:
    """Write into the file of a lock, which this process has just taken, who that is; best effort."""
    with suppress(OSError):
        descriptor = open_private(path, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, b"%d %d\n" % (os.getpid(), time.time()))
        finally:
            os.close(descriptor)


def holder_of(path: str) -> Holder | None:
    """Return who last took the lock on a file, and may have let go of it; None if there is no such file."""
    try:
        found = os.lstat(path)
        signature = read_small(path, _SIGNATURE)
    except OSError:
        return None
    try:
        pid, since = map(int, signature.split())
    except ValueError:  # an earlier version, which does not sign
        return Holder(None, found.st_mtime)
    return Holder(pid, float(since))
