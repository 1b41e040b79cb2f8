"""Answer a metric with the outcome of a piece of work: whether it succeeded, or how long it took.

Both are context managers, and decorators of functions and of coroutine functions:

    with telemetry.outcome("import_succeeded"):
        read(path)

    @telemetry.outcome("export", ok="done", failed="failed")
    def export(path): ...

    with telemetry.timer("startup", platform="linux"):
        load_everything()

Further arguments are attributes of the metric's strata, as in ``record``. An exception of the work propagates. Ctrl-C,
an exit and a task's cancellation (anything raised that is not an Exception) interrupt the work from outside, and give
no answer.
"""

from __future__ import annotations

from _thread import get_ident
from abc import ABC, abstractmethod
from sys import modules
from time import perf_counter

from dither_shared.light import TypeVar, cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any, Self

_Function = TypeVar("_Function", bound="Callable[..., Any]")
# The flags of inspect, whose import costs more than all of dither:
_GENERATOR, _COROUTINE = 0x20, 0x80


class _Work(ABC):
    """A piece of work; as a decorator, each call of a function is one."""

    def __init__(self, record: Callable[..., None], metric: str, strata: Mapping[str, object]) -> None:
        self._record = record
        self._metric = metric
        self._strata = strata

    @abstractmethod
    def __enter__(self) -> None:
        """Begin the work."""

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Record the answer."""

    def _piece(self) -> Self:
        """Return an object for one call of a function."""
        return self

    def __call__(self, function: _Function) -> _Function:
        """Wrap ``function`` so that each call is a piece of work, up to its end.

        It may be a coroutine function or a generator function. For other functions that only begin the work when they
        are called, such as asynchronous generator functions, use a ``with`` inside.
        """
        from functools import wraps  # noqa: PLC0415 - few programs decorate, and those have it

        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            with self._piece():
                return function(*arguments, **named)

        @wraps(function)
        async def call_later(*arguments: Any, **named: Any) -> Any:
            with self._piece():
                return await function(*arguments, **named)

        @wraps(function)
        def call_on(*arguments: Any, **named: Any) -> Any:
            with self._piece():
                return (yield from function(*arguments, **named))

        flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
        wrapped = call_later if flags & _COROUTINE else call_on if flags & _GENERATOR else call
        return cast("_Function", wrapped)


class Outcome(_Work):
    """Answers ``metric`` with ``ok`` when the work ends, and with ``failed`` when it raises an Exception."""

    def __init__(
        self, record: Callable[..., None], metric: str, ok: object, failed: object, strata: Mapping[str, object]
    ) -> None:
        super().__init__(record, metric, strata)
        self._ok = ok
        self._failed = failed

    def __enter__(self) -> None:
        """Begin the work."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Record success or failure; record nothing if the work was interrupted."""
        if kind is None or issubclass(kind, Exception):
            self._record(self._metric, self._ok if kind is None else self._failed, **self._strata)


class Timer(_Work):
    """Answers ``metric``, a number, with the seconds that the work took, also when it raises an Exception.

    Failed work took time, too, and leaving it out would reveal that it failed. One timer may be used by several threads
    or tasks at once, and nested: each piece of work has its own start. Time during which the computer sleeps may count.
    """

    _clock = staticmethod(perf_counter)  # kept here, like the next: at shutdown the names of modules may be None
    _thread = staticmethod(get_ident)
    _modules = modules

    def __init__(self, record: Callable[..., None], metric: str, strata: Mapping[str, object]) -> None:
        super().__init__(record, metric, strata)
        self._begun: dict[object, list[float]] = {}
        """Start times of the work of each thread or task, the innermost last."""

    @property
    def busy(self) -> bool:
        """Whether any work has begun and not ended."""
        return bool(self._begun)

    def __enter__(self) -> None:
        """Begin the work."""
        self._begun.setdefault(self._who(), []).append(self._clock())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Record the duration in seconds; record nothing if the work was interrupted."""
        end, who = self._clock(), self._who()
        begun = self._begun.get(who)
        if begun is None:  # it began in another thread or task, as in a fixture: take the last
            who = next(reversed(tuple(self._begun)), None)
            begun = self._begun.get(who, [])
        if not begun:
            return
        seconds = end - begun.pop()
        if not begun:
            self._begun.pop(who, None)
        if kind is None or issubclass(kind, Exception):
            self._record(self._metric, seconds, **self._strata)

    def _piece(self) -> Self:
        """Return another timer, so that calls are independent of each other."""
        return type(self)(self._record, self._metric, self._strata)

    def _who(self) -> object:
        """Return the thread or, within an event loop, the task."""
        asyncio = self._modules.get("asyncio")
        try:
            task = None if asyncio is None else asyncio.current_task()
        except Exception:  # no loop runs here
            task = None
        return self._thread() if task is None else task
