"""Departures: when each report leaves, so that uploads of one device cannot be joined by their moments.

Whoever watches the network, or keeps the collector's log, would take reports that leave back to back for one device's.
So each waits for a random time of its own: uniform in [0, ``spread``] from when the worker first sees it (full jitter).
Reports that are due together (after an outage, say, or while another was on its way) do not leave together: the oldest
goes, and each of the others waits anew. Of what an earlier run left, one may go at once, so that a program that never
runs for long gets rid of its reports, too, one a run.
"""

import math
import time
from collections.abc import Callable, Sequence

from dither_shared.errors import ParameterError

from .records import Queued
from .retry import uniform

__all__ = ["SPREAD", "Departures"]

SPREAD = 300.0
"""Seconds over which departures are spread, unless the app says otherwise."""


class Departures:
    """The moments at which reports leave, by ``clock``. ``uniform`` returns a number in [0, 1).

    Raises ParameterError for a spread that is negative or no finite number.
    """

    def __init__(
        self,
        spread: float = SPREAD,
        *,
        uniform: Callable[[], float] = uniform,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 0 <= spread < math.inf:
            raise ParameterError("spread", f"{spread!r} is not a number of seconds, finite and not negative")
        self._spread = spread
        self._uniform = uniform
        self._clock = clock
        self._due: dict[str, float] = {}

    def at_once(self, entry: Queued) -> None:
        """Let a report leave without waiting."""
        self._due[entry.batch] = -math.inf

    def first(self, waiting: Sequence[Queued]) -> tuple[Queued, float]:
        """Return which of ``waiting``, oldest first, leaves next, and in how many seconds."""
        now, before, one_leaves = self._clock(), self._due, False
        self._due = {}
        for entry in waiting:
            moment = before.get(entry.batch)
            if moment is None or (moment <= now and one_leaves):
                moment = now + self._uniform() * self._spread
            self._due[entry.batch] = moment
            one_leaves = one_leaves or moment <= now
        entry = min(waiting, key=lambda one: self._due[one.batch])
        return entry, max(0.0, self._due[entry.batch] - now)
