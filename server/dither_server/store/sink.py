"""The interface to the spool: a sink that takes uploads instead of the database, and the package that has one.

The package is imported only if a spool is configured, and by a name in a string: the collector does not depend on it.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from importlib import import_module
from typing import Any, Protocol, cast

from prometheus_client.core import GaugeMetricFamily

from .tallies import Refusal
from .uploads import Upload, UploadOutcome

_PACKAGE = "dither_spool.seam"


class CommitsReports(Protocol):
    """The part of a store, or of a sink, that the committer uses."""

    def commit(self, uploads: Sequence[Upload], day: date, shard: bytes) -> list[UploadOutcome]:
        """Make uploads durable, and return the outcome of each."""

    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None:
        """Add to the counts of refused batches."""


class Sink(CommitsReports, Protocol):
    """Takes uploads as ``Store`` does, for the committer, and keeps them until they are counted."""

    def start(self) -> None:
        """Start the sink's threads, once in each process."""

    def require_writable(self) -> None:
        """Raise StoreError if uploads cannot be taken now."""

    def families(self) -> Iterator[GaugeMetricFamily]:
        """Yield gauges for Prometheus."""

    def close(self) -> None:
        """Finish pending work."""


class SpoolPackage(Protocol):
    """The functions of the package. A config is a ``Config``, a store a ``Store``, a finding that of the doctor."""

    def check(self, config: Any) -> None:
        """Raise ParameterError if there can be no spool where the configuration says."""

    def open_sink(self, config: Any, store: Any) -> Sink:
        """Return the sink of a collector. Raises ParameterError if the spool belongs to another database."""

    def describe(self, config: Any) -> str:
        """Return where the spool is, for the start of a collector."""

    def findings_of_configuration(self, config: Any, database: str | None) -> Iterator[Any]:
        """Yield what ``doctor`` finds about the spool before a start: its owner, and how full it is."""

    def findings(self, config: Any) -> Iterator[Any]:
        """Yield what ``doctor`` finds in the spool."""

    def findings_of_folds(self, config: Any, store: Any) -> Iterator[Any]:
        """Yield what ``doctor`` finds of folds."""


def spool_package() -> SpoolPackage:
    """Import the package that has the spool."""
    return cast("SpoolPackage", import_module(_PACKAGE))
