"""Serve POST /v1/reports and POST /v1/sealed: from a request to a commit, or to a Problem.

There are two doors: ``run`` answers small reports in its event loop, by ``Ingest.begin``, and the Flask routes answer
all others, by ``Ingest.respond``, which waits for the answer of ``begin``. It admits the caller, so the routes do not.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from wsgiref.types import WSGIEnvironment

from dither_serving.endpoint import UploadEndpoint
from dither_serving.problems import Answer, Kind, Problem
from dither_serving.request import JSON, OF_PAGES, read_body
from dither_shared import Metric

from ..access.gatekeeper import Gatekeeper, Role
from ..access.origins import NO_ORIGINS, Origins
from ..prometheus import Prometheus
from ..store import StoreError, Upload, UploadOutcome
from .committer import ReportCommitter
from .posts import PATH, Sent, UploadFormat
from .sealed.posts import PATH as SEALED

_DISABLED = "metric: this version is disabled here; its reports are no longer counted"
_NOTHING = Problem(Kind.SEALED, "sealed: no report can be opened here; the keys that they were sealed for are missing")


@dataclass(frozen=True)
class Ingest(UploadEndpoint):
    """Takes one format of uploads for these metrics: for each name, every version that was ever registered."""

    metrics: Mapping[str, Mapping[str, Metric]]
    posts: UploadFormat[Any, Any]
    committer: ReportCommitter
    gatekeeper: Gatekeeper
    numbers: Prometheus
    body_limit: int
    origins: Origins = NO_ORIGINS
    patience: float = 30.0
    paths: tuple[str, ...] = (PATH, SEALED)
    noun = "batch"

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
            self.committer.submit(upload, lambda outcome: then(self._committed(known, size, upload, outcome)))
        except Exception as error:
            then(self._refused(error, sent, size))

    def settled(self, environ: WSGIEnvironment) -> bool:
        """Return whether ``begin`` can start without waiting; a token may have to be looked up."""
        token = environ.get("HTTP_AUTHORIZATION")
        return token is None or self.gatekeeper.settled(token)

    def headers(self, origin: str | None) -> list[tuple[str, str]]:
        """Return the headers of every answer to a page of this origin."""
        return list(self.origins.headers(origin))

    def refuse(self, problem: Problem) -> None:
        """Count a request that the server refused before it was read here."""
        self._refused(problem)

    def _committed(self, sent: Sent, size: int | None, upload: Upload, outcome: UploadOutcome | StoreError) -> Answer:
        if isinstance(outcome, StoreError):
            return self._refused(outcome, sent, size)
        if outcome is UploadOutcome.DISABLED:
            return self._refused(Problem(Kind.DISABLED, _DISABLED), sent, size)
        self.posts.settled(upload)
        if upload.refused:
            self._count(Kind.SEALED, sent, size, upload.refused)
        if outcome is UploadOutcome.EMPTY:
            return self.counted(_NOTHING.answer())
        self.numbers.acknowledged(sent.metric, upload.reports)
        return self.accepted(self.posts.acknowledgement(upload))

    def _refused(self, error: Exception, sent: Sent | None = None, size: int | None = None) -> Answer:
        problem = self.problem_of(error)
        self._count(problem.kind, sent, size)
        return self.counted(problem.answer())

    def _count(self, kind: Kind, sent: Sent | None, size: int | None, count: int = 1) -> None:
        """Count a refused upload, or ``count`` refused reports of one."""
        metric = version = ""
        is_ours = False
        if sent is not None and sent.metric in self.metrics:
            metric, version = sent.metric, sent.version
            is_ours = version in self.metrics[metric]
        self.numbers.refused(kind.slug, metric, version if is_ours else "", count)
        self.committer.refusals.add(kind.slug, metric, version, is_ours=is_ours, size=size, times=count)

    def _metric(self, sent: Sent) -> Metric:
        versions = self.metrics.get(sent.metric)
        if versions is None:
            raise Problem(Kind.UNKNOWN_METRIC, "metric: unknown to this collector; GET /v1/metrics lists its metrics")
        if sent.version not in versions:
            raise Problem(Kind.VERSION_CONFLICT, "version: not registered here, and versions are never summed")
        return versions[sent.version]


def _extending(then: Callable[[Answer], object], more: Iterable[tuple[str, str]]) -> Callable[[Answer], object]:
    """Return a callback that adds headers to the answer."""

    def extended(answer: Answer) -> None:
        status, headers, body = answer
        then((status, [*headers, *more], body))

    return extended
