"""Limit analyses beside ingest: a few large ones at a time, none that holds up a small one, none for a peer that left.

Reports come first. All threads of a process share Python's interpreter, so an analysis computes in short steps and
takes a turn for each: one large and one small analysis compute at a time, however many are asked for. An analysis is
small until the answers that it has to compute cost more than ``_SMALL``; then it needs one of a few slots, which it
keeps until its answer is sent. What is remembered costs nothing.
"""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TypeVar, cast
from wsgiref.types import WSGIEnvironment

from dither_serving.problems import Kind, Problem
from dither_serving.request import PEER_GONE
from dither_shared import DitherError, ParameterError

from ..observability.prometheus import Prometheus

__all__ = ["AnalysisLimiter", "PeerGoneError", "Turns", "Work", "tells_gone"]

T = TypeVar("T")

_OF_OTHERS = "waitress.client_disconnected"
"""The same of waitress, which tells where its ``channel_request_lookahead`` is above 0."""

_SOON = 2
"""Seconds after which to come again when all slots are taken."""

_SMALL = 10_000
"""The cost up to which an analysis is small: about 0.15 seconds of computing."""

_LONGEST = 120.0
"""Seconds to wait for a turn; a step of another that takes longer has failed."""

_PIECE = 1 << 16
"""Bytes that are sent together."""


class PeerGoneError(DitherError):
    """Whoever asked has hung up: the work is for nobody."""


def tells_gone(environ: WSGIEnvironment) -> Callable[[], bool]:
    """Return a function that says whether a request's peer has hung up; always False if the server does not tell."""
    gone: Callable[[], bool] = environ.get(PEER_GONE) or environ.get(_OF_OTHERS) or _never
    return gone


def _never() -> bool:
    return False


class Turns:
    """A lock that is handed over in the order in which it was asked for, so that none who wait are passed over."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Event] = deque()

    @property
    def waiting(self) -> int:
        """The number of those who wait."""
        return len(self._waiting)

    def acquire(self, patience: float) -> bool:
        """Take the turn; return whether it came within so many seconds."""
        with self._changing:
            if not self._taken:
                self._taken = True
                return True
            mine = threading.Event()
            self._waiting.append(mine)
        if mine.wait(patience):
            return True
        with self._changing:
            if mine.is_set():
                return True
            self._waiting.remove(mine)
            return False

    def release(self) -> None:
        """Hand the turn to whoever has waited longest."""
        with self._changing:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False


class AnalysisLimiter:
    """The analyses of one process: ``slots`` large ones, and as many that wait ``patience`` seconds for a slot."""

    def __init__(self, slots: int, prometheus: Prometheus, patience: float = 1.0) -> None:
        self.small, self.large = Turns(), Turns()
        self._slots = threading.BoundedSemaphore(slots)
        self._lobby = threading.BoundedSemaphore(slots)
        self._patience = patience
        self._prometheus = prometheus
        self._present = threading.local()

    def begin(self, gone: Callable[[], bool]) -> "Work":
        """Begin an analysis, which lasts until ``Work.end``; ``gone`` says whether the peer has hung up."""
        return Work(self, gone)

    def demand(self, cost: int) -> None:
        """Add a cost (``costs``) to the analysis whose step runs in this thread, before it computes.

        One that becomes large by this waits for a slot. Raises Problem if none is free in time.
        """
        work: Work | None = getattr(self._present, "work", None)
        if work is not None:
            work.demand(cost)

    def acquire(self) -> None:
        """Take a slot; raise Problem if none is free in time. Too many that wait would take every thread."""
        if self._slots.acquire(blocking=False):
            return
        if self._lobby.acquire(blocking=False):
            try:
                if self._slots.acquire(timeout=self._patience):
                    return
            finally:
                self._lobby.release()
        raise Problem(Kind.BUSY, "as many large analyses run as may; come again soon", _SOON)

    @contextmanager
    def running(self, work: "Work") -> Iterator[None]:
        """Make an analysis the one whose step runs in this thread."""
        self._present.work = work
        try:
            yield
        finally:
            self._present.work = None

    def ended(self, outcome: str, *, was_large: bool) -> None:
        """Count how an analysis ended, and free its slot if it had one."""
        self._prometheus.analysis(outcome)
        if was_large:
            self._slots.release()


class Work:
    """One analysis."""

    def __init__(self, limiter: AnalysisLimiter, gone: Callable[[], bool]) -> None:
        self._limiter = limiter
        self._gone = gone
        self._cost = 0
        self._turns: Turns = limiter.small
        self._has_turn = False
        self._ended = False

    @property
    def is_large(self) -> bool:
        """Whether it has a slot."""
        return self._turns is self._limiter.large

    def demand(self, cost: int) -> None:
        """Add to the cost, within a step; the step goes on in a turn of the large ones if it becomes large."""
        self._cost += cost
        if self._cost <= _SMALL or self.is_large:
            return
        self._release_turn()
        try:
            self._limiter.acquire()
            self._turns = self._limiter.large
        finally:
            self._take_turn()

    @contextmanager
    def step(self) -> Iterator[None]:
        """Compute for a short time, when it is our turn. Raises PeerGoneError if nobody waits for it any more."""
        self._take_turn()
        try:
            if self._gone():
                raise PeerGoneError("the peer has hung up")
            with self._limiter.running(self):
                yield
        finally:
            self._release_turn()

    def _take_turn(self) -> None:
        self._has_turn = self._turns.acquire(_LONGEST)
        if not self._has_turn:
            raise Problem(Kind.BUSY, "another analysis takes too long; come again soon", _SOON)

    def _release_turn(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self._turns.release()

    def pieces(self, steps: Iterator[bytes]) -> Iterator[bytes]:
        """Yield what ``steps`` make, some together, each made in a turn of its own; a step may make nothing."""
        ready: list[bytes] = []
        size = 0
        while True:
            with self.step():
                piece = next(steps, None)
            if piece is not None:
                ready.append(piece)
                size += len(piece)
            if ready and (piece is None or size >= _PIECE):
                yield b"".join(ready)
                ready, size = [], 0
            if piece is None:
                return

    def run(self, computing: Generator[None, None, T]) -> T:
        """Return the result of a computation, made in its steps."""
        while True:
            with self.step():
                try:
                    next(computing)
                except StopIteration as end:
                    return cast("T", end.value)

    def once(self, compute: Callable[[], T]) -> T:
        """Return the result of a computation of one step."""
        with self.step():
            return compute()

    def end(self, error: BaseException | None = None) -> None:
        """Free the slot and count how it went; at the second call do nothing."""
        if self._ended:
            return
        self._ended = True
        match error:
            case None:
                outcome = "answered"
            case PeerGoneError() | GeneratorExit():
                outcome = "abandoned"
            case Problem(kind=Kind.BUSY):
                outcome = "busy"
            case Problem() | ParameterError():
                outcome = "refused"
            case _:
                outcome = "failed"
        self._limiter.ended(outcome, was_large=self.is_large)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(error)
