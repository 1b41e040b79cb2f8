"""Run analyses beside ingest: so many at a time, one of them computing, and none for a peer that is gone.

Reports come first. All threads of a process share Python's interpreter, so an analysis computes in short steps, and
takes a turn for each: analyses never compete with ingest by more than one thread, and a short one waits for a step of a
long one, not for its end. An answer that is sent slowly keeps its place among the analyses, and no turn.
"""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TypeVar, cast
from wsgiref.types import WSGIEnvironment

from dither_shared import DitherError, ParameterError

from ..observability.prometheus import Prometheus
from ..protocol.problems import Kind, Problem

__all__ = ["PEER_GONE", "Analyses", "PeerGoneError", "Turns", "Work", "tells_gone"]

T = TypeVar("T")

PEER_GONE = "dither.peer_gone"
"""The key of a callable in our server's WSGI environment: it says whether the peer has hung up."""

_OF_OTHERS = "waitress.client_disconnected"
"""The same of waitress, which tells where its ``channel_request_lookahead`` is above 0."""

_SOON = 2
"""Seconds after which to come again when all places are taken."""

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


class Analyses:
    """The analyses of one process: ``places`` at a time, and as many that wait ``patience`` seconds for a place."""

    def __init__(self, places: int, prometheus: Prometheus, patience: float = 1.0) -> None:
        self._places = threading.BoundedSemaphore(places)
        self._lobby = threading.BoundedSemaphore(places)
        self._patience = patience
        self._prometheus = prometheus
        self._turns = Turns()

    def begin(self, gone: Callable[[], bool]) -> "Work":
        """Take a place, until ``Work.end``; ``gone`` says whether the peer has hung up.

        Raises Problem if no place is free in time.
        """
        if not self._places.acquire(blocking=False) and not self._waited():
            self._prometheus.analysis("busy")
            raise Problem(Kind.BUSY, "as many analyses run as may; come again soon", _SOON)
        return Work(self._turns, gone, self._end)

    def _waited(self) -> bool:
        """Return whether a place came free; too many who wait would take every thread."""
        if not self._lobby.acquire(blocking=False):
            return False
        try:
            return self._places.acquire(timeout=self._patience)
        finally:
            self._lobby.release()

    def _end(self, outcome: str) -> None:
        self._prometheus.analysis(outcome)
        self._places.release()


class Work:
    """One analysis that has its place."""

    def __init__(self, turns: Turns, gone: Callable[[], bool], end: Callable[[str], None]) -> None:
        self._turns = turns
        self._gone = gone
        self._end = end
        self._ended = False

    @contextmanager
    def step(self) -> Iterator[None]:
        """Compute for a short time, when it is our turn. Raises PeerGoneError if nobody waits for it any more."""
        if not self._turns.acquire(_LONGEST):
            raise Problem(Kind.BUSY, "another analysis takes too long; come again soon", _SOON)
        try:
            if self._gone():
                raise PeerGoneError("the peer has hung up")
            yield
        finally:
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
        """Give the place back and count how it went; at the second call do nothing."""
        if self._ended:
            return
        self._ended = True
        if isinstance(error, PeerGoneError | GeneratorExit):
            self._end("abandoned")
        elif isinstance(error, Problem | ParameterError):
            self._end("refused")
        else:
            self._end("answered" if error is None else "failed")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(error)
