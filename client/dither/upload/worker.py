"""The worker: at most one daemon thread, which lives only while there is something to send, and when an exit waits.

The first report that waits starts the thread, and it ends when none is left. It is a daemon, so the program's exit does
not wait for it; what is not sent stays in the outbox for the next run.

But a short program may wait a moment at its end for the report that it found due when it started. The wait is for the
upload that is under way, never longer than the app allows, and only if it can help: the program has just started, no
exit has recently waited in vain, and the collector did not fail in the last hour.
"""

from __future__ import annotations

import atexit
import sys
import time

from dither_shared.light import WeakSet, cast, new_rlock

from ..forks import importing
from ..settings import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from .attempts import Attempts

_SHORT_LIFE = 10.0
"""Seconds after which an upload that has not succeeded is not expected to succeed within a moment."""

_PARTING = 5.0
"""Seconds that the end of a subinterpreter waits for an upload."""


class Worker:
    """Calls ``step`` until it returns None, and waits between steps for the seconds that it returns.

    If a step raises, ``failed`` gets the exception and the thread ends; the next ``wake`` starts another.
    """

    _made: tuple[threading.RLock, threading.Condition] | None = None

    def __init__(self, step: Callable[[], float | None], failed: Callable[[BaseException], None]) -> None:
        self._step = step
        self._failed = failed
        self._thread: threading.Thread | None = None
        self._woken = False
        self._cut = False
        self._resting = False  # between two steps
        self._closed = False

    @property
    def _parts(self) -> tuple[threading.RLock, threading.Condition]:
        """A lock and its condition, created on first use, because a program that sends nothing needs none.

        Only the lock is entered: the condition does that by a function in Python, in whose steps a signal handler may
        raise, and then the lock would be held for ever.
        """
        known = self._made
        if known is not None:
            return known
        with importing():
            from threading import Condition  # noqa: PLC0415 - it is a tenth of a start

        lock = new_rlock()
        # if there are two threads, the pair of one of them
        return cast(
            "tuple[threading.RLock, threading.Condition]", vars(self).setdefault("_made", (lock, Condition(lock)))
        )

    def wake(self, *, cut: bool = False) -> None:
        """Make sure that a thread runs; return at once. With ``cut``, end a wait between two steps.

        When the interpreter shuts down, threads are frozen where they are, perhaps with the lock, and a new thread
        never runs; Python 3.11 would wait for it for ever. So nothing is done then, here and below.
        """
        if (self._woken and self._thread is not None and not cut) or sys.is_finalizing():
            return  # the step after an earlier wake is still to come, or the interpreter is shutting down
        lock, changed = self._parts
        thread, started = None, False
        try:
            with lock:
                self._woken = True
                if cut:
                    self._cut = True
                    changed.notify_all()  # even if it was cut: a signal handler may have kept the last call from this
                if self._thread is not None or self._closed:
                    return
                from threading import Thread  # noqa: PLC0415 - it is loaded

                thread = self._thread = Thread(target=self._run, name="dither", daemon=True)
            if not _at_work:
                _register()
            _at_work.add(self)
            thread.start()  # without the lock, because under gevent the new one may run before this returns
            started = True
        except RuntimeError:  # no daemons in this interpreter, too many threads, or a shutdown: the next run will send
            pass
        finally:
            if thread is not None and not started:
                self._ended(thread)

    def flush(self, timeout: float, over: Callable[[], bool] = lambda: False) -> bool:
        """Try at once, then wait up to ``timeout`` seconds until nothing is left; return whether the thread is done.

        If the thread rests although something is left, stop waiting as soon as ``over`` returns True.
        """
        if sys.is_finalizing():
            return False
        self.wake(cut=True)
        lock, changed = self._parts
        with lock:
            changed.wait_for(lambda: self._thread is None or (self._resting and over()), timeout)
            return self._thread is None

    def rested(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds until nothing is being sent; return whether nothing is."""
        lock, changed = self._parts
        with lock:
            return changed.wait_for(lambda: self._thread is None or self._resting, timeout)

    def close(self) -> None:
        """Ask the thread to end after the upload that may be under way; do not wait for it."""
        if sys.is_finalizing():
            return
        lock, changed = self._parts
        with lock:
            self._closed = True
            changed.notify_all()

    def open(self) -> None:
        """Go on after ``close``."""
        if sys.is_finalizing():
            return
        with self._parts[0]:
            self._closed = False

    def join(self, timeout: float) -> None:
        """Wait up to ``timeout`` seconds for the thread to end."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)

    def after_fork(self) -> None:
        """Start again in a child process, which has inherited the locks but not the thread."""
        vars(self).pop("_made", None)
        self._thread = None

    def _run(self) -> None:
        from threading import current_thread  # noqa: PLC0415 - it is loaded

        try:
            while self._again():
                pass
        except BaseException as error:  # a traceback on stderr would be the host's
            self._failed(error)
        finally:
            self._ended(current_thread())

    def _ended(self, thread: threading.Thread) -> None:
        lock, changed = self._parts
        with lock:
            if self._thread is thread:
                self._thread = None
            changed.notify_all()

    def _again(self) -> bool:
        """Take one step and wait; return whether there is another."""
        lock, changed = self._parts
        with lock:
            self._woken = self._cut = self._resting = False
        pause = self._step()
        with lock:
            if pause is None and not self._woken:
                self._thread = None  # under the lock, so that the next wake starts a new thread
                return False
            if pause:
                self._resting = True
                changed.notify_all()
            changed.wait_for(lambda: self._closed or self._cut, pause or 0.0)
            return not self._closed


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
                _register()
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


_at_work: WeakSet[Worker] = WeakSet()
"""Workers that have had a thread."""

_armed: WeakSet[ExitWait] = WeakSet()


def _register() -> None:
    atexit.unregister(_at_exit)  # so that it is registered once
    atexit.register(_at_exit)


def _at_exit() -> None:
    """Wait for uploads; then end the threads of a subinterpreter, such as mod_wsgi's.

    Python aborts the whole process if a thread outlives its subinterpreter.
    """
    begun = time.monotonic()  # shared by all clients, which wait together
    for exit_wait in list(_armed):
        try:  # noqa: SIM105 - whatever a signal handler raises, such as for Ctrl-C, ends the wait
            exit_wait.wait(begun)
        except (Exception, KeyboardInterrupt):  # noqa: S110
            pass
    if not _in_subinterpreter():
        return
    workers = list(_at_work)
    for worker in workers:
        worker.close()
    for worker in workers:
        worker.join(_PARTING)


def _in_subinterpreter() -> bool:
    for name in ("_interpreters", "_xxsubinterpreters"):  # from Python 3.13, and before
        try:
            module = __import__(name)
        except ImportError:
            continue
        return bool(module.get_current() != module.get_main())
    return False
