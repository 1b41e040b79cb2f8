"""The sender: one step of uploading, without any thread; the worker calls it again and again."""

import time
from collections.abc import Callable

from dither_shared.wire import Batch

from .departures import Departures
from .journal import Journal
from .records import Queued
from .retry import GONE, Backoff, fate_of
from .state import BusyError
from .transport import Answer, Transport

__all__ = ["Sender"]

_PAUSE = 1.0
"""Seconds to wait for another thread or process that is at the same outbox."""


class Sender:
    """Takes one report after the other from the outbox to the collector, while ``permitted``."""

    def __init__(
        self,
        journal: Journal,
        transport: Transport,
        permitted: Callable[[], bool],
        *,
        departures: Departures | None = None,
        backoff: Backoff | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal = journal
        self._transport = transport
        self._permitted = permitted
        self._departures = departures or Departures()
        self._backoff = backoff or Backoff()
        self._clock = clock
        self._hurried = False
        self._rests_until = 0.0  # after a failure, unless it is hurried
        self._not_before = 0.0  # because the server asked for it: not even a flush overrides that

    def hurry(self) -> None:
        """Let all that waits leave at once, one after the other, until none is left or one fails."""
        self._hurried = True

    def resume(self) -> bool:
        """Return whether an earlier run left something to be sent; the oldest of it then leaves without waiting."""
        entry = self._journal.outbox.next()
        if entry is not None:
            self._departures.at_once(entry)
        return entry is not None

    def step(self) -> float | None:
        """Try to send one report; return how many seconds to wait for the next step, or None if none is left.

        Nothing is sent before its debit is safe on disk, nor if that cannot be had: OSError.
        """
        hurried, self._hurried = self._hurried, False
        self._journal.tidy()
        try:
            if not self._permitted() or not self._journal.waiting():
                return None
            wait = max(self._not_before, 0.0 if hurried else self._rests_until) - self._clock()
            if wait <= 0:
                with self._journal.state.sending() as ours:
                    if ours:
                        return self._next(hurried)
        except BusyError:
            wait = 0.0
        self._hurried |= hurried
        return max(wait, _PAUSE)

    def _next(self, hurried: bool) -> float | None:
        waiting = self._journal.waiting()  # looked at again: another process may have sent it all just before
        if not waiting:
            return None
        entry, wait = (waiting[0], 0.0) if hurried else self._departures.first(waiting)
        if wait > 0:
            return wait
        delay = self._upload(entry)
        self._hurried |= hurried and not delay
        return delay

    def _upload(self, entry: Queued) -> float:
        self._journal.state.sync()
        answer = self._send(entry.body)
        fate = fate_of(answer)
        if fate is None:
            wish = answer.retry_after if answer else None
            delay = self._backoff.delay(wish)
            self._rests_until = self._clock() + delay
            if wish is not None:
                self._not_before = self._rests_until
            return delay
        self._backoff.reset()
        self._journal.finish(entry, fate)
        if answer is not None and answer.status == GONE:
            self._journal.disable(Batch.decode(entry.body).version)
        return 0.0

    def _send(self, body: bytes) -> Answer | None:
        try:
            return self._transport.send(body)
        except OSError:
            return None
