"""The uploader: take reports from the outbox to the collector, one after the other, by steps that a worker calls."""

from __future__ import annotations

import time

from ..reporting.bodies import read
from ..state.state import BusyError
from .schedule import BUSY, GONE, AnswerRule, kind_of, rule_for
from .transport import UnreachableError, failure_reason
from .worker import ExitWait, Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..reporting.journal import Journal
    from ..state.journal_records import Queued
    from .attempts import Attempts
    from .schedule import UploadSchedule
    from .transport import Answer, Transport

_PAUSE = 1.0
"""Seconds to wait for another thread or process that uses the same outbox."""

_LOOK = 60.0
"""Seconds after which to check for new reports, even if the known ones are postponed for longer."""


class Uploader:
    """Uploads the reports of ``journal`` while ``permitted``: in the background, or at once on a flush.

    ``failed`` is called with an exception that a step of the background thread raised. ``exit_wait`` and ``exit_every``
    are seconds (``ExitWait``). Raises ParameterError if one of them is not a number of seconds from 0 to a year.
    """

    def __init__(
        self,
        journal: Journal,
        attempts: Attempts,
        transport: Transport,
        permitted: Callable[[], bool],
        failed: Callable[[BaseException], None],
        schedule: UploadSchedule,
        *,
        exit_wait: float = 0.0,
        exit_every: float = 0.0,
    ) -> None:
        self._journal = journal
        self._attempts = attempts
        self._transport = transport
        self._permitted = permitted
        self._schedule = schedule
        self._flushes = self._flushes_over = 0  # how many flushes were begun, and how many of them have ended
        self._tried: set[str] = set()  # batches sent in this flush
        self._looks_at = 0.0  # when the next report is due, or it is time to look for new ones
        self._worker = Worker(self.step, failed)
        self.wake = self._worker.wake
        self._exit = ExitWait(exit_wait, exit_every, attempts, self._worker.rested)

    def resume(self) -> None:
        """Send the reports that an earlier run left; the program's exit waits a moment if one of them is due."""
        if self.choose_due():
            self._exit.arm()
        if self._journal.outbox.next() is not None:
            self.wake()

    def choose_due(self) -> bool:
        """Return whether an earlier run left a report that is due; the oldest of them then leaves without waiting."""
        waiting = self._journal.outbox.waiting()
        if not waiting:
            return False
        self._attempts.conclude()
        self._schedule.merge(self._attempts.held())
        due = next((entry for entry in waiting if not self._schedule.is_put_off(entry)), None)
        if due is not None:
            self._schedule.send_now(due)
        return due is not None

    def flush(self, timeout: float) -> None:
        """Upload the waiting reports; return when none is left, the rest must be expected to fail, or time is up."""
        if self._journal.outbox.next() is not None and self._permitted():
            self.begin_flush()
            self._worker.flush(timeout, lambda: not self.flushing)

    def begin_flush(self) -> None:
        """Let the next steps send all waiting reports, until none is left or the rest are expected to fail.

        Reports that the collector postponed wait nevertheless. Of those that failed before, one is tried again and, if
        that succeeds, the others.
        """
        self._flushes += 1

    @property
    def flushing(self) -> bool:
        """Whether a flush is in progress."""
        return self._flushes != self._flushes_over

    def stop(self) -> None:
        """Send nothing after the upload that may be under way; do not wait for it."""
        self._exit.cancel()
        self._worker.close()

    def restart(self) -> None:
        """Start again after ``stop``, without memory of what was sent before."""
        self._schedule.clear()
        self._end_flush(self._flushes)
        self._looks_at = 0.0
        self._worker.open()

    def after_fork(self) -> None:
        """Start again in a child process: an upload that is under way belongs to the parent."""
        self._exit.cancel()
        self._attempts.after_fork()
        self._worker.after_fork()

    def step(self) -> float | None:
        """Try to send one report; return how many seconds to wait for the next step, or None if none is left.

        Nothing is sent before its debit is safe on disk; if that fails, raise OSError.
        """
        flushes = self._flushes
        again = self._journal.compact(courteous=True)
        if again and not self.flushing and (left := self._looks_at - time.monotonic()) > 0:
            return min(again, left)  # the program is recording, and going through 10,000 reports would delay it
        self._looks_at = 0.0
        try:
            entry, wait = self._next()
            if entry is not None and wait <= 0:
                with self._journal.state.sending() as ours:
                    return self._send_next(flushes) if ours else self._wait_for_other()
        except BusyError:
            return _PAUSE
        except BaseException:
            self._end_flush(flushes)
            raise
        self._end_flush(flushes)
        if entry is None:
            return again or None
        wait = min(wait, _LOOK)
        self._looks_at = time.monotonic() + wait
        return min(wait, again or wait)

    def _next(self) -> tuple[Queued | None, float]:
        """Return the report that leaves next, and in how many seconds; None if none waits."""
        waiting = self._journal.waiting() if self._permitted() else []
        if not waiting:
            return None, 0.0
        if self.flushing and (entry := self._schedule.next_for_flush(waiting, self._tried)):
            return entry, 0.0
        return self._schedule.next_due(waiting)

    def _end_flush(self, flushes: int) -> None:
        """End the first ``flushes`` flushes; later ones continue."""
        self._flushes_over = flushes
        self._tried.clear()

    def _send_next(self, flushes: int) -> float:
        """Send the report that is still due, because no other process sends now; return the seconds to wait."""
        self._schedule.merge(self._attempts.held())
        entry, wait = self._next()  # again, because another process may have sent it just before
        if entry is not None and wait <= 0:
            self._tried.add(entry.batch)
            if not self._upload(entry):
                self._end_flush(flushes)
            self._schedule.redraw_missed()
        return 0.0

    def _wait_for_other(self) -> float:
        self._attempts.warn_if_held_up()
        self._schedule.redraw_missed()
        return _PAUSE

    def _upload(self, entry: Queued) -> bool:
        """Upload a report, and remember that it began; return whether a flush may continue with others."""
        self._journal.state.sync()
        if not self._permitted():  # the user may have said no while the disk was slow, or this process stopped
            return False
        self._attempts.begin()
        try:
            return self._send(entry)
        finally:
            self._attempts.end()

    def _send(self, entry: Queued) -> bool:
        try:
            answer = self._transport.send(entry.body)
        except UnreachableError as error:
            self._schedule.pause()
            words = failure_reason(error, self._attempts.host)
            self._attempts.note(words, words, self._schedule.held, accepted=False)
            return False
        except OSError as error:  # the collector may have seen the report, so this counts as an answer
            words = failure_reason(error, self._attempts.host)
            return self._apply(entry, AnswerRule(words, window=BUSY), words, None)
        self._schedule.reached()
        return self._apply(entry, rule_for(answer.status), kind_of(answer.status), answer)

    def _apply(self, entry: Queued, rule: AnswerRule, kind: str, answer: Answer | None) -> bool:
        """Apply the rule for an answer to the report; return whether a flush may continue with others."""
        words = f"{answer.status}: {rule.words}" if answer else rule.words
        if rule.fate is None:
            again = self._schedule.put_off(entry, answer.retry_after if answer else None, rule.window)
            self._attempts.note(words, kind, self._schedule.held, accepted=False)
            return rule.metric_only and not again
        self._schedule.forget(entry)
        self._attempts.note(words, kind, self._schedule.held, accepted=rule.fate == "sent")
        self._journal.finish(entry, rule.fate)
        if answer is not None and answer.status == GONE:
            self._journal.disable(read(entry.body).version)
        return True
