"""Parts: what a client is made of, put together once around one state.

The state keeps consent, journal and notes. The permission says whether anything may be drawn, the recorder makes
reports, the journal keeps them, the uploader sends them, and the controls show all of it to the user.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from dither_shared.errors import ParameterError
from dither_shared.metrics.metric import Metric
from dither_shared.metrics.period import utc_today
from dither_shared.primitives.entropy import Entropy, SystemEntropy

from .consent.permission import Permission
from .consent.silence import Silence
from .diagnostics import Diagnostics, Guard, described
from .reporting.bodies.kinds import SEALED, kind_for
from .reporting.bodies.sealing import SealError, require
from .reporting.journal import Journal
from .reporting.namesakes import NameWatch
from .reporting.recorder import Recorder
from .reporting.strata import Stratifier
from .state.state import MemoryState, State, StateError
from .transparency.controls import Controls
from .upload.attempts import Attempts
from .upload.schedule import SPREAD
from .upload.transport import HttpTransport, Nowhere, Transport
from .upload.uploader import EVERY, WAIT, Uploader

__all__ = ["Parts", "Setup", "transport_for"]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What an app asked for when it made its client (see ``Client``); by default it keeps and sends nothing."""

    app: str
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    endpoint: str = ""
    strata: Mapping[str, object] = field(default_factory=dict)
    state: State = field(default_factory=lambda: MemoryState("off"))
    transport: Transport = field(default_factory=Nowhere)
    entropy: Entropy = field(default_factory=SystemEntropy)
    today: Callable[[], date] = utc_today
    environ: Mapping[str, str] | None = field(default_factory=dict)
    policy: Path | None = None
    lifetime_cap: float = math.inf
    spread: float = SPREAD
    exit_wait: float = WAIT
    exit_every: float = EVERY
    background: bool = False
    strict: bool = False


def transport_for(
    metrics: Mapping[str, Metric], given: Transport | None, endpoint: str, token: str | None
) -> Transport:
    """Return what carries the reports of ``metrics``: the transport that was given, or HTTP to ``endpoint``.

    Raises ParameterError for an endpoint or token that cannot be, and if the reports are to be sealed here and the
    package that seals them is missing.
    """
    if kind_for(metrics.values()) is SEALED and not isinstance(given, Nowhere):
        require()
    return given or HttpTransport(endpoint, token=token)


class Parts:
    """The parts of one client. Raises ParameterError for a time in ``setup`` that cannot be."""

    _UNSEALED = SealError  # held here, for at shutdown the names of this module may be None

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        app, metrics, state, today = setup.app, setup.metrics, setup.state, setup.today
        self.silence = Silence()
        self.diagnostics = Diagnostics(state.folder)
        self.guard = Guard(self.diagnostics, strict=setup.strict)
        self.permission = Permission(state, app, today, self.diagnostics, environ=setup.environ, policy=setup.policy)
        self.journal = Journal(
            state,
            setup.entropy,
            lambda: today().toordinal(),
            lifetime_cap=setup.lifetime_cap,
            metrics=metrics,
            warn=self.diagnostics.note,
        )
        self.names = NameWatch(app, metrics, self.journal, today, self.diagnostics)
        self.recorder = self._new_recorder()
        self.record: Callable[..., bool] = self.recorder.record
        """What an answer is given to; tests listen here."""
        self.attempts = Attempts(state, self.diagnostics, setup.endpoint)
        self.uploader = self._new_uploader()
        self.controls = Controls(
            app=app,
            metrics=metrics,
            entropy=setup.entropy,
            today=today,
            permission=self.permission,
            journal=self.journal,
            names=self.names,
            recorder=self.recorder,
            attempts=self.attempts,
            uploader=self.uploader,
            silence=self.silence,
            diagnostics=self.diagnostics,
            guard=self.guard,
        )

    def _new_recorder(self) -> Recorder:
        setup = self.setup
        return Recorder(
            setup.metrics,
            self.journal,
            self.permission,
            setup.entropy,
            setup.today,
            self.diagnostics,
            Stratifier(setup.strata, setup.metrics.values(), self.diagnostics, strict=setup.strict),
            strict=setup.strict,
        )

    def _new_uploader(self) -> Uploader:
        return Uploader(
            self.journal,
            self.attempts,
            self.setup.transport,
            lambda: self.permission.consent().mode == "on",
            lambda error: self.diagnostics.failed("upload", error),
            spread=self.setup.spread,
            exit_wait=self.setup.exit_wait,
            exit_every=self.setup.exit_every,
        )

    def start(self) -> None:
        """Go on with what an earlier run left unsent; or make what the first report needs, if nobody was asked."""
        mode = self.permission.consent().mode
        if not self.setup.background or mode == "off":
            return
        resumes = self.journal.state.exists()
        if not resumes:
            with suppress(StateError, OSError):  # it is tried again, and counted, when there is a report
                self.journal.settle(mode)
        self.names.note_versions()
        if resumes and mode == "on":
            self.controls.refresh()
            self.uploader.resume()

    def recorded(self) -> None:
        """Do what follows from one more report that waits."""
        self.names.look()
        if self.setup.background:
            self.uploader.wake(cut=self.journal.due)
        else:
            self.journal.compact()

    def unrecorded(self, error: Exception) -> bool:
        """Take what an answer met; return whether it is a mistake of the app's developer, by which no answer is lost.

        Where nothing can be sealed nothing is kept or sent: the next answer would meet the same, so the client is
        disabled.
        """
        if isinstance(error, self._UNSEALED):
            self.disable(error)
            return False
        return self.guard.caught("record", error, "unknown metric")

    def flush(self, timeout: float) -> bool:
        """Upload now; return whether all that waited has arrived, as far as is known (see ``Client.flush``)."""
        known, outbox = self.controls.refresh(), self.journal.outbox
        dropped = outbox.dropped
        if not self.silence:
            self.uploader.flush(timeout)
        arrived = known and outbox.next() is None and outbox.dropped == dropped
        return arrived and not self.silence.lossy

    def disable(self, error: Exception) -> None:
        """Stay silent, for the client could not be made; a mistake of the app's developer is raised if ``strict``."""
        mistake = isinstance(error, ParameterError)
        reason = str(error) if mistake else f"start failed: {described(error, self.diagnostics.folder)}"
        self.silence.disable(reason)
        if mistake and self.setup.strict:
            raise error
        self.diagnostics.note(f"telemetry is disabled: {reason}")

    def after_fork(self) -> None:
        """Start again in a child process."""
        self.uploader.after_fork()
        self.journal.after_fork()
