"""Help to test an app: a client that touches no network, no disk and no user's choice, and a collector for it.

Under pytest, ``telemetry`` is a fixture (pytest_plugin.py):

    def test_the_theme_is_recorded(telemetry):
        open_preferences(theme="dark")
        assert telemetry.recorded("theme") == ["dark"]

It replaces ``dither.record`` and ``dither.init``, and every ``dither.Client`` of this process, whether the app made it
before the test, for example when it was imported, or makes it in the test. It cannot control what a client has already
started: an upload that was under way when the test began, or another process.
"""

# ruff: noqa: SLF001 - a client gets another core, so that code that holds it, or a method of it, need not know

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from functools import wraps
from inspect import signature
from pathlib import Path
from traceback import walk_stack
from typing import Any

from dither_shared.errors import ParameterError, WireError, did_you_mean
from dither_shared.metrics.definition import load_metrics
from dither_shared.metrics.metric import Metric
from dither_shared.wire import Batch, Report

from . import forks
from .client import Client
from .core import ClientCore
from .default import standing_in
from .settings import NONE_GIVEN, metrics_of, sealed_for, strata_of
from .state.state import MemoryState
from .upload.transport import Answer


class FakeCollector:
    """A transport that answers as a collector does, and keeps what arrived.

    ``answers`` are statuses, Answers or OSErrors for the next uploads; ``down`` makes all others fail like a network.
    A batch id counts once, whatever arrives under it again.
    """

    def __init__(self, metrics: Mapping[str, Metric]) -> None:
        self._defined = [metrics]
        self.answers: list[int | Answer | OSError] = []
        self.down = False
        self.bodies: list[bytes] = []
        """Every body that arrived, as it is."""
        self._accepted: dict[str, tuple[Batch, Report]] = {}

    def define(self, metrics: Mapping[str, Metric]) -> None:
        """Accept reports of these metrics, too; there may be several versions of the same name."""
        self._defined.append(metrics)

    def send(self, body: bytes) -> Answer:
        """Receive one upload."""
        self.bodies.append(body)
        answer = self.answers.pop(0) if self.answers else OSError("down") if self.down else self._ingest(body)
        if isinstance(answer, OSError):
            raise answer
        return answer if isinstance(answer, Answer) else Answer(answer)

    def reports(self, metric: str, stratum: str | None = None) -> list[Report]:
        """Return the reports of ``metric`` that were accepted, of one stratum or of all.

        They are noise, and say little about what was recorded.
        """
        arrived = [(batch, report) for batch, report in self._accepted.values() if batch.metric == metric]
        return [report for batch, report in arrived if stratum in (None, batch.stratum)]

    def counts(self) -> dict[str, int]:
        """Return how many reports of each metric were accepted."""
        return dict(Counter(batch.metric for batch, _ in self._accepted.values()))

    def strata(self, metric: str) -> dict[str, int]:
        """Return how many reports of each stratum of ``metric`` were accepted, such as ``{"linux": 2}``."""
        batches = [batch for batch, _ in self._accepted.values() if batch.metric == metric]
        return dict(Counter(batch.stratum for batch in batches if batch.stratum is not None))

    def _ingest(self, body: bytes) -> int:
        try:
            batch = Batch.decode(body)
            known = {one.version: one for metrics in self._defined if (one := metrics.get(batch.metric)) is not None}
            if batch.version not in known:
                return 409 if known else 404
            strata = known[batch.version].strata
            if batch.stratum not in ((None,) if strata is None else strata.labels):
                return 400
            report = Report.decode(batch.reports, known[batch.version].mechanism)
        except WireError:
            return 400
        self._accepted.setdefault(batch.batch, (batch, report))
        return 202


class Telemetry(Client):
    """A client for tests: consent is given, mistakes raise ParameterError, ``flush`` uploads to ``collector``.

    ``metrics`` is a path or metrics by name. ``recorded`` returns the answers and events of the app, before any noise.
    All questions of a survey (``one_of``) are asked, not one by chance: what a test sees depends on no draw. Reports
    are not sealed, whatever key the app has: a test sees rows, and needs no package for it.
    """

    def __init__(
        self,
        metrics: str | Path | Mapping[str, Metric],
        today: Callable[[], date] | None = None,
        strata: Mapping[str, object] = NONE_GIVEN,
    ) -> None:
        self._own = _all_asked(_unsealed(metrics))
        self.collector = FakeCollector(self._own)
        self.mistakes: list[str] = []
        """Mistaken answers, and where the app gave them; the fixture fails the test if there are any at its end."""
        self._known = set(self._own)
        self._answers: list[tuple[str, object, str | None]] = []
        self._others: list[tuple[Client, ClientCore]] = []
        """The clients that this one replaces, with their original cores."""
        arguments = _harmless("tests", today=today, collector=self.collector)
        _make(self, self._own, strata=strata, **arguments)
        self._listen(self._core)

    def recorded(self, metric: str) -> list[object]:
        """Return all values that were recorded for ``metric``, in order, including those that made no report."""
        return [value for value, _ in self._heard(metric)]

    def strata(self, metric: str) -> list[str | None]:
        """Return the stratum of each of these values, such as "linux": what is sent in the clear beside a report."""
        return [stratum for _, stratum in self._heard(metric)]

    def flush(self, timeout: float = 5.0) -> bool:
        """Upload now, from this client and from those that it replaces."""
        return all([super().flush(timeout), *(client.flush(timeout) for client, _ in self._others)])

    def init(self, *arguments: Any, **named: Any) -> "Telemetry":
        """Become the default client when ``dither.init`` makes one; take its metrics if there are no others."""
        given = signature(Client).bind(*arguments, **named).arguments
        with self._noting():
            if not self._own:
                self._own.update(_all_asked(_unsealed(given["metrics"], given.get("seal"))))
            self._core.recorder.strata.use(strata_of(given.get("strata", NONE_GIVEN)), self._own.values())
        self._known |= self._own.keys()
        return self

    @contextlib.contextmanager
    def standing_in(self) -> Iterator[None]:
        """Replace the default client and every other, each with its own metrics and a state in memory.

        Until the end, nothing that they do reaches the disk, the network or the user's choice. Then those that
        existed before work as before; those made in between stay off.
        """
        for client in forks.watched():
            if isinstance(client, Client) and not isinstance(client, Telemetry):
                self._replace(client)
        before = Client.__init__
        Client.__init__ = self._maker()  # type: ignore[method-assign]  # so that it is a Client that the app gets
        try:
            with standing_in(self, self.init):
                yield
        finally:
            Client.__init__ = before  # type: ignore[method-assign]
            while self._others:
                _restore(*self._others.pop())

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        """Remember a mistake of the app's developer, because the app may catch it."""
        try:
            yield
        except ParameterError as error:
            self.mistakes.append(f"{_place()}: {error}")
            raise

    def _maker(self) -> Callable[..., None]:
        """Return a replacement of ``_make`` that makes clients in mode off, and replaces each by this client."""

        @wraps(_make)
        def make(client: Client, *arguments: Any, **named: Any) -> None:
            if isinstance(client, Telemetry):
                _make(client, *arguments, **named)
                return
            given = signature(_make).bind(client, *arguments, **named).arguments
            del given["self"]
            given |= _harmless(given["app"], mode="off", collector=self.collector, strict=given.get("strict", False))
            with self._noting():
                given["metrics"] = _unsealed(given["metrics"], given.pop("seal", None))
                _make(client, **given | {"strict": True})
            _make(client, **given | {"metrics": client._core.setup.metrics})
            self._replace(client)

        return make

    def _heard(self, metric: str) -> list[tuple[object, str | None]]:
        if metric not in self._known:
            raise ParameterError(f"metrics.{metric}", f"not defined{did_you_mean(metric, sorted(self._known))}")
        return [(value, stratum) for name, value, stratum in self._answers if name == metric]

    def _replace(self, client: Client) -> None:
        """Give a client a core that is harmless, unless it is closed."""
        core, setup = client._core, client._core.setup
        if core.stopped:
            return
        harmless = _harmless(setup.app, today=setup.today, collector=self.collector)
        client._core = ClientCore(setup._replace(metrics=_all_asked(_unsealed(setup.metrics)), **harmless))
        self._listen(client._core)
        self.collector.define(setup.metrics)
        self._known |= setup.metrics.keys()
        self._others.append((client, core))

    def _listen(self, core: ClientCore) -> None:
        """Remember the answers, events and mistakes that a client is given."""

        def heard(act: Callable[..., bool]) -> Callable[..., bool]:
            def listening(name: str, value: object, *strata: Mapping[str, object]) -> bool:
                with self._noting():
                    made = act(name, value, *strata)
                stratum = core.recorder.strata.label(core.setup.metrics[name], *(strata or (NONE_GIVEN,)))
                kept = value.copy() if isinstance(value, list | set) else value  # the app may change it
                self._answers.append((name, kept, stratum))
                return made

            return listening

        core.make_report, core.take_event = heard(core.make_report), heard(core.take_event)


_make = Client.__init__
"""The method that makes a client while nothing is replaced."""


def _all_asked(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return the metrics without ``one_of``, so that each of them is asked."""
    return {name: metric if metric.survey is None else replace(metric, survey=None) for name, metric in metrics.items()}


def _unsealed(metrics: object, seal: object = None) -> Mapping[str, Metric]:
    """Return metrics, or those of a file, without their seal key. Raises ParameterError for an invalid key."""
    if isinstance(metrics, Mapping):
        metrics = {name: getattr(metric, "whole", metric) for name, metric in metrics.items()}
    read = sealed_for(seal, metrics_of(metrics, load_metrics))
    return {name: metric if metric.seal is None else replace(metric, seal=None) for name, metric in read.items()}


def _harmless(
    app: str,
    *,
    collector: FakeCollector,
    mode: str = "on",
    strict: bool = True,
    today: Callable[[], date] | None = None,
) -> dict[str, Any]:
    """Return the arguments of a client that touches neither the disk, nor the network, nor the user's choice."""
    surroundings = {"state": MemoryState(mode), "transport": collector, "environ": {}, "policy": None}
    return {"endpoint": "", "app": app, "strict": strict, "background": False, "today": today, **surroundings}


def _restore(client: Client, core: ClientCore) -> None:
    """Give a client its original core again; if the app has closed it, close it."""
    closed = bool(client._core.stopped)
    Client.close(client)
    client._core = core
    if closed:
        Client.close(client)


def _place() -> str:
    """Return the file and line of the app that is being run: the innermost outside of this package."""
    ours = {Path(__file__).parent, Path(contextlib.__file__).parent}
    for frame, line in walk_stack(None):
        if Path(frame.f_code.co_filename).parent not in ours:
            return f"{frame.f_code.co_filename}:{line}"
    return "?"
