"""The sender: one step of uploading, without any thread; the worker calls it again and again."""

import time
from collections.abc import Callable

from dither_shared.wire import Batch

from .journal import Journal
from .records import Queued
from .retry import GONE, Backoff, fate_of
from .state import BusyError
from .transport import Answer, Transport

__all__ = ["Sender"]

_PAUSE = 1.0
"""Seconds to wait for another thread or process that is at the same outbox."""


class Sender:
    """Takes the oldest report from the outbox to the collector, while ``permitted``."""

    def __init__(
        self,
        journal: Journal,
        transport: Transport,
        permitted: Callable[[], bool],
        *,
        backoff: Backoff | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal = journal
        self._transport = transport
        self._permitted = permitted
        self._backoff = backoff or Backoff()
        self._clock = clock
        self._not_before = 0.0

    def step(self) -> float | None:
        """Try to send one report; return how many seconds to wait for the next step, or None if none is left.

        Nothing is sent before its debit is safe on disk, nor if that cannot be had: OSError.
        """
        if not self._permitted():
            return None
        wait = self._not_before - self._clock()
        if wait > 0:  # the server asked for it: not even a flush overrides that
            return wait
        try:
            if self._journal.next() is None:
                return None
            with self._journal.state.sending() as ours:
                if not ours:
                    return _PAUSE
                entry = self._journal.next()  # looked at again: another process may have sent it just before
                return self._upload(entry) if entry else None
        except BusyError:
            return _PAUSE

    def _upload(self, entry: Queued) -> float:
        self._journal.state.sync()
        answer = self._send(entry.body)
        fate = fate_of(answer)
        if fate is None:
            wish = answer.retry_after if answer else None
            delay = self._backoff.delay(wish)
            if wish is not None:
                self._not_before = self._clock() + delay
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
