"""For the tests of an app: a client that reaches no network, no disk and nobody's choice, and a collector for it.

Under pytest, ``telemetry`` is a fixture (pytest_plugin.py):

    def test_the_theme_is_recorded(telemetry):
        open_preferences(theme="dark")
        assert telemetry.recorded("theme") == ["dark"]
"""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

from dither_shared.errors import ParameterError, WireError
from dither_shared.metric import Metric, load_metrics
from dither_shared.wire import Batch, Report

from .client import Client
from .state import MemoryState
from .transport import Answer

__all__ = ["FakeCollector", "Telemetry"]


class FakeCollector:
    """A transport that answers as a collector does, and keeps what arrived.

    ``answers`` are statuses, Answers or OSErrors for the next uploads; ``down`` makes all others fail like a network.
    A report counts once, however often it arrives.
    """

    def __init__(self, metrics: Mapping[str, Metric]) -> None:
        self.metrics = metrics
        self.answers: list[int | Answer | OSError] = []
        self.down = False
        self.bodies: list[bytes] = []
        """Every body that arrived, as it is."""
        self._accepted: dict[str, tuple[bytes, str, Report]] = {}

    def send(self, body: bytes) -> Answer:
        """Take one upload."""
        self.bodies.append(body)
        answer = self.answers.pop(0) if self.answers else OSError("down") if self.down else self._ingest(body)
        if isinstance(answer, OSError):
            raise answer
        return answer if isinstance(answer, Answer) else Answer(answer)

    def reports(self, metric: str) -> list[Report]:
        """Return the reports of ``metric`` that were accepted. They are noise, and say little of what was recorded."""
        return [report for _, name, report in self._accepted.values() if name == metric]

    def counts(self) -> dict[str, int]:
        """Return how many reports of each metric were accepted."""
        return dict(Counter(name for _, name, _ in self._accepted.values()))

    def _ingest(self, body: bytes) -> int:
        try:
            batch = Batch.decode(body)
            metric = self.metrics.get(batch.metric)
            if metric is None:
                return 404
            if batch.version != metric.version:
                return 409
            report = Report.decode(batch.reports, metric.mechanism)
        except WireError:
            return 400
        known = self._accepted.setdefault(batch.batch, (body, batch.metric, report))
        return 202 if known[0] == body else 409


class Telemetry(Client):
    """A client for tests: consent is given, mistakes raise ParameterError, ``flush`` uploads to ``collector``.

    ``metrics`` is a path or metrics by name. ``recorded`` tells what the app wanted to say, before any noise.
    """

    def __init__(self, metrics: str | Path | Mapping[str, Metric], today: Callable[[], date] | None = None) -> None:
        metrics = metrics if isinstance(metrics, Mapping) else load_metrics(metrics)
        self.collector = FakeCollector(metrics)
        self._answers: list[tuple[str, object]] = []
        self._defined = metrics
        super().__init__(
            metrics,
            "",
            "tests",
            MemoryState("on"),
            transport=self.collector,
            today=today,
            strict=True,
            background=False,
            environ={},
        )

    def record(self, metric: str, value: object) -> None:
        """Record as a client does, and remember the value; raise ParameterError for a mistake."""
        super().record(metric, value)
        self._answers.append((metric, value))

    def recorded(self, metric: str) -> list[object]:
        """Return all values that were recorded for ``metric``, in order, also those that made no report."""
        if metric not in self._defined:
            raise ParameterError(f"metrics.{metric}", "not defined")
        return [value for name, value in self._answers if name == metric]
