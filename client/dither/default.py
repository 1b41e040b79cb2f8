"""The default client of a program: made once by ``dither.init``, used from anywhere by ``dither.record``.

Before ``init``, a record is ignored, and no mistake. So a library can record, and the program that uses it decides
whether anything is reported.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature  # which dataclasses have loaded
from typing import Any, ParamSpec, cast

from .client import Client
from .outcomes import Outcome, Timer

_Arguments = ParamSpec("_Arguments")

_clients: list[Client] = []
"""The default client, if there is one."""


class StandIn(Client):
    """A client that takes the default client's place, as in tests (``standing_in``)."""

    def init(self, *arguments: Any, **named: Any) -> Client:
        """Replace ``dither.init``."""
        raise NotImplementedError


_stand_ins: list[StandIn] = []


def _signed_as(
    model: Callable[_Arguments, Client],
) -> Callable[[Callable[..., Client]], Callable[_Arguments, Client]]:
    """Give a function the signature of ``model``: for type checkers, and for ``help`` and ``inspect``."""

    def sign(function: Callable[..., Client]) -> Callable[_Arguments, Client]:
        vars(function)["__signature__"] = signature(model).replace(return_annotation=Client)
        return cast("Callable[_Arguments, Client]", function)

    return sign


@_signed_as(Client)
def init(*arguments: Any, **named: Any) -> Client:
    """Make the default client and return it; the arguments are those of ``Client``. One made before is closed."""
    if _stand_ins:
        return _stand_ins[-1].init(*arguments, **named)
    client = Client(*arguments, **named)
    for earlier in _clients:
        earlier.close()
    _clients[:] = [client]
    return client


def default_client() -> Client | None:
    """Return the default client, or None before ``init``."""
    return next(iter([*_stand_ins[-1:], *_clients]), None)


def record(metric: str, value: object, **strata: object) -> None:
    """Answer ``metric`` with ``value`` by the default client; see ``Client.record``."""
    try:
        client = default_client()
    except TypeError:  # at the interpreter's shutdown, when the names of this module may be None
        return
    if client is not None:
        client.record(metric, value, **strata)


def outcome(metric: str, ok: object = True, failed: object = False, **strata: object) -> Outcome:
    """Return a context manager and decorator that answers whether its work succeeded; see ``Client.outcome``."""
    return Outcome(record, metric, ok, failed, strata)


def timer(metric: str, **strata: object) -> Timer:
    """Return a context manager and decorator that answers with the seconds of its work; see ``Client.timer``."""
    return Timer(record, metric, strata)


@contextmanager
def standing_in(telemetry: StandIn) -> Iterator[None]:
    """Let ``telemetry`` be the default client, whatever ``init`` is asked for meanwhile; for tests."""
    _stand_ins.append(telemetry)
    try:
        yield
    finally:
        _stand_ins.remove(telemetry)
