"""Cache what Prometheus scrapes, so that reading it costs little however often it asks."""

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from prometheus_client.core import GaugeMetricFamily

from .errors import StoreError

_log = logging.getLogger(__name__)

_FRESH = 10.0
"""Seconds for which a value is served from the cache."""

_REST = 200
"""And this many times as long as the reading took, so that it takes half a percent of a processor at most."""

_AGAIN = 60.0
"""But a failed reading is repeated after this many seconds: it spent the time waiting, not working."""

_PATIENCE = 30.0
"""Seconds after which a reading that has not ended counts as one that fails: a network may keep it for long."""

T = TypeVar("T")


def gauge(name: str, about: str, value: float) -> GaugeMetricFamily:
    """Return a gauge of one value."""
    return GaugeMetricFamily(name, about, value=value)


class Kept(Generic[T]):
    """A cached value of ``read``, for many threads. One of them reads; the others get the value from before.

    ``of`` names it in the log, where a failure is noted once until it passes.
    """

    def __init__(self, of: str, read: Callable[[], T], clock: Callable[[], float]) -> None:
        self._of = of
        self._read = read
        self._clock = clock
        self._known: T | None = None
        self._stale_at = float("-inf")
        self._begun = float("inf")
        self._failed = False
        self._reading = threading.Lock()

    def value(self) -> T | None:
        """Return the cached value, or None if it could not be read yet."""
        now = self._clock()
        if now < self._stale_at:
            return self._known
        if not self._reading.acquire(blocking=False):
            return self._known if now < self._begun + _PATIENCE else None
        try:
            self._begun = start = self._clock()
            self._known = self._read()
            self._failed = False
        except (StoreError, OSError) as error:
            self._known = None
            if not self._failed:
                _log.warning("the state of the %s could not be read: %s", self._of, error)
            self._failed = True
        finally:
            end = self._clock()
            rest = max(_FRESH, _REST * (end - start))
            self._stale_at = end + (min(rest, _AGAIN) if self._failed else rest)
            self._begun = float("inf")
            self._reading.release()
        return self._known
