"""Transactions: the journal held, for one thread of one process, and up to date.

An exception may come at any step, even while the journal is let go, because the host's signal handlers may raise. So it
is let go twice, by two ``finally`` in each other, and the second time does nothing if the first was not cut short.

Threads take turns, and a lock would not do for that. Between the call that takes it and the note that it was taken, an
exception out of a signal handler may come, and then nobody knows whose it is. Here one step takes the turn and notes
whose it is. So ``leave`` can be called at any time, and again, and lets out nobody else; and a turn that was dropped by
its owner without leaving is nobody's.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from weakref import ReferenceType, ref

from ..state.state import BusyError, State

_PATIENCE = 0.1
"""Seconds that a thread waits for another: a signal handler that interrupts its own thread must not wait for ever."""

_PAUSE, _LONGEST_PAUSE = 0.0001, 0.001
_THE_ONE = ""

Result = TypeVar("Result")


class Turn:
    """Token of the thread that is in; the turn ends when the token is garbage-collected."""

    __slots__ = ("__weakref__",)


class Turns:
    """One thread at a time, whatever becomes of those that are in or wait."""

    def __init__(self) -> None:
        self._inside: dict[str, ReferenceType[Turn]] = {}
        self._mending = threading.Lock()

    def enter(self, turn: Turn) -> None:
        """Wait until nobody else is in; raise BusyError if that takes long."""
        mine = ref(turn)
        if self._inside.setdefault(_THE_ONE, mine) is not mine:
            self._wait(mine)

    def has(self, turn: Turn) -> bool:
        """Return whether it is this one's turn."""
        return self._inside.get(_THE_ONE) is ref(turn)

    def leave(self, turn: Turn) -> None:
        """Let the next one in, if it was this one's turn."""
        if self._inside.get(_THE_ONE) is ref(turn):
            self._inside.clear()

    def _wait(self, mine: "ReferenceType[Turn]") -> None:
        end, pause = time.monotonic() + _PATIENCE, _PAUSE
        while (holder := (inside := self._inside).setdefault(_THE_ONE, mine)) is not mine:
            if holder() is None:  # its owner is gone without leaving
                self._mend(inside)
                continue
            if time.monotonic() > end:
                raise BusyError("the journal is held by another thread")
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _mend(self, inside: "dict[str, ReferenceType[Turn]]") -> None:
        """Go on without what somebody left behind, unless another thread has just seen to that."""
        with self._mending:
            if self._inside is inside:
                self._inside = {}


class Transactions:
    """Transactions on ``state``; each begins with ``follow``, which is given the day."""

    def __init__(self, state: State, today: Callable[[], int], follow: Callable[[int], None]) -> None:
        self._state = state
        self._today = today
        self._follow = follow
        self._turns = Turns()

    def hold(self, work: Callable[[], Result], today: int | None = None) -> Result:
        """Return what ``work`` returns, called in a transaction; raises BusyError, StateError or OSError, too."""
        turn = Turn()
        try:
            try:
                self._enter(turn, today)
                return work()
            finally:
                self._leave(turn)
        finally:
            self._leave(turn)

    @contextmanager
    def one(self) -> Iterator[int]:
        """Enter a transaction with the day; raises BusyError, StateError or OSError."""
        turn = Turn()
        try:
            try:
                yield self._enter(turn, None)
            finally:
                self._leave(turn)
        finally:
            self._leave(turn)

    def alone(self, work: Callable[[], None]) -> None:
        """Call ``work`` while no other thread is in a transaction; raises BusyError."""
        turn = Turn()
        try:
            try:
                self._turns.enter(turn)
                work()
            finally:
                self._turns.leave(turn)
        finally:
            self._turns.leave(turn)

    def after_fork(self) -> None:
        """Start again in a child process, where no other thread is."""
        self._turns = Turns()

    def _enter(self, turn: Turn, today: int | None) -> int:
        self._turns.enter(turn)
        self._state.acquire()
        if today is None:
            today = self._today()  # now, because it may have taken long
        self._follow(today)
        return today

    def _leave(self, turn: Turn) -> None:
        if self._turns.has(turn):  # else it was let go before
            self._state.release()
            self._turns.leave(turn)
