"""Outcome: answer a metric with whether a piece of work succeeded; a context manager and a decorator.

with telemetry.outcome("import_succeeded"):
read(path)

@telemetry.outcome("export", ok="done", failed="failed")
def export(path): ...
"""

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, TypeVar, cast

__all__ = ["Outcome"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_COROUTINE = 0x80  # inspect.CO_COROUTINE, without an import that costs more than all of dither


class Outcome:
    """Answers ``metric`` with ``ok`` when the work ends, and with ``failed`` when it raises an Exception.

    The exception is raised on. Anything else that is raised (Ctrl-C, an exit) is no outcome and is not answered.
    """

    def __init__(self, record: Callable[[str, object], None], metric: str, ok: object, failed: object) -> None:
        self._record = record
        self._metric = metric
        self._ok = ok
        self._failed = failed

    def __enter__(self) -> None:
        """Begin the work."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Answer."""
        if kind is None or issubclass(kind, Exception):
            self._record(self._metric, self._ok if kind is None else self._failed)

    def __call__(self, function: _Function) -> _Function:
        """Return ``function``, a coroutine function or not, so that each of its calls is such a piece of work."""

        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            with self:
                return function(*arguments, **named)

        @wraps(function)
        async def call_later(*arguments: Any, **named: Any) -> Any:
            with self:
                return await function(*arguments, **named)

        code = getattr(function, "__code__", None)
        later = code is not None and code.co_flags & _COROUTINE
        return cast("_Function", call_later if later else call)
