"""The thread that forwards: at a daily hour, in UTC, and afterwards until the collector has everything."""

import logging
import threading
import time as clock
from collections.abc import Callable
from datetime import date, datetime, time, timedelta

from dither_serving.logs import OnceAMinute
from dither_serving.problems import StoreError

from ..store import RelayStore
from .rounds import Posted, Rounds

_log = logging.getLogger(__name__)

ANOTHER_ROUND = "another process forwards from it now"

_DAY = timedelta(days=1)

_LOOK = 30.0
"""Seconds between two checks of the clock: it may be set, and a machine that slept has missed the hour."""

_FIRST, _LAST, _LONGEST = 10.0, 600.0, 3600.0
"""Seconds to the first retry after a failure, doubled up to the second number; and the maximum Retry-After."""

_PATIENCE = 5.0
"""Seconds to wait at the end for a body that is being posted. It is posted again after the next start."""


class Forwarder:
    """Freezes the reports of ``store`` at the hour ``at``, and posts them. One thread calls ``beat`` for ever.

    ``trouble`` is the database's error at the last try, empty if there was none.
    """

    def __init__(
        self,
        store: RelayStore,
        rounds: Callable[[Callable[[], bool]], Rounds],
        at: time,
        now: Callable[[], datetime],
        monotonic: Callable[[], float] = clock.monotonic,
    ) -> None:
        self._store = store
        self._at = at
        self._now = now
        self._monotonic = monotonic
        self._ended = threading.Event()
        self._rounds = rounds(lambda: not self._ended.is_set())
        self._thread = threading.Thread(target=self._run, name="dither-forwarder", daemon=True)
        self._rejected: dict[str, str] = {}
        self._lines = OnceAMinute()
        self.trouble = ""
        self._is_open = True  # an earlier process may have left something half posted
        self._is_tidy = False
        self._try_at = float("-inf")
        self._failures = 0

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Post no further body, and end the thread; the next start repeats a body that is still being sent."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)

    @property
    def rejected(self) -> int:
        """How many bodies of this round the collector rejected; they are posted again in the next."""
        return len(self._rejected)

    def beat(self) -> float:
        """Do the steps that are due now; return the seconds until the next check."""
        now = self._now()
        hour, last = latest(now, self._at), self._store.last_hour()
        if last is None:  # a relay's first start: the next hour is the first
            self._store.use_hour(hour)
        elif is_due(now, self._at, last):
            self._rounds.freeze(hour)
            self._rejected.clear()
            self._is_open, self._is_tidy, self._failures, self._try_at = True, False, 0, float("-inf")
        if self._is_open and self._monotonic() >= self._try_at:
            self._judge(self._rounds.post(self._rejected))
        if not self._is_tidy:  # after the first try, so that nothing is dropped that could have left
            self._rounds.tidy()
            self._is_tidy = True
        return min(_LOOK, max(0.0, self._try_at - self._monotonic())) if self._is_open else _LOOK

    def _judge(self, posted: Posted) -> None:
        self._is_open = not posted.is_over
        if self._is_open:
            self._pause(posted.after)
        else:
            self._failures = 0

    def _pause(self, after: int | None = None) -> None:
        pause = min(_LAST, _FIRST * 2 ** min(self._failures, 10))
        self._failures += 1
        self._try_at = self._monotonic() + max(pause, min(after or 0, _LONGEST))

    def _run(self) -> None:
        self._store.checkpoint()
        while not self._ended.is_set():
            try:
                with self._store.exclusive_lock("round", ANOTHER_ROUND):
                    pause = self.beat()
                if self._monotonic() >= self._try_at:  # ``post`` has retried the failed bodies
                    self.trouble = ""
            except StoreError as error:
                self.trouble, pause = str(error), _FIRST
                self._pause()  # otherwise a body that the database cannot delete would be posted every few seconds
                if self._lines.add():
                    _log.warning("reports are forwarded later: %s", error)
            except Exception:
                _log.exception("reports could not be forwarded")
                pause = _LAST
            self._ended.wait(pause)


def latest(now: datetime, at: time) -> date:
    """Return the day of the latest forwarding hour that has passed."""
    return now.date() if now.timetz() >= at else now.date() - _DAY


def following(now: datetime, at: time, last: date | None) -> datetime:
    """Return the next hour, given the day of the last one that was used, perhaps before ``at`` was set to another."""
    day = latest(now, at) + _DAY
    return datetime.combine(day + _DAY if day == last else day, at)


def is_due(now: datetime, at: time, last: date) -> bool:
    """Return whether a forwarding hour has passed that was not used, given the day of the last used one.

    A clock that was set back by some hours is waited for; if the last day is further ahead, the clock was wrong then.
    """
    hour = latest(now, at)
    return hour > last or last - hour > _DAY


def is_overdue(now: datetime, at: time, last: date | None) -> bool:
    """Return whether a daily forwarding time has passed without a round; False before the relay's first start."""
    return last is not None and is_due(now, at, last)
