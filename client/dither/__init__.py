"""dither: telemetry under local differential privacy, for an app to embed.

    import dither

    telemetry = dither.Client("metrics.toml", endpoint="https://telemetry.example.org", app="notes")
    telemetry.record("theme", "dark")

Nothing is drawn, written or sent until the user has said so: ``telemetry.consent("on")``.
"""

from dither_shared.errors import DitherError, ParameterError
from dither_shared.metric import Metric, load_metrics

from .client import Client
from .state import MemoryState, StateError
from .status import MetricStatus, Status
from .transport import Answer, HttpTransport, Transport

__all__ = [
    "Answer",
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
    "load_metrics",
]
