"""dither: telemetry under local differential privacy, for an app to embed. Standard library only; no estimator.

    import dither

    telemetry = dither.Client("metrics.toml", endpoint="https://telemetry.example.org", app="notes")
    telemetry.record("theme", "dark")

or, with one client for the whole program,

    dither.init("metrics.toml", endpoint="https://telemetry.example.org", app="notes")
    dither.record("theme", "dark")

Nothing is drawn, written or sent until the user has said so: ``telemetry.consent("on")``.

The names below are imported when they are first used: a program that only answers ``--help`` does not pay for them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dither_shared.errors import DitherError, ParameterError
    from dither_shared.metrics.definition import load_metrics
    from dither_shared.metrics.metric import Metric

    from .client import Client
    from .default import add, default_client, init, outcome, record, timer
    from .state.state import MemoryState, StateError
    from .transparency.status_fields import MetricStatus, Status
    from .upload.attempts import Attempt
    from .upload.transport import Answer, HttpTransport, Transport

__all__ = [
    "Answer",
    "Attempt",
    "Client",
    "DitherError",
    "HttpTransport",
    "MemoryState",
    "Metric",
    "MetricStatus",
    "ParameterError",
    "StateError",
    "Status",
    "Transport",
    "add",
    "default_client",
    "init",
    "load_metrics",
    "outcome",
    "record",
    "timer",
]

_HOMES = {
    "Answer": "dither.upload.transport",
    "Attempt": "dither.upload.attempts",
    "Client": "dither.client",
    "DitherError": "dither_shared.errors",
    "HttpTransport": "dither.upload.transport",
    "MemoryState": "dither.state.state",
    "Metric": "dither_shared.metrics.metric",
    "MetricStatus": "dither.transparency.status_fields",
    "ParameterError": "dither_shared.errors",
    "StateError": "dither.state.state",
    "Status": "dither.transparency.status_fields",
    "Transport": "dither.upload.transport",
    "add": "dither.default",
    "default_client": "dither.default",
    "init": "dither.default",
    "load_metrics": "dither_shared.metrics.definition",
    "outcome": "dither.default",
    "record": "dither.default",
    "timer": "dither.default",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'dither' has no attribute {name!r}")
    from .forks import importing  # noqa: PLC0415 - a program that only answers --help does not need it

    with importing():
        value = globals()[name] = getattr(__import__(_HOMES[name], fromlist=[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
