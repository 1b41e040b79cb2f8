"""Formats of uploads: each is read in its own way, and all are counted in the same way."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, Protocol, TypeVar
from wsgiref.types import WSGIEnvironment

from dither_serving.problems import Kind, Problem
from dither_shared import Batch, Metric, WireError
from dither_shared.counted import counted

from ..store import Upload
from ..tally.tally import Tally

PATH = "/v1/reports"

_ENOUGH = nullcontext()


class Sent(Protocol):
    """A body that could be parsed."""

    @property
    def metric(self) -> str:
        """The name of the metric."""

    @property
    def version(self) -> str:
        """The version of the metric."""


S = TypeVar("S", bound=Sent)
P = TypeVar("P")


class UploadFormat(ABC, Generic[S, P]):
    """A format of bodies posted to ``path``. A body may need a slot while it is read."""

    path: str

    @abstractmethod
    def place(self, environ: WSGIEnvironment) -> AbstractContextManager[P]:
        """Acquire a slot for a request's body until the upload is made; raise Problem if none is free."""

    @abstractmethod
    def read(self, body: bytes, place: P) -> S:
        """Read a body; raise WireError unless it has this format."""

    @abstractmethod
    def upload(self, sent: S, metric: Metric) -> Upload:
        """Return the upload of valid rows; raise WireError or Problem if there is none."""

    def settled(self, upload: Upload) -> None:
        """Note that an upload was counted, or that there was nothing to count."""

    def acknowledgement(self, upload: Upload) -> bytes:
        """Return the body of the answer to an upload that was counted."""
        return b'{"accepted": %d}' % upload.reports


class PlainUpload(UploadFormat[Batch, None]):
    """A batch of at most ``rows_limit`` rows, as devices post it."""

    path = PATH

    def __init__(self, rows_limit: int) -> None:
        self._limit = rows_limit

    def place(self, environ: WSGIEnvironment) -> AbstractContextManager[None]:
        """Return a slot that is always free, because a plain body is read at once."""
        return _ENOUGH

    def read(self, body: bytes, place: None) -> Batch:
        """Read a batch."""
        return Batch.decode(body)

    def upload(self, sent: Batch, metric: Metric) -> Upload:
        """Return the upload of its rows; raise WireError or Problem unless a device could have sent every one."""
        place = place_of(metric, sent.stratum)
        if len(sent.reports) > self._limit * metric.mechanism.row_bytes:
            raise Problem(Kind.TOO_LARGE, f"reports: more than {counted(self._limit, 'row')}; send several batches")
        Tally.check(metric.mechanism, sent.reports)
        return Upload(bytes.fromhex(sent.batch), metric, sent.reports, place)


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
