"""Open sealed bodies alongside everything else that a collector does: peers take turns, one slice at a time.

Opening a row takes 0.1 ms, during which no other Python thread runs. A thread that waits for the interpreter would wait
for 5 ms each time, so the thread that opens rows sleeps for a moment after a few of them.

Anyone who may report can send bodies. So one thread works at a time, and peers (addresses) get slices of equal size in
turn, however many bodies each of them sends. A body of which nothing opens costs only one slice.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from dither_serving.problems import Kind, Problem

from .hpke import Opener

MOST = 20_000
"""Maximum rows of a body: some seconds of work for each key of the suite."""

_PLACES = 8
"""Maximum bodies opened at a time; a thread waits for each."""

_SLICE = 64
"""Rows opened per turn, and rows tried first: if none of those opens, the others are not tried."""

_SOON = 5
"""Seconds until a retry if all places are taken."""

_FEW = 4
_ASIDE = 1e-5
"""Rows between two pauses, and the seconds of a pause, which lets other threads run."""

_chance = random.SystemRandom()


class Opening:
    """The bodies in work. Each is opened by the thread that brings it, when it is its turn."""

    def __init__(self, places: int = _PLACES) -> None:
        self._places = places
        self._changed = threading.Condition()
        self._bodies: list[Place] = []  # in the order in which they came
        self._last_turn: dict[str, int] = {}
        self._turns = 0
        self._is_taken = False

    @contextmanager
    def place(self, peer: str) -> Iterator["Place"]:
        """Take a place for a body of a peer.

        Raises Problem if all are taken, unless another peer has at least two more of them than this one: then the
        newest body of that peer gives way.
        """
        with self._changed:
            if len(self._bodies) >= self._places:
                self._make_room(peer)
            body = Place(self, peer)
            self._bodies.append(body)
            self._last_turn.setdefault(peer, self._turns)
        try:
            yield body
        finally:
            with self._changed:
                self._leave(body)

    @contextmanager
    def turn(self, body: "Place") -> Iterator[None]:
        """Wait for a body's turn; the longest waiting peer comes first. Raises Problem if the body was dropped."""
        with self._changed:
            body.waits = True
            self._changed.wait_for(lambda: body.gave_way or (not self._is_taken and self._next() is body))
            body.waits = False
            if body.gave_way:
                raise _crowded()
            self._is_taken = True
            self._turns += 1
            self._last_turn[body.peer] = self._turns
        try:
            yield
        finally:
            with self._changed:
                self._is_taken = False
                self._changed.notify_all()

    def _next(self) -> "Place":
        return min((one for one in self._bodies if one.waits), key=lambda one: self._last_turn[one.peer])

    def _make_room(self, peer: str) -> None:
        bodies = Counter(one.peer for one in self._bodies)
        ((largest, most),) = bodies.most_common(1)
        if most < bodies[peer] + 2:
            raise _crowded()
        newest = next(one for one in reversed(self._bodies) if one.peer == largest)
        newest.gave_way = True
        self._leave(newest)

    def _leave(self, body: "Place") -> None:
        if body in self._bodies:
            self._bodies.remove(body)
            if all(one.peer != body.peer for one in self._bodies):
                del self._last_turn[body.peer]
        self._changed.notify_all()


class Place:
    """The place of one body."""

    def __init__(self, opening: Opening, peer: str) -> None:
        self.peer = peer
        self.waits = False
        self.gave_way = False
        self._opening = opening

    def turn(self) -> AbstractContextManager[None]:
        """Wait for a turn to work for some milliseconds. Raises Problem if the body was dropped for another peer's."""
        return self._opening.turn(self)

    def open(
        self, rows: Sequence[bytes], info: bytes, openers: Sequence[Opener]
    ) -> tuple[dict[bytes, bytes], Sequence[bytes]]:
        """Return the opened rows, by sealed row and in the order of the rows; and the rows that were tried.

        A few rows, drawn at random, are tried first: an attacker who sends garbage may choose the order of the rows.
        """
        tried = rows if len(rows) <= _SLICE else _chance.sample(rows, _SLICE)
        keys = list(openers)
        opened = self._opened(tried, info, keys)
        if not opened or len(tried) == len(rows):
            return opened, tried
        for start in range(0, len(rows), _SLICE):
            opened |= self._opened([row for row in rows[start : start + _SLICE] if row not in opened], info, keys)
        return {row: opened[row] for row in rows if row in opened}, rows

    def _opened(self, rows: Sequence[bytes], info: bytes, openers: list[Opener]) -> dict[bytes, bytes]:
        """Open a slice. The key that opened the last row is tried first, because most devices seal for the same key."""
        opened: dict[bytes, bytes] = {}
        if not openers:
            return opened
        with self.turn():
            for number, sealed in enumerate(rows):
                for place, one in enumerate(openers):
                    if (row := one(sealed, info)) is not None:
                        openers.insert(0, openers.pop(place))
                        opened[sealed] = row
                        break
                if number % _FEW == 0:
                    time.sleep(_ASIDE)
        return opened


def _crowded() -> Problem:
    return Problem(Kind.OVERLOADED, "too many batches are being opened; this one was not taken", _SOON)
