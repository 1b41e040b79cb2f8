"""Turns: one transaction of this process at a time, whatever becomes of those that are in or wait.

A lock would not do. Between the call that takes it and the note that it was taken, an exception out of the host's
signal handler may come, and then nobody knows whose it is. Here one step takes the turn and notes whose it is. So
``leave`` can be called at any time, and again, and lets out nobody else; and a turn that was dropped by its owner
without leaving is nobody's.
"""

import threading
import time
from weakref import ReferenceType, ref

from ..state.state import BusyError

__all__ = ["Turn", "Turns"]

_PATIENCE = 0.1
"""Seconds that a thread waits for another: a signal handler that interrupts its own thread must not wait for ever."""

_PAUSE, _LONGEST_PAUSE = 0.0001, 0.001
_THE_ONE = ""


class Turn:
    """What a transaction owns; it is to be kept for as long as the transaction lasts."""

    __slots__ = ("__weakref__",)


class Turns:
    """Who is in."""

    def __init__(self) -> None:
        self._inside: dict[str, ReferenceType[Turn]] = {}
        self._mending = threading.Lock()

    def enter(self, turn: Turn) -> None:
        """Wait until nobody else is in; raises BusyError if that takes long."""
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
