"""Serve POST /v1/sealed: from a request to a sealed report that is durably held, or to a Problem."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from wsgiref.types import WSGIEnvironment

from dither_serving.body import read_body
from dither_serving.committer import ClosedError, Committer, QueueFullError
from dither_serving.errors import StoreError
from dither_serving.locality import is_loopback
from dither_serving.problems import SAFE_HEADERS, Answer, Kind, Problem
from dither_serving.proxies import Proxies, group_of
from dither_shared import WireError
from dither_shared.sealed import SealedReport

from .pools import Pools
from .prometheus import RelayNumbers
from .rates import WINDOW, Rates
from .store import Arrival

_log = logging.getLogger(__name__)

_SOON, _LATER = 1, 10
"""Seconds after which to come again: when the queue is full, and when the database fails."""

_TAKEN = b'{"accepted": 1}'


@dataclass(frozen=True)
class UploadEndpoint:
    """Takes sealed reports. The address that one comes from is counted, and goes no further."""

    pools: Pools
    committer: Committer[Arrival, None]
    rates: Rates
    proxies: Proxies
    numbers: RelayNumbers
    body_limit: int
    patience: float = 30.0
    paths: tuple[str, ...] = ("/v1/sealed",)

    def respond(self, environ: WSGIEnvironment) -> Answer:
        """Return the answer to a request, having waited for it."""
        answers: SimpleQueue[Answer] = SimpleQueue()
        self.begin(environ, answers.put)
        try:
            return answers.get(timeout=self.patience)
        except Empty:
            return self._counted(Problem(Kind.UNAVAILABLE, "the commit takes too long; send it again", _LATER).answer())

    def begin(self, environ: WSGIEnvironment, then: Callable[[Answer], object]) -> None:
        """Take a request; ``then`` is called once with its answer. It is 202 only after a durable commit."""
        try:
            self._limit(environ)
            report = SealedReport.decode(read_body(environ, self.body_limit))
            number = self.pools.number(report.pool, len(report.sealed))
            arrival = Arrival(number, str(report.pool), report.sealed)
            self.committer.submit(arrival, lambda outcome: then(self._committed(outcome)))
        except Exception as error:
            then(self._refused(error))

    def settled(self, environ: WSGIEnvironment) -> bool:
        """Return True: beginning a request never blocks."""
        return True

    def headers(self, origin: str | None) -> list[tuple[str, str]]:
        """Return nothing: no page of another origin may report here."""
        return []

    def refuse(self, problem: Problem) -> None:
        """Count a request that the server refuses before it is ours to read."""
        self.numbers.refused(problem.kind.slug)

    def _limit(self, environ: WSGIEnvironment) -> None:
        address = environ.get("REMOTE_ADDR") or ""
        header = environ.get("HTTP_X_FORWARDED_FOR")
        if address in self.proxies:
            address = self.proxies.forwarded(header or "")
        elif header is None and is_loopback(address):  # with it, a proxy here that nobody named is one address
            return
        if not self.rates.admits(group_of(address)):
            raise Problem(Kind.CROWDED, "this address has reached the limit of reports in an hour", int(WINDOW))

    def _committed(self, outcome: StoreError | None) -> Answer:
        if isinstance(outcome, StoreError):
            return self._refused(outcome)
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(_TAKEN))), *SAFE_HEADERS]
        return self._counted((202, headers, _TAKEN))

    def _refused(self, error: Exception) -> Answer:
        problem = _problem(error)
        if problem.kind is Kind.INTERNAL:
            _log.error("a report could not be received", exc_info=error)
        self.refuse(problem)
        return self._counted(problem.answer())

    def _counted(self, answer: Answer) -> Answer:
        self.numbers.answered(answer[0])
        return answer


def _problem(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case WireError():
            return Problem(Kind.MALFORMED, str(error))
        case QueueFullError():
            return Problem(Kind.OVERLOADED, "the queue is full; the report was not taken", _SOON)
        case StoreError() | ClosedError():
            return Problem(Kind.UNAVAILABLE, "the report was not taken; send it again later", _LATER)
        case _:
            return Problem(Kind.INTERNAL, "the report was not taken; the relay's log says why")
