"""Exits: let a short program wait a moment at its end for the report that it found due; any other exits at once.

The wait is for the upload that is under way, never longer than the app allows, and only if it may be of use: the
program has just started, no exit waited a while ago, and the collector did not fail in the last hour.
"""

import atexit
import time
import weakref
from collections.abc import Callable
from contextlib import suppress

from ..settings import seconds
from .attempts import Attempts

__all__ = ["EVERY", "WAIT", "ExitWait"]

WAIT = 0.25
"""Seconds that an exit waits at most, unless the app says otherwise."""

EVERY = 600.0
"""Seconds from one exit of a device that waits to the next, unless the app says otherwise."""

_SHORT_LIFE = 10.0
"""Seconds after which an upload that has not succeeded will not do so in a moment more."""


class ExitWait:
    """Waits at exit for ``wait`` seconds at most, not more often than ``every`` seconds, once it is armed.

    ``rested`` waits for up to so many seconds until nothing is being sent. Raises ParameterError for a time that is no
    number of seconds from 0 to a year.
    """

    def __init__(self, wait: float, every: float, attempts: Attempts, rested: Callable[[float], bool]) -> None:
        self._wait = seconds("exit_wait", wait)
        self._every = seconds("exit_every", every)
        self._attempts = attempts
        self._rested = rested
        self._began = 0.0

    def arm(self) -> None:
        """Wait when the program ends, for it has found a report due and sends it."""
        if self._wait:
            self._began = time.monotonic()
            if not _armed:
                atexit.unregister(_at_exit)  # it is registered once, however often the last one was cancelled
                atexit.register(_at_exit)
            _armed.add(self)

    def cancel(self) -> None:
        """Let the program end without waiting."""
        _armed.discard(self)

    def wait(self, begun: float) -> None:
        """Wait, given the moment at which the exit began, if there is something to wait for."""
        left = begun + self._wait - time.monotonic()
        if (
            begun - self._began < _SHORT_LIFE
            and left > 0
            and not self._rested(0)
            and self._attempts.may_wait(self._every)
        ):
            self._rested(left)


_armed: "weakref.WeakSet[ExitWait]" = weakref.WeakSet()


def _at_exit() -> None:
    begun = time.monotonic()  # several clients wait together, not one after the other
    for one in list(_armed):
        with suppress(Exception, KeyboardInterrupt):  # whoever is in a hurry goes at once
            one.wait(begun)
