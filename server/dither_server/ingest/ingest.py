"""Serve POST /v1/reports and POST /v1/sealed: from a request to a commit, or to a Problem.

There are two doors: ``run`` answers small reports in its event loop, by ``Ingest.begin``, and the Flask routes answer
all others, by ``Ingest.respond``, which waits for the answer of ``begin``. It admits the caller, so the routes do not.

Each format of uploads is read in its own way, and all are counted in the same way.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from dither_serving.endpoint import UploadEndpoint
from dither_serving.problems import Answer, Kind, Problem
from dither_serving.request import JSON, OF_PAGES, read_body
from dither_shared import Batch, Metric, WireError
from dither_shared.counted import counted

from ..access.gatekeeper import Gatekeeper
from ..access.origins import NO_ORIGINS, Origins
from ..access.tokens import Role
from ..prometheus import Prometheus
from ..store import StoreError, Upload, UploadOutcome
from ..tally.tally import Tally
from .committer import ReportCommitter

PATH, SEALED_PATH = "/v1/reports", "/v1/sealed"


class Sent(NamedTuple):
    """A body that could be parsed: the name and version of its metric.

    ``upload`` returns the upload of its rows, given the metric; it raises WireError or Problem if there is none.
    """

    metric: str
    version: str
    upload: Callable[[Metric], Upload]


class UploadFormat(ABC):
    """A format of bodies posted to ``path``."""

    path: str

    @abstractmethod
    def reading(self, environ: WSGIEnvironment, body: bytes) -> AbstractContextManager[Sent]:
        """Read a request's body, and hold the slot that this needs, if any, until the upload is made.

        Raises Problem if no slot is free, WireError unless the body has this format.
        """

    def settled(self, upload: Upload) -> None:  # noqa: B027 - most formats note nothing
        """Note that an upload was counted, or that there was nothing to count."""

    def acknowledgement(self, upload: Upload) -> bytes:
        """Return the body of the answer to an upload that was counted."""
        return b'{"accepted": %d}' % upload.reports


class PlainUpload(UploadFormat):
    """A batch of at most ``rows_limit`` rows, as devices post it."""

    path = PATH

    def __init__(self, rows_limit: int) -> None:
        self._limit = rows_limit

    def reading(self, environ: WSGIEnvironment, body: bytes) -> AbstractContextManager[Sent]:
        """Read a batch; it needs no slot, because it is read at once."""
        batch = Batch.decode(body)
        return nullcontext(Sent(batch.metric, batch.version, partial(self._upload, batch)))

    def _upload(self, batch: Batch, metric: Metric) -> Upload:
        """Return the upload of its rows; raise WireError or Problem unless a device could have sent every one."""
        place = place_of(metric, batch.stratum)
        if len(batch.reports) > self._limit * metric.mechanism.row_bytes:
            raise Problem(Kind.TOO_LARGE, f"reports: more than {counted(self._limit, 'row')}; send several batches")
        Tally.check(metric.mechanism, batch.reports)
        return Upload(bytes.fromhex(batch.batch), metric, batch.reports, place)


def place_of(metric: Metric, stratum: str | None) -> int:
    """Return the index of the reports' stratum among those of their metric, 0 if it has none.

    Raises WireError unless a stratum is given exactly if the metric has strata, and is one of them.
    """
    if metric.strata is None:
        if stratum is not None:
            raise WireError("stratum: this version of the metric has none; leave it out")
        return 0
    place = None if stratum is None else metric.strata.index(stratum)
    if place is None:
        wrong = "missing" if stratum is None else "not one of this version of the metric"
        raise WireError(f"stratum: {wrong}; known: {', '.join(metric.strata.labels)}")
    return place


_DISABLED = "metric: this version is disabled here; its reports are no longer counted"
_NOTHING = Problem(Kind.SEALED, "sealed: no report can be opened here; the keys that they were sealed for are missing")


@dataclass(frozen=True)
class Ingest(UploadEndpoint):
    """Takes one format of uploads for these metrics: for each name, every version that was ever registered."""

    metrics: Mapping[str, Mapping[str, Metric]]
    posts: UploadFormat
    committer: ReportCommitter
    gatekeeper: Gatekeeper
    numbers: Prometheus
    body_limit: int
    origins: Origins = NO_ORIGINS
    patience: float = 30.0
    paths: tuple[str, ...] = (PATH, SEALED_PATH)
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
            with self.posts.reading(environ, body) as known:
                sent = known
                upload = known.upload(self._metric(known))
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
