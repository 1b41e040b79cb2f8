"""A Dask cluster of this machine, for a test."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["cluster_of"]


@contextmanager
def cluster_of(count: int) -> Iterator[Any]:
    """Yield a cluster of ``count`` workers, each a process of one thread."""
    from distributed import LocalCluster  # noqa: PLC0415  # a second, for a handful of tests

    # Port 0, because each scheduler serves HTTP and warns if another has the usual port.
    ports = {"scheduler_port": 0, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=count, threads_per_worker=1, host="127.0.0.1", **ports) as cluster:  # type: ignore[no-untyped-call]  # Dask has no types
        yield cluster
