"""The uploader: sender, worker and exit wait of one client, put together.

A short program may wait a moment at its end for the report that it found due when it started; any other exits at once.
The wait is for the upload that is under way, never longer than the app allows, and only if it can help: the program has
just started, no exit has recently waited in vain, and the collector did not fail in the last hour.
"""

from __future__ import annotations

import atexit
import time

from dither_shared.light import WeakSet, suppress

from ..settings import seconds
from .schedule import UploadSchedule
from .sender import Sender
from .worker import Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..reporting.journal import Journal
    from .attempts import Attempts
    from .transport import Transport

_SHORT_LIFE = 10.0
"""Seconds after which an upload that has not succeeded is not expected to succeed within a moment."""


class Uploader:
    """Uploads the reports of ``journal`` while ``permitted``: in the background, or at once on a flush.

    ``failed`` gets what a step raised. ``spread``, ``exit_wait`` and ``exit_every`` are seconds (schedule.py and
    ``ExitWait``). Raises ParameterError if one of them is not a number of seconds from 0 to a year.
    """

    def __init__(
        self,
        journal: Journal,
        attempts: Attempts,
        transport: Transport,
        permitted: Callable[[], bool],
        failed: Callable[[BaseException], None],
        *,
        spread: float,
        exit_wait: float,
        exit_every: float,
    ) -> None:
        self._journal = journal
        self._attempts = attempts
        self._transport = transport
        self._permitted = permitted
        self._spread = spread
        self._sender = self._new_sender()
        self._worker = Worker(self._step, failed)
        self.wake = self._worker.wake
        self._exit = ExitWait(exit_wait, exit_every, attempts, self._worker.rested)

    def resume(self) -> None:
        """Send what an earlier run left; the exit of the program waits a moment for a report that is due."""
        if self._sender.resume():
            self._exit.arm()
        if self._journal.outbox.next() is not None:
            self._worker.wake()

    def flush(self, timeout: float) -> None:
        """Upload what waits, and wait up to ``timeout`` seconds until it is gone or must be expected to fail."""
        if self._journal.outbox.next() is not None and self._permitted():
            self._sender.flush()
            self._worker.flush(timeout, lambda: not self._sender.flushing)

    def stop(self) -> None:
        """Send nothing after the upload that may be under way; do not wait for it."""
        self._exit.cancel()
        self._worker.close()

    def restart(self) -> None:
        """Start again after ``stop``, without memory of what was sent before."""
        self._sender = self._new_sender()
        self._worker.open()

    def after_fork(self) -> None:
        """Start again in a child process: an upload that is under way belongs to the parent."""
        self._exit.cancel()
        self._attempts.after_fork()
        self._worker.after_fork()

    def _new_sender(self) -> Sender:
        schedule = UploadSchedule(self._spread)
        return Sender(self._journal, self._transport, self._permitted, self._attempts, schedule=schedule)

    def _step(self) -> float | None:
        return self._sender.step()


class ExitWait:
    """Once armed, waits at exit for at most ``wait`` seconds, and not within ``every`` seconds of a wait in vain.

    ``rested`` waits up to a number of seconds until nothing is being sent. Raises ParameterError for a time that is not
    a number of seconds from 0 to a year.
    """

    def __init__(self, wait: float, every: float, attempts: Attempts, rested: Callable[[float], bool]) -> None:
        self._wait = seconds("exit_wait", wait)
        self._every = seconds("exit_every", every)
        self._attempts = attempts
        self._rested = rested
        self._began = 0.0

    def arm(self) -> None:
        """Wait when the program ends, because it has found a due report and sends it."""
        if self._wait:
            self._began = time.monotonic()
            if not _armed:
                atexit.unregister(_at_exit)  # so that it is registered once
                atexit.register(_at_exit)
            _armed.add(self)

    def cancel(self) -> None:
        """Let the program end without waiting."""
        _armed.discard(self)

    def wait(self, begun: float) -> None:
        """Wait if there is something to wait for; the exit began at the moment ``begun``."""
        left = begun + self._wait - time.monotonic()
        if begun - self._began >= _SHORT_LIFE or left <= 0 or self._rested(0):
            return
        if self._attempts.may_wait(self._every) and self._rested(left):
            self._attempts.waited_in_time()


_armed: WeakSet[ExitWait] = WeakSet()


def _at_exit() -> None:
    begun = time.monotonic()  # shared by all clients, which wait together
    for one in list(_armed):
        with suppress(Exception, KeyboardInterrupt):  # Ctrl-C ends the wait
            one.wait(begun)
