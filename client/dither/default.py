"""The default client of a program: made once by ``dither.init``, used from anywhere by ``dither.record``.

Before ``init``, a record is ignored, and that is not a mistake. So a library can record, and the program that uses it
decides whether anything is reported.
"""

from __future__ import annotations

from dither_shared.light import contextmanager

from .client import Client
from .outcomes import Outcome, Timer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_clients: list[Client] = []
"""The default client, if there is one."""


_stand_ins: list[tuple[Client, Callable[..., Client]]] = []
"""Clients that replace the default client in tests, each with its replacement of ``init``; the last one counts."""


def _init(*arguments: Any, **named: Any) -> Client:
    """Make the default client and return it; the arguments are those of ``Client``. One made before is closed."""
    if _stand_ins:
        return _stand_ins[-1][1](*arguments, **named)
    client = Client(*arguments, **named)
    for earlier in _clients:
        earlier.close()
    _clients[:] = [client]
    return client


if TYPE_CHECKING:
    init = Client
else:

    class _Init:
        """``init``, with the signature of ``Client``, which is computed on first access."""

        __name__, __doc__, __wrapped__ = "init", _init.__doc__, Client
        __call__ = staticmethod(_init)

        @property
        def __signature__(self):
            from inspect import signature  # noqa: PLC0415 - it takes 8 ms to load

            return signature(Client).replace(return_annotation=Client)

    init = _Init()


def default_client() -> Client | None:
    """Return the default client, or None before ``init``."""
    return _stand_ins[-1][0] if _stand_ins else next(iter(_clients), None)


def record(metric: str, value: object, **strata: object) -> None:
    """Answer ``metric`` with ``value`` by the default client; see ``Client.record``."""
    try:
        client = default_client()
    except TypeError:  # at the interpreter's shutdown, when the names of this module may be None
        return
    if client is not None:
        client.record(metric, value, **strata)


def add(metric: str, value: object = 1) -> None:
    """Note an event of ``metric`` by the default client; see ``Client.add``."""
    try:
        client = default_client()
    except TypeError:  # at the interpreter's shutdown, when the names of this module may be None
        return
    if client is not None:
        client.add(metric, value)


def outcome(metric: str, ok: object = True, failed: object = False, **strata: object) -> Outcome:
    """Return a context manager and decorator that answers whether its work succeeded; see ``Client.outcome``."""
    return Outcome(record, metric, ok, failed, strata)


def timer(metric: str, **strata: object) -> Timer:
    """Return a context manager and decorator that answers with the seconds of its work; see ``Client.timer``."""
    return Timer(record, metric, strata)


@contextmanager
def standing_in(client: Client, init: Callable[..., Client]) -> Iterator[None]:
    """Let ``client`` be the default client, and ``init`` replace ``dither.init``; for tests."""
    _stand_ins.append((client, init))
    try:
        yield
    finally:
        _stand_ins.remove((client, init))
