"""Spread work over this process, over several processes, or over the workers of a Dask scheduler.

A task takes everything from its arguments, including randomness, so the results are the same wherever it runs.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any, Protocol, TypeVar

from dither_shared import DitherError, ParameterError

_T = TypeVar("_T")
_R = TypeVar("_R")


class Map(Protocol):
    """Applies a function of a module to each item, and yields the results in the order of the items."""

    def __call__(self, function: Callable[[_T], _R], items: Sequence[_T], /) -> Iterator[_R]:
        """Return the results, each as soon as it and those before it are complete."""


def here(function: Callable[[_T], _R], items: Sequence[_T], /) -> Iterator[_R]:
    """Apply a function to one item after the other, in this process."""
    return map(function, items)


@contextmanager
def workers(jobs: int = 1, scheduler: str | None = None, show: Callable[[str], object] | None = None) -> Iterator[Map]:
    """Yield a ``Map`` over ``jobs`` processes (0 means one per processor), or over a Dask cluster.

    ``show`` is called with a line, which goes to stderr by default, while the cluster has no workers.

    Raises ParameterError if both are given, if there is no scheduler at that address, or no Dask; the ``Map`` raises
    DitherError if the workers are lost.
    """
    if scheduler is not None and jobs != 1:
        raise ParameterError("--jobs", "cannot be used with --scheduler, whose workers share the work")
    if scheduler is not None:
        yield from _cluster(scheduler, show or sys.stderr.write)
    elif jobs == 1:
        yield here
    else:
        # New processes rather than forks: a fork would copy locks that threads of this one hold.
        context = multiprocessing.get_context("spawn")
        count = jobs or _processors()
        with ProcessPoolExecutor(count, mp_context=context, initializer=_work) as pool:

            def spread(function: Callable[[_T], _R], items: Sequence[_T], /) -> Iterator[_R]:
                try:
                    waiting: deque[Future[_R]] = deque()
                    for item in items:
                        waiting.append(pool.submit(function, item))
                        if len(waiting) > _AHEAD * count:
                            yield waiting.popleft().result()
                    while waiting:
                        yield waiting.popleft().result()
                except BrokenProcessPool:
                    raise DitherError("a worker process was killed; it may have been out of memory") from None

            try:
                yield spread
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


def _cluster(address: str, show: Callable[[str], object]) -> Iterator[Map]:
    try:
        from distributed import Client, KilledWorker  # noqa: PLC0415 — an extra that most do not install
        from distributed.comm.core import CommClosedError  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ParameterError("--scheduler", "needs Dask: pip install 'dither[dask]'") from None
    try:
        client: Any = Client(address, timeout=_PATIENCE)  # type: ignore[no-untyped-call]  # Dask has no types
    except (OSError, ValueError) as error:
        raise ParameterError("--scheduler", f"no Dask scheduler answers at {address!r}: {error}") from None

    def spread(function: Callable[[_T], _R], items: Sequence[_T], /) -> Iterator[_R]:
        futures = client.map(function, items, pure=False)
        while futures:
            try:
                result = _awaited(client, futures[0], lambda: show(f"waiting: no worker is connected to {address}\n"))
            except (CancelledError, CommClosedError, KilledWorker) as error:
                raise DitherError(f"the Dask cluster at {address} is lost ({type(error).__name__})") from None
            yield result
            del futures[0]  # the cluster may forget it

    with client:
        yield spread


_AHEAD = 2
"""Items submitted per process ahead of the first result; their results wait in memory."""

_PATIENCE = 10
"""Seconds to wait for a scheduler to answer."""

_SILENCE = 20.0
"""Seconds without a result before workers are counted."""


def _awaited(client: Any, future: Any, note: Callable[[], object]) -> Any:
    """Return the result of a future; call ``note`` each time that there is no worker to compute it."""
    # A timeout of Dask's own result() cancels it, and raises UnboundLocalError if the result comes at that moment.
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    while not done.wait(_SILENCE):
        if not client.nthreads():
            note()
    return future.result()


def _work() -> None:
    """Prepare a worker process: ignore Ctrl-C, which is for the parent, and end with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101 — this runs in a child

    def end_with_parent() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
