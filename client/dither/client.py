"""The client that an app embeds: thin plumbing between consent, ledger, mechanism, outbox and worker.

    telemetry = dither.Client("metrics.toml", endpoint="https://telemetry.example.org", app="notes")
    telemetry.record("theme", "dark")

The promise to the host: no method raises (but see ``strict``), ``record`` waits neither for the network nor for a disk
to be durable, no exit waits for longer than ``exit_wait``, nothing grows without bound. What goes wrong is counted in
``status`` and logged once for each kind. What ``record`` returned from is written to the outbox: it survives a kill -9,
though not a power cut.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path

from dither_shared.errors import ParameterError
from dither_shared.metrics.definition import load_metrics
from dither_shared.metrics.metric import Metric
from dither_shared.primitives.entropy import Entropy, SystemEntropy
from dither_shared.questions.plain import type_name

from . import forks
from .consent.permission import Permission
from .consent.silence import Silence
from .diagnostics import Diagnostics, told
from .outcomes import Outcome
from .reporting.journal import Journal
from .reporting.recorder import Recorder
from .settings import MOST_SECONDS, number
from .state.folder import FolderState
from .state.places import check_app_name, default_folder, folder_of
from .state.state import MemoryState, State, StateError
from .transparency.controls import Oversight
from .upload.attempts import Attempts
from .upload.exits import EVERY, WAIT, ExitWait
from .upload.schedule import SPREAD, UploadSchedule
from .upload.sender import Sender
from .upload.transport import HttpTransport, Transport
from .upload.worker import Worker

__all__ = ["Client"]


class Client(Oversight):
    """Telemetry of one app on one device, under local differential privacy.

    ``metrics`` is the path of a ``metrics.toml`` or metrics by name; ``endpoint`` the collector's URL; ``app`` a name
    that no other app has, such as ``org.example.notes``: two apps of one name share consent and reports.
    ``state`` is a folder, a ``MemoryState``, or None for the user's own folder for ``app``.

    Keyword arguments: ``transport`` replaces HTTP; ``entropy`` the system's generator; ``today`` the UTC date;
    ``environ`` the surroundings in which consent is looked for, ``policy`` the administrator's file.
    ``lifetime_cap`` bounds the epsilon that all metrics together may ever cost this device. ``token`` lets the app in
    at a collector that asks for one: it is the app's, the same for all its users, and so tells nothing of anyone. Each
    report leaves at a random moment within ``spread`` seconds (schedule.py), or on ``flush``. A program that finds a
    report due and ends at once waits for that upload, for ``exit_wait`` seconds at most, 0 for not at all, and not more
    often than every ``exit_every`` seconds (exits.py).
    ``background=False`` uploads nothing but on ``flush``, and has no thread in between. ``strict`` is for tests:
    mistakes of the app's developer (a metric that is not defined, an object that is no answer, arguments that cannot
    be) raise ParameterError; otherwise they are logged once, and the client stays silent.
    """

    _OUTCOME = Outcome  # like those of Oversight
    _lost = False
    """Whether an answer could not be kept since the last flush."""

    def __init__(
        self,
        metrics: str | Path | Mapping[str, Metric],
        endpoint: str,
        app: str,
        state: str | Path | MemoryState | None = None,
        *,
        transport: Transport | None = None,
        entropy: Entropy | None = None,
        today: Callable[[], date] | None = None,
        strict: bool = False,
        background: bool = True,
        environ: Mapping[str, str] | None = None,
        policy: Path | None = None,
        lifetime_cap: float = math.inf,
        spread: float = SPREAD,
        token: str | None = None,
        exit_wait: float = WAIT,
        exit_every: float = EVERY,
    ) -> None:
        self._endpoint, self._lifetime_cap = endpoint, math.inf
        self._app, self._strict, self._background = app, strict, background
        self._diagnostics = Diagnostics()
        self._entropy, self._today = entropy or SystemEntropy(), today or _utc_today
        self._silent = Silence()
        self._metrics: Mapping[str, Metric] = {}
        self._settle(MemoryState("off"), lambda: None, {}, None)
        try:
            check_app_name(app)
            self._metrics = _checked(metrics) if isinstance(metrics, Mapping) else load_metrics(_path(metrics))
            self._transport = transport or HttpTransport(endpoint, token=token)
            self._spread = spread
            self._lifetime_cap = _cap(lifetime_cap)
            self._settle(_state(state, app), self._step, environ, policy)
            self._sender = self._new_sender()
            self._exit = ExitWait(exit_wait, exit_every, self._attempts, self._worker.rested)
            self._resume()
        except Exception as error:
            self._give_up(error)
        forks.watch(self)

    def _give_up(self, error: Exception) -> None:
        """Stay silent, for the client could not be made; a mistake of the app's developer is raised if ``strict``."""
        mistake = isinstance(error, ParameterError)
        reason = str(error) if mistake else f"start failed: {told(error, self._diagnostics.folder)}"
        self._silent.disable(reason)
        if mistake and self._strict:
            raise error
        self._diagnostics.note(f"telemetry is disabled: {reason}")

    def __repr__(self) -> str:
        return f"Client({', '.join(sorted(self._metrics))})"

    def record(self, metric: str, value: object) -> None:
        """Answer ``metric`` with ``value``, if the user consents and it was not answered in this period yet.

        The first answer of a period counts; later ones are ignored and counted. An answer outside the metric's domain
        is reported under the catch-all label. Returns at once. Raises only ParameterError, for a mistake of the app's
        developer, and only if ``strict``.
        """
        if self._silent.why:
            self._silent.unrecorded += 1
            return
        try:
            if self._recorder.record(metric, value):
                self._look_for_namesakes()
                if self._background:
                    self._worker.wake(cut=self._journal.due)
                else:
                    self._journal.compact()
        except Exception as error:
            self._failed("record", error, "unknown metric")
            self._lost = self._lost or not isinstance(error, self._MISTAKE)

    def outcome(self, metric: str, ok: object = True, failed: object = False) -> Outcome:
        """Return a context manager and decorator that answers ``metric`` with whether its work succeeded."""
        return self._OUTCOME(self.record, metric, ok, failed)

    def flush(self, timeout: float = 5.0) -> bool:
        """Upload now, and wait up to ``timeout`` seconds; return whether all that waited has arrived.

        False, too, if that cannot be known, for the state cannot be read; and if answers went nowhere: one could not
        be kept since the last flush, the client could not be made, or it was closed before they were given.
        It ends early once all that is left must expect to fail; ``status`` says why. A report that the collector put
        off (Retry-After) waits nevertheless.
        """
        try:
            return self._flush(min(max(number("timeout", timeout), 0.0), MOST_SECONDS))
        except Exception as error:
            self._failed("flush", error)
            return False

    def _flush(self, timeout: float) -> bool:
        kept, self._lost = not self._lost, False
        known, outbox = self._refresh(), self._journal.outbox
        dropped = outbox.dropped
        if outbox.next() is not None and not self._silent and self._may_send():
            self._sender.hurry()
            self._worker.flush(timeout, lambda: not self._sender.hurried)
        arrived = known and outbox.next() is None and outbox.dropped == dropped
        return arrived and kept and not self._silent.lossy

    def close(self) -> None:
        """Stop, without waiting. What is not sent stays for the next run; what is recorded from now on is ignored."""
        try:
            self._silent.close()
            self._stop()
        except Exception as error:
            self._failed("close", error)

    def after_fork(self) -> None:
        """Start again in a child process; called there by itself."""
        self._exit.cancel()  # the parent waits for it, if anybody does
        self._journal.after_fork()
        self._attempts.end()
        self._worker.after_fork()

    def _stop(self) -> None:
        self._exit.cancel()
        self._worker.close()
        self._journal.close()

    def _restart(self) -> None:
        self._sender = self._new_sender()  # which knows nothing of what was forgotten
        self._worker.open()

    def _new_sender(self) -> Sender:
        departures = UploadSchedule(self._spread)
        return Sender(self._journal, self._transport, self._may_send, self._attempts, departures=departures)

    def _settle(
        self,
        state: State,
        step: Callable[[], float | None],
        environ: Mapping[str, str] | None,
        policy: Path | None,
    ) -> None:
        """Put the parts together, around a state."""
        if isinstance(state, FolderState):
            self._diagnostics.folder = state.folder
        self._permission = Permission(state, self._app, self._today, self._diagnostics, environ=environ, policy=policy)
        self._journal = Journal(
            state,
            self._entropy,
            lambda: self._today().toordinal(),
            lifetime_cap=self._lifetime_cap,
            metrics=self._metrics,
            tell=self._diagnostics.note,
        )
        self._attempts = Attempts(state, self._diagnostics, self._endpoint)
        self._worker = Worker(step, lambda error: self._diagnostics.failed("upload", error))
        self._exit = ExitWait(0.0, 0.0, self._attempts, self._worker.rested)
        self._recorder = Recorder(
            self._metrics,
            self._journal,
            self._permission,
            self._entropy,
            self._today,
            self._diagnostics,
            strict=self._strict,
        )

    def _step(self) -> float | None:
        return self._sender.step()

    def _may_send(self) -> bool:
        return self._permission.consent().mode == "on"

    def _resume(self) -> None:
        """Go on with what an earlier run left unsent; or make what the first report needs, if nobody was asked."""
        mode = self._permission.consent().mode
        if not self._background or mode == "off":
            return
        resumes = self._journal.state.exists()
        if not resumes:
            with suppress(StateError, OSError):  # it is tried again, and told of, when there is a report
                self._journal.settle(mode)
        self._note_versions()
        if resumes and mode == "on":
            self._refresh()
            if self._sender.resume():
                self._exit.arm()
            if self._journal.outbox.next() is not None:
                self._worker.wake()


def _state(state: str | Path | MemoryState | None, app: str) -> State:
    if isinstance(state, MemoryState):
        return state
    return FolderState(default_folder(app) if state is None else folder_of(_path(state, "state")))


def _checked(metrics: Mapping[str, Metric]) -> Mapping[str, Metric]:
    """Return ``metrics``; raise ParameterError unless they are metrics by name."""
    kinds = {(type_name(name), type_name(one)) for name, one in metrics.items() if not _is_metric(name, one)}
    for name, one in kinds:
        raise ParameterError(
            "metrics", f"an object of type {one} by one of type {name}, where metrics by name are wanted"
        )
    return metrics


def _is_metric(name: object, one: object) -> bool:
    return isinstance(name, str) and isinstance(one, Metric)


def _path(given: object, name: str = "metrics") -> str | Path:
    """Return ``given``; raise ParameterError, which names the argument, unless it is a path."""
    if not isinstance(given, str | Path):
        raise ParameterError(name, f"a value of type {type_name(given)}, where a path is wanted")
    return given


def _cap(given: object) -> float:
    """Return a cap of epsilon; raise ParameterError unless it is a number that is not negative."""
    cap = number("lifetime_cap", given)
    if cap < 0:
        raise ParameterError("lifetime_cap", "it is negative; 0 lets nothing be reported, infinity everything")
    return cap


def _utc_today() -> date:
    return datetime.now(UTC).date()
