"""Kinds of bodies: in the clear, one row for the collector itself, or sealed, for a relay to carry.

The bytes of a body show its kind, so the kind is not stored.
"""

from __future__ import annotations

from dither_shared.light import NamedTuple
from dither_shared.wire import Batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dither_shared.metrics.metric import Metric


class Body(NamedTuple):
    """What can be read in a body; ``row`` is empty if it is sealed, because then only the collector can read it."""

    metric: str
    version: str
    stratum: str | None
    row: bytes


class Kind(NamedTuple):
    """A kind of body: what it is in a word, to which path below the endpoint it is posted, and how it is read."""

    word: str
    path: str
    read: Callable[[bytes], Body]
    """Raises WireError for a body that no client wrote."""


def _clear(body: bytes) -> Body:
    batch = Batch.decode(body)
    return Body(batch.metric, batch.version, batch.stratum, batch.reports)


def _sealed(body: bytes) -> Body:
    from dither_shared.sealed import SealedReport  # noqa: PLC0415 - only users of a key pay for it

    return Body(*SealedReport.decode(body).pool, b"")


CLEAR = Kind("in the clear", "/v1/reports", _clear)
SEALED = Kind("sealed", "/v1/sealed", _sealed)


def kind_of(body: bytes) -> Kind:
    """Return the kind of a body, by how it begins."""
    return SEALED if body.startswith(b'{"pool"') else CLEAR


def kind_for(metrics: Iterable[Metric]) -> Kind:
    """Return the kind of body that reports of ``metrics`` are sent as: all are sealed, or none."""
    return CLEAR if all(metric.seal is None for metric in metrics) else SEALED


def read(body: bytes) -> Body:
    """Return what can be read in a body; raise WireError for one that no client wrote."""
    return kind_of(body).read(body)
