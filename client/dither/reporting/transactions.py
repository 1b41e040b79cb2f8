"""Transactions: hold the journal, up to date, for one thread of one process.

The host's signal handlers may raise at any step, even while the journal is released. So two nested ``finally`` release
it, and the second does nothing unless the first was interrupted.

Threads take turns by a token instead of a ``threading.Lock``. After a lock was acquired, a signal handler could raise
before the acquisition was noted, and then nobody would know whose it is. Here one atomic step takes the turn and stores
its owner. So ``leave`` can be called at any time and repeatedly, and releases no other owner's turn; and a token that
its owner dropped without leaving is free.
"""

from __future__ import annotations

import time

from dither_shared.light import TypeVar, contextmanager, new_lock, ref

from ..state.state import BusyError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from weakref import ReferenceType

    from ..state.state import State

_PATIENCE = 0.1
"""Maximum seconds that a thread waits for another: a signal handler that waits for its own thread must not hang."""

_PAUSE, _LONGEST_PAUSE = 0.0001, 0.001
_THE_ONE = ""

Result = TypeVar("Result")


class Turn:
    """Token of the owner; the turn ends at the latest when the token is garbage-collected."""

    __slots__ = ("__weakref__",)


class Turns:
    """Mutual exclusion of threads that survives exceptions at any step."""

    def __init__(self) -> None:
        self._inside: dict[str, ReferenceType[Turn]] = {}
        self._mending = new_lock()

    def enter(self, turn: Turn) -> None:
        """Wait for the turn; raise BusyError if that takes long."""
        mine = ref(turn)
        if self._inside.setdefault(_THE_ONE, mine) is not mine:
            self._wait(mine)

    def has(self, turn: Turn) -> bool:
        """Return whether ``turn`` holds the turn."""
        return self._inside.get(_THE_ONE) is ref(turn)

    def leave(self, turn: Turn) -> None:
        """Release the turn if ``turn`` holds it."""
        if self._inside.get(_THE_ONE) is ref(turn):
            self._inside.clear()

    def _wait(self, mine: ReferenceType[Turn]) -> None:
        end, pause = time.monotonic() + _PATIENCE, _PAUSE
        while (holder := (inside := self._inside).setdefault(_THE_ONE, mine)) is not mine:
            if holder() is None:  # its owner was dropped without leaving
                self._mend(inside)
                continue
            if time.monotonic() > end:
                raise BusyError("the journal is held by another thread")
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _mend(self, inside: dict[str, ReferenceType[Turn]]) -> None:
        """Discard a turn whose owner is gone, unless another thread has just done so."""
        with self._mending:
            if self._inside is inside:
                self._inside = {}


class Transactions:
    """Transactions on ``state``; each begins by calling ``follow`` with the day."""

    def __init__(self, state: State, today: Callable[[], int], follow: Callable[[int], None]) -> None:
        self._state = state
        self._today = today
        self._follow = follow
        self._turns = Turns()

    def hold(self, work: Callable[[], Result], today: int) -> Result:
        """Call ``work`` in a transaction and return its result; raises BusyError, StateError or OSError, too."""
        turn = Turn()
        try:
            try:
                self._turns.enter(turn)
                self._state.acquire()
                self._follow(today)
                return work()
            finally:
                self._leave(turn)
        finally:
            if self._turns.has(turn):  # the release above was interrupted
                self._leave(turn)

    @contextmanager
    def one(self) -> Iterator[int]:
        """Enter a transaction with the day; raises BusyError, StateError or OSError."""
        turn = Turn()
        try:
            try:
                self._turns.enter(turn)
                self._state.acquire()
                today = self._today()  # only now, because waiting may have taken long
                self._follow(today)
                yield today
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

    def _leave(self, turn: Turn) -> None:
        if self._turns.has(turn):  # otherwise it was released before
            self._state.release()
            self._turns.leave(turn)
