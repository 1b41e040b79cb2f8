"""What may be posted: kinds of bodies that bring reports, each read in its own way and then counted in the same."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, Protocol, TypeVar
from wsgiref.types import WSGIEnvironment

from dither_serving.problems import Kind, Problem
from dither_shared import Batch, Metric, WireError
from dither_shared.counted import counted

from ..store import Upload
from ..tally.tally import Tally

__all__ = ["PATH", "Plain", "Posts", "Sent", "place_of"]

PATH = "/v1/reports"

_ENOUGH = nullcontext()


class Sent(Protocol):
    """A body that could be read."""

    @property
    def metric(self) -> str:
        """The name of the metric that it is about."""

    @property
    def version(self) -> str:
        """The version of that."""


S = TypeVar("S", bound=Sent)
P = TypeVar("P")


class Posts(ABC, Generic[S, P]):
    """A kind of body that is posted to ``path``, and that may need a place among those in work."""

    path: str

    @abstractmethod
    def place(self, environ: WSGIEnvironment) -> AbstractContextManager[P]:
        """Take a place for a request's body until the upload is made; raise Problem if there is none."""

    @abstractmethod
    def read(self, body: bytes, place: P) -> S:
        """Read a body; raise WireError unless it is of this kind."""

    @abstractmethod
    def upload(self, sent: S, metric: Metric) -> Upload:
        """Return what is to be counted, every row of which can be; raise WireError or Problem if there is no such."""

    def settled(self, upload: Upload) -> None:
        """Be told that an upload was counted, or had nothing to count."""

    def acknowledgement(self, upload: Upload) -> bytes:
        """Return the body of the answer to one that was counted."""
        return b'{"accepted": %d}' % upload.reports


class Plain(Posts[Batch, None]):
    """A batch of at most so many rows, as devices post it."""

    path = PATH

    def __init__(self, rows_limit: int) -> None:
        self._limit = rows_limit

    def place(self, environ: WSGIEnvironment) -> AbstractContextManager[None]:
        """Return a place, of which there are enough: a plain body is read at once."""
        return _ENOUGH

    def read(self, body: bytes, place: None) -> Batch:
        """Read a batch."""
        return Batch.decode(body)

    def upload(self, sent: Batch, metric: Metric) -> Upload:
        """Return its rows; raise WireError or Problem unless a device could have sent every one."""
        place = place_of(metric, sent.stratum)
        if len(sent.reports) > self._limit * metric.mechanism.row_bytes:
            raise Problem(Kind.TOO_LARGE, f"reports: more than {counted(self._limit, 'row')}; send several batches")
        Tally.check(metric.mechanism, sent.reports)
        return Upload(bytes.fromhex(sent.batch), metric, sent.reports, place)


def place_of(metric: Metric, stratum: str | None) -> int:
    """Return the place of the stratum of reports among those of their metric, 0 if it has none.

    Raises WireError unless the stratum is there where the metric has strata, and is one of these.
    """
    if metric.strata is None:
        if stratum is not None:
            raise WireError("stratum: this version of the metric has none; leave it out")
        return 0
    place = None if stratum is None else metric.strata.index(stratum)
    if place is None:
        wrong = "missing" if stratum is None else "not one of this version of the metric"
        raise WireError(f"stratum: {wrong}; there are {', '.join(metric.strata.labels)}")
    return place
