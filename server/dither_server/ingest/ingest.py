"""Serve POST /v1/reports: from a request to the number of reports that are counted, or to a Problem.

``Ingest.respond`` is the whole route. Flask calls it, and so does ``IngestLayer``, a few lines of WSGI in front of
Flask, for this is the one path that every device walks and the framework would cost more than the work.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from dither_shared import Batch, Metric, WireError

from ..access.gatekeeper import Gatekeeper, Role
from ..access.origins import NO_ORIGINS, Origins
from ..observability.prometheus import Prometheus
from ..protocol.problems import SAFE_HEADERS, Answer, Kind, Problem, reason
from ..store import Outcome, StoreError, Upload
from ..tally.tally import Tally
from .committer import ClosedError, Committer, QueueFullError, Then
from .refusal_counts import Refused

__all__ = ["PATH", "Ingest", "IngestLayer", "is_length", "read_body"]

PATH = "/v1/reports"

_log = logging.getLogger(__name__)

_SOON = 1
_LATER = 10
"""Seconds after which to come again: when the queue is full, and when the database fails."""

_JSON = ("application/json",)
_OF_PAGES = ("text/plain", *_JSON)
"""The media types of bodies. text/plain is what a page sends without asking first: so only with a listed Origin."""

_LONGEST = 20
"""The number of digits of the largest 64-bit integer."""

_UNCOUNTED = {
    Outcome.CONFLICT: (Kind.BATCH_CONFLICT, "batch: this id was counted with another body; draw a fresh random id"),
    Outcome.DISABLED: (Kind.DISABLED, "metric: disabled here in this version; no more of its reports are counted"),
}


@dataclass(frozen=True)
class Ingest:
    """Takes batches of these metrics: for each name, of every version that was ever registered."""

    metrics: Mapping[str, Mapping[str, Metric]]
    committer: Committer
    gatekeeper: Gatekeeper
    prometheus: Prometheus
    body_limit: int
    rows_limit: int
    origins: Origins = NO_ORIGINS
    patience: float = 30.0

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
        batch: Batch | None = None
        size: int | None = None
        origin = environ.get("HTTP_ORIGIN")
        if headers := self.origins.headers(origin):
            then = _extending(then, headers)
        try:
            types = _OF_PAGES if self.origins.admit(origin) else _JSON
            self.gatekeeper.admit(environ, Role.REPORT)
            body = read_body(environ, self.body_limit, types)
            size = len(body)
            known = batch = _decoded(body)
            metric = self._metric(batch)
            upload = Upload(bytes.fromhex(batch.batch), metric, batch.reports, _place(metric, batch.stratum))
            rows = self._rows(upload)
            self._submit(upload, lambda outcome: then(self._committed(known, size, rows, outcome)))
        except Exception as error:
            then(self._refused(error, batch, size))

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

    def _committed(self, batch: Batch, size: int | None, rows: int, outcome: Outcome | StoreError) -> Answer:
        if isinstance(outcome, StoreError):
            return self._refused(outcome, batch, size)
        if outcome in _UNCOUNTED:
            return self._refused(Problem(*_UNCOUNTED[outcome]), batch, size)
        self.prometheus.acknowledged(batch.metric, rows)
        body = b'{"accepted": %d}' % rows
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body))), *SAFE_HEADERS]
        return self._told((202, headers, body))

    def _refused(self, error: Exception, batch: Batch | None = None, size: int | None = None) -> Answer:
        if isinstance(error, Problem):
            problem = error
        elif isinstance(error, StoreError):
            problem = Problem(Kind.UNAVAILABLE, f"{error.public}; send the same batch again later", _LATER)
        else:
            _log.error("a batch could not be received", exc_info=error)
            problem = Problem(Kind.INTERNAL, "the batch was not counted; the collector's log says why")
        refused = Refused(problem.kind.slug, size=size)
        if batch is not None and batch.metric in self.metrics:
            is_ours = batch.version in self.metrics[batch.metric]
            refused = refused._replace(metric=batch.metric, version=batch.version, is_ours=is_ours)
        self.committer.refused(refused)
        return self._told(problem.answer())

    def _told(self, answer: Answer) -> Answer:
        self.prometheus.answered(answer[0])
        return answer

    def _metric(self, batch: Batch) -> Metric:
        versions = self.metrics.get(batch.metric)
        if versions is None:
            raise Problem(Kind.UNKNOWN_METRIC, "metric: not one of this collector's; GET /v1/metrics lists them")
        if batch.version not in versions:
            raise Problem(Kind.VERSION_CONFLICT, "version: not registered here, and two are never summed")
        return versions[batch.version]

    def _rows(self, upload: Upload) -> int:
        """Return the number of rows; raise unless the committer will be able to count every one."""
        mechanism = upload.metric.mechanism
        if len(upload.rows) > self.rows_limit * mechanism.row_bytes:
            raise Problem(Kind.TOO_LARGE, f"reports: more than {self.rows_limit} rows; send several batches")
        try:
            return Tally.check(mechanism, upload.rows)
        except WireError as error:
            raise Problem(Kind.MALFORMED, str(error)) from None


class IngestLayer:
    """WSGI in front of an app: answers POST /v1/reports itself and passes everything else on."""

    def __init__(self, app: WSGIApplication, ingest: Ingest) -> None:
        self.app = app
        self.ingest = ingest

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        if environ["REQUEST_METHOD"] != "POST" or environ.get("PATH_INFO") != PATH:
            return self.app(environ, start_response)
        status, headers, body = self.ingest.respond(environ)
        start_response(reason(status), headers)
        return [body]


def _extended(answer: Answer, headers: Iterable[tuple[str, str]]) -> Answer:
    """Add headers to an answer, which is fresh and nobody else's, and return it."""
    answer[1].extend(headers)
    return answer


def _extending(then: Callable[[Answer], object], headers: Iterable[tuple[str, str]]) -> Callable[[Answer], object]:
    """Return a callback that adds headers to the answer."""
    return lambda answer: then(_extended(answer, headers))


def read_body(environ: WSGIEnvironment, limit: int, types: Collection[str] = _JSON) -> bytes:
    """Return a request's body of one of these media types, having read at most ``limit`` bytes.

    Raises Problem for any Content-Encoding, another media type, and a length that is missing or too large.
    """
    if environ.get("HTTP_CONTENT_ENCODING"):
        raise Problem(Kind.MEDIA_TYPE, "Content-Encoding: none is taken; send the JSON as it is")
    media_type, _, parameters = environ.get("CONTENT_TYPE", "").partition(";")
    plain = parameters.replace('"', "").replace(" ", "").lower() in {"", "charset=utf-8"}
    if media_type.strip().lower() not in types or not plain:
        raise Problem(Kind.MEDIA_TYPE, f"Content-Type: {' or '.join(types)} is right")
    length = _length(environ)
    if length > limit:
        raise Problem(Kind.TOO_LARGE, f"body: more than {limit} bytes; send several batches")
    body: bytes = environ["wsgi.input"].read(length if length >= 0 else limit + 1)
    if len(body) > limit:
        raise Problem(Kind.TOO_LARGE, f"body: more than {limit} bytes; send several batches")
    if len(body) < length:
        raise Problem(Kind.MALFORMED, "body: ends before its Content-Length")
    return body


def _place(metric: Metric, stratum: str | None) -> int:
    """Return the place of a batch's stratum among those of its metric, 0 if it has none.

    Raises Problem unless the stratum is there where the metric has strata, and is one of these.
    """
    if metric.strata is None:
        if stratum is not None:
            raise Problem(Kind.MALFORMED, "stratum: this version of the metric has none; leave it out")
        return 0
    place = None if stratum is None else metric.strata.index(stratum)
    if place is None:
        wrong = "missing" if stratum is None else "not one of this version of the metric"
        raise Problem(Kind.MALFORMED, f"stratum: {wrong}; there are {', '.join(metric.strata.labels)}")
    return place


def _decoded(body: bytes) -> Batch:
    try:
        return Batch.decode(body)
    except WireError as error:
        raise Problem(Kind.MALFORMED, str(error)) from None


def is_length(text: str) -> bool:
    """Return whether a Content-Length can be one: digits, and no more than a number of 64 bits has.

    Python refuses to read numbers of thousands of digits, so nobody may try.
    """
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST


def _length(environ: WSGIEnvironment) -> int:
    """Return the body's length, or -1 if the server knows where it ends without being told."""
    text = environ.get("CONTENT_LENGTH", "")
    if not text:
        if environ.get("wsgi.input_terminated"):
            return -1
        raise Problem(Kind.LENGTH_REQUIRED, "Content-Length: missing")
    if not is_length(text):
        raise Problem(Kind.MALFORMED, "Content-Length: not a number of bytes")
    return int(text)
