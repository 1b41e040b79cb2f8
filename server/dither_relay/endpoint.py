"""Serve POST /v1/sealed: from a request to a sealed report that is durably stored, or to a Problem.

What one address sends is limited, and no address is kept: they are counted in a count-min sketch with a fresh key per
window. An address has two cells, and the smaller count is its own or more. So a million addresses take as much memory
as one, and no address can be read back.
"""

import logging
import secrets
import threading
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from wsgiref.types import WSGIEnvironment

from dither_serving.addresses import Proxies, group_of, is_loopback
from dither_serving.committer import Committer
from dither_serving.endpoint import UploadEndpoint
from dither_serving.problems import Answer, Kind, Problem, StoreError
from dither_serving.prometheus import ServerNumbers
from dither_serving.request import read_body
from dither_shared.sealed import SealedReport

from .collector import Pools
from .config import RelayConfig
from .store import Arrival

_log = logging.getLogger(__name__)

_WINDOW = 3600.0
"""Seconds of a window, after which all counts are reset."""

_CELLS = 1 << 21
_MOST = (1 << 16) - 1


class Rates:
    """Counts requests by address. ``limit`` are allowed in a window; ``forget`` is called at its end, too."""

    def __init__(self, limit: int, forget: Callable[[], object] = lambda: None, window: float = _WINDOW) -> None:
        self._limit = min(limit, _MOST)
        self._forget = forget
        self._window = window
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dither-rates", daemon=True)
        self.turn()

    def start(self) -> None:
        """Start the thread that begins the windows."""
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()

    def turn(self) -> None:
        """Begin a window: forget the counts and the key that led to them."""
        self._key = secrets.token_bytes(16)
        self._counts = array("H", bytes(2 * _CELLS))
        self._is_logged = False
        self._forget()

    def admits(self, group: str) -> bool:
        """Count a request of a group of addresses; return whether it may be served."""
        counts = self._counts
        digest = blake2b(group.encode(), digest_size=8, key=self._key).digest()
        cells = [int.from_bytes(digest[:4], "big") % _CELLS, int.from_bytes(digest[4:], "big") % _CELLS]
        if min(counts[cell] for cell in cells) >= self._limit:
            self._log_refusal()
            return False
        for cell in cells:
            counts[cell] = min(counts[cell] + 1, _MOST)
        return True

    def _log_refusal(self) -> None:
        """Log once per window that an address was refused."""
        if not self._is_logged:
            self._is_logged = True
            _log.warning("an address has reached the limit for an hour; if it is a proxy's, name it in proxies")

    def _run(self) -> None:
        while not self._ended.wait(self._window):
            self.turn()


class RelayNumbers(ServerNumbers):
    """The numbers of one process for Prometheus."""

    def __init__(self) -> None:
        super().__init__(answers="dither_relay_answers", to="POST /v1/sealed")
        self._answers.labels("202")  # so that the counter exists, at 0, before the first report
        about = "Sealed reports that were refused, by the end of the problem's type."
        self._refused = self.counter("dither_relay_refused", about, ["reason"])

    def refused(self, reason: str) -> None:
        """Count a refused report, without its pool, because strangers invent names."""
        self._refused.labels(reason).inc()


@dataclass(frozen=True)
class SealedEndpoint(UploadEndpoint):
    """Takes sealed reports. The sender's address is counted for the rate limit, and used for nothing else."""

    config: RelayConfig
    pools: Pools
    committer: Committer[Arrival, None]
    rates: Rates
    proxies: Proxies
    numbers: RelayNumbers
    patience: float = 30.0
    paths: tuple[str, ...] = ("/v1/sealed",)

    def begin(self, environ: WSGIEnvironment, then: Callable[[Answer], object]) -> None:
        """Handle a request; ``then`` is called once with its answer, which is 202 only after a durable commit."""
        try:
            self._limit(environ)
            report = SealedReport.decode(read_body(environ, self.config.body_limit))
            number = self.pools.number(report.pool, len(report.sealed))
            self.config.require_open(report.pool)
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
            raise Problem(Kind.CROWDED, "this address has reached the limit of reports in an hour", int(_WINDOW))

    def _committed(self, outcome: StoreError | None) -> Answer:
        return self.accepted(b'{"accepted": 1}') if outcome is None else self._refused(outcome)

    def _refused(self, error: Exception) -> Answer:
        problem = self.problem_of(error)
        self.refuse(problem)
        return self.counted(problem.answer())
