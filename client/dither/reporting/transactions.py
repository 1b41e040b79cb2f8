"""Transactions: the journal held, for one thread of one process, and up to date.

An exception may come at any step, even while the journal is let go, for the host's signal handlers may raise. So it is
let go twice, by two ``finally`` in each other, and the second time does nothing if the first was not cut short.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ..state.state import State
from .turns import Turn, Turns

__all__ = ["Transactions"]

Result = TypeVar("Result")


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
            today = self._today()  # now, for it may have taken long
        self._follow(today)
        return today

    def _leave(self, turn: Turn) -> None:
        if self._turns.has(turn):  # else it was let go before
            self._state.release()
            self._turns.leave(turn)
