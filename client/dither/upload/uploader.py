"""The uploader: sender, worker and exit wait of one client, put together."""

from collections.abc import Callable

from ..reporting.journal import Journal
from .attempts import Attempts
from .exits import ExitWait
from .schedule import UploadSchedule
from .sender import Sender
from .transport import Transport
from .worker import Worker

__all__ = ["Uploader"]


class Uploader:
    """Uploads the reports of ``journal`` while ``permitted``: in the background, or at once on a flush.

    ``failed`` is given what a step raised. ``spread``, ``exit_wait`` and ``exit_every`` are seconds (schedule.py,
    exits.py). Raises ParameterError for one of them that is no number of seconds from 0 to a year.
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
        self._exit = ExitWait(exit_wait, exit_every, attempts, self._worker.rested)

    def resume(self) -> None:
        """Go on with what an earlier run left; the exit of the program waits a moment for a report that is due."""
        if self._sender.resume():
            self._exit.arm()
        if self._journal.outbox.next() is not None:
            self._worker.wake()

    def wake(self, *, cut: bool = False) -> None:
        """Upload in the background, now that a report waits; ``cut`` cuts short a wait between two steps."""
        self._worker.wake(cut=cut)

    def flush(self, timeout: float) -> None:
        """Upload what waits now, and wait up to ``timeout`` seconds until it is gone or must expect to fail."""
        if self._journal.outbox.next() is not None and self._permitted():
            self._sender.hurry()
            self._worker.flush(timeout, lambda: not self._sender.hurried)

    def stop(self) -> None:
        """Send nothing after the upload that may be under way; do not wait for it."""
        self._exit.cancel()
        self._worker.close()

    def restart(self) -> None:
        """Go on after ``stop``, knowing nothing of what was sent before."""
        self._sender = self._new_sender()
        self._worker.open()

    def after_fork(self) -> None:
        """Start again in a child process: whatever is under way is its parent's."""
        self._exit.cancel()
        self._attempts.end()
        self._worker.after_fork()

    def _new_sender(self) -> Sender:
        schedule = UploadSchedule(self._spread)
        return Sender(self._journal, self._transport, self._permitted, self._attempts, schedule=schedule)

    def _step(self) -> float | None:
        return self._sender.step()
