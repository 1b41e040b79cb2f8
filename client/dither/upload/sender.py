"""The sender: make one step of uploading, without a thread of its own; the worker calls it again and again."""

from collections.abc import Callable

from ..reporting.bodies.kinds import read
from ..reporting.journal import Journal
from ..state.journal_records import Queued
from ..state.state import BusyError
from .attempts import Attempts
from .retry import BUSY, GONE, Backoff, Verdict, kind_of, verdict_on
from .schedule import UploadSchedule
from .transport import Answer, Transport, UnreachableError, failure_reason

_PAUSE = 1.0
"""Seconds to wait for another thread or process that is at the same outbox."""

_LOOK = 60.0
"""Seconds after which to look for new reports, however long those that are known are put off."""


class Sender:
    """Takes one report after the other from the outbox to the collector, while ``permitted``."""

    def __init__(
        self,
        journal: Journal,
        transport: Transport,
        permitted: Callable[[], bool],
        attempts: Attempts,
        *,
        schedule: UploadSchedule | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self._journal = journal
        self._transport = transport
        self._permitted = permitted
        self._attempts = attempts
        self._schedule = schedule or UploadSchedule()
        self._backoff = backoff or Backoff()
        self._hurries = self._hurries_over = 0  # how often it was hurried, and how many of these are over
        self._tried: set[str] = set()  # batches, in this haste

    @property
    def hurried(self) -> bool:
        """Whether it still hurries."""
        return self._hurries != self._hurries_over

    def hurry(self) -> None:
        """Let all that waits leave at once, one after the other, until none is left or all must expect to fail.

        What the collector put off waits nevertheless. Of what failed before, one is tried again, and if that succeeds,
        the others.
        """
        self._hurries += 1

    def resume(self) -> bool:
        """Return whether an earlier run left a report that is due; the oldest such then leaves without waiting."""
        waiting = self._journal.outbox.waiting()
        self._attempts.conclude()
        self._schedule.learn(self._attempts.held())
        due = next((entry for entry in waiting if not self._schedule.holds(entry)), None)
        if due is not None:
            self._schedule.at_once(due)
        return due is not None

    def step(self) -> float | None:
        """Try to send one report; return how many seconds to wait for the next step, or None if none is left.

        Nothing is sent before its debit is safe on disk, nor if that cannot be had: OSError.
        """
        hurries = self._hurries
        self._journal.compact(courteous=True)
        try:
            entry, wait = self._next()
            if entry is not None and wait <= 0:
                with self._journal.state.sending() as ours:
                    return self._send(hurries) if ours else self._refused()
        except BusyError:
            return _PAUSE
        except BaseException:
            self._end_haste(hurries)
            raise
        self._end_haste(hurries)
        return None if entry is None else min(wait, _LOOK)

    def _next(self) -> tuple[Queued | None, float]:
        """Return which report leaves next, and in how many seconds; None if none waits."""
        waiting = self._journal.waiting() if self._permitted() else []
        if not waiting:
            return None, 0.0
        if self.hurried and (entry := self._schedule.hastiest(waiting, self._tried)):
            return entry, 0.0
        return self._schedule.first(waiting)

    def _end_haste(self, hurries: int) -> None:
        """End the haste of the first so many calls of ``hurry``; one that came meanwhile goes on."""
        self._hurries_over = hurries
        self._tried.clear()

    def _send(self, hurries: int) -> float:
        """Send what is still due, now that nobody else does; return how many seconds to wait for the next step."""
        self._schedule.learn(self._attempts.held())
        entry, wait = self._next()  # looked at again: another process may have sent it just before
        if entry is None or wait > 0:
            return 0.0
        self._tried.add(entry.batch)
        if not self._upload(entry):
            self._end_haste(hurries)
        return self._missed(0.0)

    def _refused(self) -> float:
        self._attempts.refused()
        return self._missed(_PAUSE)

    def _missed(self, pause: float) -> float:
        self._schedule.redraw_missed()
        return pause

    def _upload(self, entry: Queued) -> bool:
        """Upload a report, and remember that it began; return whether others may follow in haste."""
        self._journal.state.sync()
        if not self._permitted():  # the user may have said no while the disk was slow, or this process stopped
            return False
        self._attempts.begin()
        try:
            return self._send_body(entry)
        finally:
            self._attempts.end()

    def _send_body(self, entry: Queued) -> bool:
        try:
            answer = self._transport.send(entry.body)
        except UnreachableError as error:
            self._schedule.rest(self._backoff.delay())
            words = failure_reason(error, self._attempts.host)
            self._attempts.note(words, words, self._schedule.held, accepted=False)
            return False
        except OSError as error:  # the collector may have seen the report, so this is an answer
            words = failure_reason(error, self._attempts.host)
            return self._settle(entry, Verdict(words, patience=BUSY), words, None)
        self._backoff.reset()
        return self._settle(entry, verdict_on(answer.status), kind_of(answer.status), answer)

    def _settle(self, entry: Queued, verdict: Verdict, kind: str, answer: Answer | None) -> bool:
        """Do with a report what the verdict says; return whether others may follow in haste."""
        words = f"{answer.status}: {verdict.words}" if answer else verdict.words
        if verdict.fate is None:
            again = self._schedule.hold(entry, answer.retry_after if answer else None, verdict.patience)
            self._attempts.note(words, kind, self._schedule.held, accepted=False)
            return verdict.only_its_own and not again
        self._schedule.forget(entry)
        self._attempts.note(words, kind, self._schedule.held, accepted=verdict.fate == "sent")
        self._journal.finish(entry, verdict.fate)
        if answer is not None and answer.status == GONE:
            self._journal.disable(read(entry.body).version)
        return True
