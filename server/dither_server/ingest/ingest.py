"""Serve what brings reports, POST /v1/reports and POST /v1/sealed: from a request to a commit, or to a Problem.

There are two doors: ``run`` answers small reports in its event loop, by ``Ingest.begin``, and the Flask routes answer
all others, by ``Ingest.respond``, which waits for the answer of ``begin``. It admits the caller, so the routes do not.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any
from wsgiref.types import WSGIEnvironment

from dither_serving.body import JSON, OF_PAGES, read_body
from dither_serving.committer import ClosedError, QueueFullError
from dither_serving.problems import SAFE_HEADERS, Answer, Kind, Problem
from dither_shared import Metric, WireError

from ..access.gatekeeper import Gatekeeper, Role
from ..access.origins import NO_ORIGINS, Origins
from ..prometheus import Prometheus
from ..store import Outcome, StoreError, Upload
from .committer import Committer, Then
from .posts import PATH, Sent, UploadFormat
from .refusal_counts import Refused
from .sealed.posts import PATH as SEALED

_log = logging.getLogger(__name__)

_SOON = 1
_LATER = 10
"""Seconds after which to come again: when the queue is full, and when the database fails."""

_DISABLED = "metric: this version is disabled here; its reports are no longer counted"
_NOTHING = Problem(Kind.SEALED, "sealed: no report can be opened here; the keys that they were sealed for are missing")


@dataclass(frozen=True)
class Ingest:
    """Takes one kind of post about these metrics: for each name, every version that was ever registered."""

    metrics: Mapping[str, Mapping[str, Metric]]
    posts: UploadFormat[Any, Any]
    committer: Committer
    gatekeeper: Gatekeeper
    prometheus: Prometheus
    body_limit: int
    origins: Origins = NO_ORIGINS
    patience: float = 30.0
    paths: tuple[str, ...] = (PATH, SEALED)

    @property
    def numbers(self) -> Prometheus:
        """The counter of requests refused before they were read completely."""
        return self.prometheus

    def respond(self, environ: WSGIEnvironment) -> Answer:
        """Return the answer to a request, having waited for it."""
        answers: SimpleQueue[Answer] = SimpleQueue()
        self.begin(environ, answers.put)
        try:
            return answers.get(timeout=self.patience)
        except Empty:
            late = Problem(Kind.UNAVAILABLE, "the commit takes too long; send the same batch again", _LATER)
            return _extended(self._told(late.answer()), self.origins.headers(environ.get("HTTP_ORIGIN")))

    def begin(self, environ: WSGIEnvironment, then: Callable[[Answer], object]) -> None:
        """Take a request; ``then`` is called once with its answer, now or by the thread that has committed.

        The answer is 202 only after the reports are durably counted.
        """
        sent: Sent | None = None
        size: int | None = None
        origin = environ.get("HTTP_ORIGIN")
        if headers := self.origins.headers(origin):
            then = _extending(then, headers)
        try:
            types = OF_PAGES if self.origins.admit(origin) else JSON
            self.gatekeeper.admit(environ, Role.REPORT)
            body = read_body(environ, self.body_limit, types)
            size = len(body)
            with self.posts.place(environ) as place:
                known = sent = self.posts.read(body, place)
                upload = self.posts.upload(sent, self._metric(sent))
            self._submit(upload, lambda outcome: then(self._committed(known, size, upload, outcome)))
        except Exception as error:
            then(self._refused(error, sent, size))

    def settled(self, environ: WSGIEnvironment) -> bool:
        """Return whether to begin with a request waits for nothing; a token may have to be looked up."""
        token = environ.get("HTTP_AUTHORIZATION")
        return token is None or self.gatekeeper.settled(token)

    def headers(self, origin: str | None) -> list[tuple[str, str]]:
        """Return the headers of every answer to a page of this origin."""
        return list(self.origins.headers(origin))

    def refuse(self, problem: Problem) -> None:
        """Count a request that the server refuses before it is ours to read."""
        self._refused(problem)

    def _submit(self, upload: Upload, then: Then) -> None:
        try:
            self.committer.submit(upload, then)
        except QueueFullError:
            raise Problem(Kind.OVERLOADED, "the queue is full; the batch was not taken", _SOON) from None
        except ClosedError as error:
            raise StoreError(str(error)) from None

    def _committed(self, sent: Sent, size: int | None, upload: Upload, outcome: Outcome | StoreError) -> Answer:
        if isinstance(outcome, StoreError):
            return self._refused(outcome, sent, size)
        if outcome is Outcome.DISABLED:
            return self._refused(Problem(Kind.DISABLED, _DISABLED), sent, size)
        self.posts.settled(upload)
        if upload.refused:
            self._count(Kind.SEALED, sent, size, upload.refused)
        if outcome is Outcome.EMPTY:
            return self._told(_NOTHING.answer())
        self.prometheus.acknowledged(sent.metric, upload.reports)
        body = self.posts.acknowledgement(upload)
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body))), *SAFE_HEADERS]
        return self._told((202, headers, body))

    def _refused(self, error: Exception, sent: Sent | None = None, size: int | None = None) -> Answer:
        if isinstance(error, Problem):
            problem = error
        elif isinstance(error, WireError):
            problem = Problem(Kind.MALFORMED, str(error))
        elif isinstance(error, StoreError):
            problem = Problem(Kind.UNAVAILABLE, f"{error.public}; send the same batch again later", _LATER)
        else:
            _log.error("a batch could not be received", exc_info=error)
            problem = Problem(Kind.INTERNAL, "the batch was not counted; the collector's log says why")
        self._count(problem.kind, sent, size)
        return self._told(problem.answer())

    def _count(self, kind: Kind, sent: Sent | None, size: int | None, count: int = 1) -> None:
        """Count a refused post, or ``count`` refused reports of one."""
        refused = Refused(kind.slug, size=size, times=count)
        if sent is not None and sent.metric in self.metrics:
            is_ours = sent.version in self.metrics[sent.metric]
            refused = refused._replace(metric=sent.metric, version=sent.version, is_ours=is_ours)
        self.prometheus.refused(kind.slug, refused.metric, refused.version if refused.is_ours else "", count)
        self.committer.refused(refused)

    def _told(self, answer: Answer) -> Answer:
        self.prometheus.answered(answer[0])
        return answer

    def _metric(self, sent: Sent) -> Metric:
        versions = self.metrics.get(sent.metric)
        if versions is None:
            raise Problem(Kind.UNKNOWN_METRIC, "metric: unknown to this collector; GET /v1/metrics lists its metrics")
        if sent.version not in versions:
            raise Problem(Kind.VERSION_CONFLICT, "version: not registered here, and versions are never summed")
        return versions[sent.version]


def _extended(answer: Answer, headers: Iterable[tuple[str, str]]) -> Answer:
    """Add headers to an answer, which is fresh and nobody else's, and return it."""
    answer[1].extend(headers)
    return answer


def _extending(then: Callable[[Answer], object], headers: Iterable[tuple[str, str]]) -> Callable[[Answer], object]:
    """Return a callback that adds headers to the answer."""
    return lambda answer: then(_extended(answer, headers))
