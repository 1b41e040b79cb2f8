"""Limit analyses: a few large ones at a time, small ones overtake them, and none runs for a peer that has left.

Reports come first. All threads of a process share Python's interpreter, so one small and one large analysis compute at
a time, however many are requested. An analysis is small until the answers that it has to compute cost more than
``_SMALL``; then it takes one of a few slots, which it keeps until its answer is sent. Cached answers cost nothing.

A cost is predicted before the answer is computed, in values shown: writing one takes about 15 microseconds. A value
that is computed but not shown costs about a sixteenth of that. The numbers were measured. They need to be right only to
a factor of two or three, because they distinguish thousands of values from millions.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self
from wsgiref.types import WSGIEnvironment

from dither_serving.problems import Kind, Problem
from dither_serving.request import PEER_GONE
from dither_shared import DitherError, Metric, ParameterError
from dither_shared.counted import counted

from ..prometheus import Prometheus
from ..store import History
from .summaries import summary_of

_WAITRESS_PEER_GONE = "waitress.client_disconnected"
"""Waitress's key of such a callable, which is set if its ``channel_request_lookahead`` is above 0."""

_SOON = 2
"""Seconds until a retry if all slots are taken."""

_SMALL = 10_000
"""Cost up to which an analysis is small: about 0.15 seconds of computing."""

_LONGEST = 120.0
"""Maximum seconds to wait for the step of another analysis; a longer step counts as failed."""

_PIECE = 1 << 16
"""Minimum bytes that are sent at once, unless the answer ends."""


class PeerGoneError(DitherError, ConnectionError):
    """The peer has hung up, so nobody waits for the answer. In the middle of one, the server aborts the connection."""


def peer_gone_check(environ: WSGIEnvironment) -> Callable[[], bool]:
    """Return a function that says whether a request's peer has hung up; always False if the server cannot tell."""
    gone: Callable[[], bool] = environ.get(PEER_GONE) or environ.get(_WAITRESS_PEER_GONE) or _never
    return gone


def _never() -> bool:
    return False


class AnalysisLimiter:
    """The analyses of one process: ``slots`` large ones, and as many that wait ``patience`` seconds for a slot."""

    def __init__(self, slots: int, prometheus: Prometheus, patience: float = 1.0) -> None:
        self.small, self.large = threading.Lock(), threading.Lock()
        self._slots = threading.BoundedSemaphore(slots)
        self._waiting = threading.BoundedSemaphore(slots)
        self._patience = patience
        self._prometheus = prometheus
        self._current = threading.local()

    def begin(self, gone: Callable[[], bool]) -> "Analysis":
        """Begin an analysis, which lasts until ``Analysis.end``; ``gone`` says whether the peer has hung up."""
        return Analysis(self, gone)

    def demand(self, cost: int) -> None:
        """Add a cost to the analysis that runs in this thread, before it computes, and let others compute.

        An analysis that becomes large by this waits for a slot. Raises Problem if none is free in time, and
        PeerGoneError if the peer has hung up.
        """
        analysis: Analysis | None = getattr(self._current, "analysis", None)
        if analysis is not None:
            analysis.demand(cost)

    def acquire(self) -> None:
        """Take a slot; raise Problem if none is free in time. Few may wait, because each waiting one holds a thread."""
        if self._slots.acquire(blocking=False):
            return
        if self._waiting.acquire(blocking=False):
            try:
                if self._slots.acquire(timeout=self._patience):
                    return
            finally:
                self._waiting.release()
        raise Problem(Kind.BUSY, "the maximum number of large analyses is running; try again soon", _SOON)

    @contextmanager
    def running(self, analysis: "Analysis") -> Iterator[None]:
        """Set the analysis to which ``demand`` in this thread applies, while the context lasts."""
        self._current.analysis = analysis
        try:
            yield
        finally:
            self._current.analysis = None

    def ended(self, outcome: str, *, was_large: bool) -> None:
        """Count how an analysis ended, and free its slot if it had one."""
        self._prometheus.analysis(outcome)
        if was_large:
            self._slots.release()


class Analysis:
    """One analysis, which lets others compute before each of its parts, and ends soon after its peer has hung up."""

    def __init__(self, limiter: AnalysisLimiter, gone: Callable[[], bool]) -> None:
        self._limiter = limiter
        self._gone = gone
        self._cost = 0
        self._computing = limiter.small
        self._computes = False
        self._ended = False

    @property
    def is_large(self) -> bool:
        """Whether the analysis has a slot."""
        return self._computing is self._limiter.large

    def demand(self, cost: int) -> None:
        """Add to the cost, and wait for a turn; an analysis that becomes large by this waits for a slot first."""
        self._cost += cost
        self._leave()
        if self._cost > _SMALL and not self.is_large:
            self._limiter.acquire()
            self._computing = self._limiter.large
        self._enter()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Compute while no other of this size does. Raises PeerGoneError if the peer has hung up."""
        try:
            self._enter()
            with self._limiter.running(self):
                yield
        finally:
            self._leave()

    def _enter(self) -> None:
        self._computes = self._computing.acquire(timeout=_LONGEST)
        if not self._computes:
            raise Problem(Kind.BUSY, "another analysis takes too long; try again soon", _SOON)
        if self._gone():
            raise PeerGoneError("the peer has hung up")

    def _leave(self) -> None:
        if self._computes:
            self._computes = False
            self._computing.release()

    def pieces(self, make: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
        """Yield what ``make`` yields, in larger pieces, and compute only while a piece is made."""
        with self.computing():
            made = make()
        ready: list[bytes] = []
        size = 0
        while True:
            with self.computing():
                piece = next(made, None)
            if piece is not None:
                ready.append(piece)
                size += len(piece)
            if ready and (piece is None or size >= _PIECE):
                yield b"".join(ready)
                ready, size = [], 0
            if piece is None:
                return

    def end(self, error: BaseException | None = None) -> None:
        """Free the slot and count how the analysis ended; at the second call do nothing."""
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


_BLOCKS, _CELLS = 4, 12_000
"""Stored blocks, and cells of a stored chunk, that are read in the time that showing one value takes."""

_CHUNK = 65_536
"""Maximum cells of a chunk."""


def effort(metric: Metric) -> int:
    """Return the cost of one step of an answer, such as a day or a week, without the values that it shows."""
    return summary_of(metric).effort(metric)


def reading(metric: Metric, history: History) -> int:
    """Return the cost of reading the tallies of a metric version on the days of a history, each once."""
    cells = min(_CHUNK, metric.mechanism.cohorts * metric.mechanism.cells)
    return history.blocks // _BLOCKS + history.chunks * cells // _CELLS


def require_affordable(
    limit: int | None, metric: Metric, steps: int, shown: int, extra_rows: int = 0, reading: int = 0
) -> int:
    """Return the cost of an answer with this many ``steps`` (days or weeks), each of which shows ``shown`` values.

    Raises Problem if it is above ``limit``.

    ``extra_rows`` are those of each step in addition to its values (``Summary.extra_rows``), and ``reading`` is the
    cost of reading the tallies of all steps.
    """
    fixed = effort(metric) + extra_rows
    cost = steps * (fixed + shown) + reading
    if limit is None or cost <= limit:
        return cost
    hint = "ask for fewer days, step=week for a trend, values= or top=50" if steps > 1 else "ask for top=50 or values="
    if steps * fixed + reading > limit:
        hint = "ask for fewer days, or step=week for a trend" if steps > 1 else summary_of(metric).cheaper
    size = f"{counted(shown, 'value')} in {counted(steps, 'step')} cost {cost:,}"
    raise Problem(Kind.TOO_COSTLY, f"{size}, and estimates_limit is {limit:,}; {hint}")
