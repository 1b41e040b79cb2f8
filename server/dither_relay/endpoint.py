"""Serve POST /v1/sealed: from a request to a sealed report that is durably stored, or to a Problem."""

from collections.abc import Callable
from dataclasses import dataclass
from wsgiref.types import WSGIEnvironment

from dither_serving.addresses import Proxies, group_of, is_loopback
from dither_serving.committer import Committer
from dither_serving.endpoint import UploadEndpoint
from dither_serving.problems import Answer, Kind, Problem, StoreError
from dither_serving.request import read_body
from dither_shared.sealed import SealedReport

from .calendar import Calendar
from .listed_pools import Pools
from .prometheus import RelayNumbers
from .rates import WINDOW, Rates
from .store import Arrival


@dataclass(frozen=True)
class SealedEndpoint(UploadEndpoint):
    """Takes sealed reports. The sender's address is counted for the rate limit, and used for nothing else."""

    pools: Pools
    calendar: Calendar
    committer: Committer[Arrival, None]
    rates: Rates
    proxies: Proxies
    numbers: RelayNumbers
    body_limit: int
    patience: float = 30.0
    paths: tuple[str, ...] = ("/v1/sealed",)

    def begin(self, environ: WSGIEnvironment, then: Callable[[Answer], object]) -> None:
        """Handle a request; ``then`` is called once with its answer, which is 202 only after a durable commit."""
        try:
            self._limit(environ)
            report = SealedReport.decode(read_body(environ, self.body_limit))
            number = self.pools.number(report.pool, len(report.sealed))
            self.calendar.require_open(report.pool)
            arrival = Arrival(number, report.pool, report.sealed)
            self.committer.submit(arrival, lambda outcome: then(self._committed(outcome)))
        except Exception as error:
            then(self._refused(error))

    def refuse(self, problem: Problem) -> None:
        """Count a refused request by its kind of problem."""
        self.numbers.refused(problem.kind.slug)

    def _limit(self, environ: WSGIEnvironment) -> None:
        address = environ.get("REMOTE_ADDR") or ""
        header = environ.get("HTTP_X_FORWARDED_FOR")
        if address in self.proxies:
            address = self.proxies.forwarded(header or "")
        # with it, a proxy here that is not configured would count as one address
        elif header is None and is_loopback(address):
            return
        if not self.rates.admits(group_of(address)):
            raise Problem(Kind.CROWDED, "this address has reached the limit of reports in an hour", int(WINDOW))

    def _committed(self, outcome: StoreError | None) -> Answer:
        return self.accepted(b'{"accepted": 1}') if outcome is None else self._refused(outcome)

    def _refused(self, error: Exception) -> Answer:
        problem = self.problem_of(error)
        self.refuse(problem)
        return self.counted(problem.answer())
