"""The core of a client: everything behind the methods of ``Client``, around one state.

The state keeps consent, journal and notes. The permission says whether anything may be drawn, the recorder makes
reports, the journal keeps them, the uploader sends them. No method raises anything but mistakes of the app's developer,
and those only if ``strict``; ``Client`` says what each does for an app.
"""

from __future__ import annotations

import math

from dither_shared.errors import DitherError, ParameterError
from dither_shared.light import NamedTuple, is_of_signal_handler, suppress
from dither_shared.metrics.period import utc_today
from dither_shared.primitives.entropy import SystemEntropy

from .consent.permission import Permission
from .consent.rules import Consent, Stopped
from .diagnostics import Diagnostics, described
from .forks import importing
from .reporting.app_name_clash import NameWatch
from .reporting.bodies import SealError
from .reporting.journal import Journal
from .reporting.recorder import Recorder, meant
from .settings import EVERY, MOST_SECONDS, NONE_GIVEN, SPREAD, WAIT, number
from .state.state import MemoryState, StateError
from .transparency.status_fields import Status
from .upload.attempts import Attempts
from .upload.schedule import UploadSchedule
from .upload.transport import PLAIN_HTTP, Nowhere, is_exposed
from .upload.uploader import Uploader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date
    from os import PathLike

    from dither_shared.languages import Language
    from dither_shared.metrics.metric import Metric
    from dither_shared.primitives.entropy import Entropy

    from .consent.rules import Mode
    from .reporting.events import Events
    from .state.folder import State
    from .upload.transport import Transport


class Setup(NamedTuple):
    """The arguments of a client (see ``Client``); by default it stores and sends nothing."""

    app: str
    metrics: Mapping[str, Metric] = NONE_GIVEN
    endpoint: str = ""
    strata: Mapping[str, object] = NONE_GIVEN
    state: State | None = None
    transport: Transport | None = None
    entropy: Entropy | None = None
    today: Callable[[], date] = utc_today
    environ: Mapping[str, str] | None = NONE_GIVEN
    policy: str | PathLike[str] | None = None
    lifetime_cap: float = math.inf
    spread: float = SPREAD
    exit_wait: float = WAIT
    exit_every: float = EVERY
    background: bool = False
    strict: bool = False
    language: object = "en"


class ClientCore:
    """The parts of one client. Raises ParameterError for an impossible time in ``setup``."""

    _UNSEALED, _STATUS = SealError, Status  # kept here, because at shutdown the names of this module may be None

    def __init__(self, setup: Setup) -> None:
        state, entropy, today = setup.state or MemoryState("off"), setup.entropy or SystemEntropy(), setup.today
        self.setup = setup = setup._replace(state=state, entropy=entropy, transport=setup.transport or Nowhere())
        metrics = setup.metrics
        self.stopped = Stopped()
        self.diagnostics = Diagnostics(state.folder, strict=setup.strict)
        self.permission = Permission(
            state, setup.app, today, self.diagnostics, environ=setup.environ, policy=setup.policy
        )
        self.journal = Journal(
            state,
            entropy,
            lambda: today().toordinal(),
            lifetime_cap=setup.lifetime_cap,
            metrics=metrics,
            warn=self.diagnostics.note,
        )
        self.permission.know(metrics.values())
        self.names = NameWatch(setup.app, metrics, state, today, self.diagnostics)
        self.recorder = Recorder(
            metrics,
            self.journal,
            self.permission,
            entropy,
            today,
            self.diagnostics,
            setup.strata,
            strict=setup.strict,
        )
        self.make_report: Callable[..., bool] = self.recorder.record
        """Makes the report of an answer; tests replace it to observe answers."""
        self.take_event: Callable[[str, object], bool] = self._add
        """Takes an event; likewise."""
        self._events = self._new_events() if any(metric.of or metric.after for metric in metrics.values()) else None
        self.attempts = Attempts(state, self.diagnostics, setup.endpoint)
        self.uploader = self._new_uploader()
        self._language: Language | None = None
        self._lost = False
        """Whether an answer could not be kept since the last flush."""

    def _new_uploader(self) -> Uploader:
        return Uploader(
            self.journal,
            self.attempts,
            self.setup.transport or Nowhere(),
            lambda: self.permission.consent().mode == "on",
            lambda error: self.diagnostics.trouble(f"upload failed: {described(error, self.diagnostics.folder)}"),
            UploadSchedule(self.setup.spread),
            exit_wait=self.setup.exit_wait,
            exit_every=self.setup.exit_every,
        )

    def _new_events(self) -> Events:
        """Return the events, which most programs do not have."""
        with importing():
            from .reporting.events import Events  # noqa: PLC0415 - a program without events does not need it

        return Events(self.setup.metrics, self.recorder)

    def _add(self, metric: str, value: object) -> bool:
        self._events = self._events or self._new_events()
        return self._events.add(metric, value)

    def start(self) -> None:
        """Resume the uploads of an earlier run; or draw the secret in advance, if consent needs no question."""
        if is_exposed(str(self.setup.endpoint)):
            self.diagnostics.note(PLAIN_HTTP)
        mode = self.permission.consent().mode
        if not self.setup.background or mode == "off":
            return
        resumes = self.journal.state.exists()
        if not resumes:
            with suppress(StateError, OSError):  # the first report tries again, and counts the failure
                self.journal.apply_mode(mode)
        self.names.note_versions()
        resumes = self._review() or resumes
        if resumes and mode == "on":
            self.refresh()
            self.uploader.resume()

    def record(self, metric: str, value: object, strata: Mapping[str, object] = NONE_GIVEN) -> None:
        """Make a report of an answer, and wake the uploader."""
        if self.stopped.reason:
            self.stopped.unrecorded += 1
            return
        try:
            reviewed = self._events is not None and self._review()
            if self.make_report(metric, value, strata) or reviewed:
                self._reported()
        except Exception as error:
            self._unrecorded("record", error)

    def add(self, metric: str, value: object) -> None:
        """Take an event, and report the periods that have ended."""
        if self.stopped.reason:
            self.stopped.unrecorded += 1
            return
        try:
            if self.take_event(metric, value):
                self._reported()
        except Exception as error:
            self._unrecorded("add", error)

    def _review(self) -> bool:
        """Report the periods of events that have ended; return whether there is a new report.

        If that fails, it is counted and tried again; answers that the app gives do not depend on it.
        """
        try:
            return self._events is not None and self._events.review()
        except (DitherError, OSError) as error:
            self.diagnostics.failed("events", error)
            return False

    def _reported(self) -> None:
        """Wake the uploader, because there is a new report."""
        if not self.names.noted_versions:
            self.names.note_versions()
        if self.setup.background:
            self.uploader.wake(cut=self.journal.due)
        else:
            self.journal.compact()

    def check_names(self, names: Iterable[str]) -> None:
        """Log if ``names``, which were recorded while telemetry was off, are not all defined; quote none of them.

        One of them may be an answer given in place of a name.
        """
        if unknown := len(set(names) - self.setup.metrics.keys()):
            advice = f"names recorded while telemetry was off: {unknown}; Client(strict=True) says which"
            self.diagnostics.note("unknown metric", advice)

    def _unrecorded(self, place: str, error: Exception) -> None:
        """Handle an error of ``record`` or ``add``: the answer is lost unless it is a mistake of the app's developer.

        If nothing can be sealed, nothing may be stored or sent; all later answers would fail, so disable the client.
        """
        if isinstance(error, self._UNSEALED):
            self._lost = True
            self.disable(error)
        elif not self.diagnostics.caught(place, error, "unknown metric"):
            self._lost = True

    def flush(self, timeout: float) -> bool:
        """Upload now; return whether all waiting reports have arrived."""
        try:
            timeout = min(max(number("timeout", timeout), 0.0), MOST_SECONDS)
            kept, self._lost = not self._lost, False
            return self._flush(timeout) and kept
        except Exception as error:
            self.diagnostics.caught("flush", error)
            return False

    def _flush(self, timeout: float) -> bool:
        if not self.stopped:
            self._review()
        known, outbox = self.refresh(), self.journal.outbox
        dropped = outbox.dropped
        if not self.stopped:
            self.uploader.flush(timeout)
        arrived = known and outbox.next() is None and outbox.dropped == dropped
        return arrived and not self.stopped.lossy

    def preview(self) -> list[bytes]:
        """Return the bodies of the next uploads; in the mode local, those that would be sent."""
        try:
            local = self.permission.consent().mode == "local"
            self.refresh()
            return [entry.body for entry in self.journal.outbox.waiting(local)]
        except Exception as error:
            self.diagnostics.caught("preview", error)
            return []

    def sent(self) -> list[bytes]:
        """Return the bodies of the last uploads that the collector accepted."""
        try:
            self.refresh()
            return [entry.body for entry in self.journal.outbox.history()]
        except Exception as error:
            self.diagnostics.caught("sent", error)
            return []

    def explain(self, body: bytes) -> str:
        """Explain in words what an upload says about its sender."""
        try:
            with importing():
                from .transparency.explain import reading  # noqa: PLC0415 - a program that only records does not need it

            return reading(self.setup.metrics, body, self.language())
        except Exception as error:
            self.diagnostics.caught("explain", error)
            return ""

    def language(self) -> Language:
        """Return the language of what people are shown: English if the app's own texts cannot be used."""
        if self._language is None:
            with importing():
                from dither_shared.languages import Language  # noqa: PLC0415 - a program that only records needs none

                try:
                    self._language = Language.of(self.setup.language)
                except Exception as error:
                    self.diagnostics.caught("language", error)
                    self._language = Language()
                self._language.load()
        return self._language

    def status(self) -> Status:
        """Return the status; at shutdown, when it cannot be read, one that says so."""
        mode: Mode = "off"
        decided_by = "nobody: the consent cannot be read"
        try:
            consent = Consent("off", self.stopped.reason) if self.stopped else self.permission.consent()
            mode, decided_by = consent.mode, consent.decided_by
            with importing():
                from .transparency.status import overview  # noqa: PLC0415 - likewise

            self.refresh()
            self.attempts.conclude()
            return overview(
                self.setup.metrics.values(),
                consent,
                self.permission,
                self.journal,
                self.recorder,
                self.diagnostics,
                self.attempts,
                self.stopped,
                self.setup.today(),
                self.language(),
            )
        except Exception as error:
            self.diagnostics.caught("status", error)
            unrecorded, trouble = self.stopped.unrecorded, dict(self.diagnostics.counts)
            return self._STATUS(mode=mode, decided_by=decided_by, unrecorded=unrecorded, trouble=trouble)

    def pending(self) -> list[str]:
        """Return the metrics to ask the user about."""
        try:
            return self.permission.pending(self.setup.metrics.values())
        except Exception as error:
            self.diagnostics.caught("pending", error)
            return []

    def consent_text(self, metrics: Iterable[str] | None) -> str:
        """Return the text to show before the user is asked."""
        try:
            with importing():
                from .transparency.explain import consent_text  # noqa: PLC0415 - likewise

            setup, today = self.setup, self.setup.today()
            chosen = [metric for metric in self._chosen(metrics) if not metric.expired(today)]
            attributes, entropy = self.recorder.strata.own, setup.entropy or SystemEntropy()
            return consent_text(setup.app, chosen, entropy, today.toordinal(), attributes, self.language())
        except Exception as error:
            self.diagnostics.caught("consent_text", error)
            return ""

    def consent(self, mode: Mode, metrics: Iterable[str] | None) -> bool:
        """Store and apply the user's choice; return whether it is stored."""
        kept = False
        try:
            self.permission.choose(mode, self._chosen(metrics))
            kept = not self.stopped.disabled  # a disabled client may have only a state in memory
            if mode != "off":
                self.journal.begin()
            self.journal.apply_mode(self.permission.consent().mode)
            if mode != "off" and self.stopped.end():
                self.uploader.restart()
            if self._events is not None and not self.stopped:
                self._events.review_again()
                self._review()
        except Exception as error:
            self.diagnostics.caught("consent", error)
        return kept

    def forget(self) -> None:
        """Turn telemetry off, and delete all but the choice."""
        try:
            self.stopped.forget()
            self._stop()
            try:
                self.permission.choose("off", ())
            except OSError:  # the disk may be full, and has space after the deletion
                self.journal.forget()
                self.permission.choose("off", ())
            self.journal.forget()
        except Exception as error:
            self.diagnostics.caught("forget", error)

    def close(self) -> None:
        """Stop uploading, and close all files."""
        try:
            self.stopped.close()
            self._stop()
        except Exception as error:
            self.diagnostics.caught("close", error)

    def refresh(self) -> bool:
        """Read what other processes wrote; return whether that succeeded. Callers show the rest even if not."""
        try:
            self.journal.refresh()
            self.names.look()
        except Exception as error:
            self.diagnostics.failed("reading the state", error)
            return False
        return True

    def disable(self, error: Exception) -> None:
        """Disable the client, because it could not be made; raise what ``Diagnostics.caught`` raises."""
        if is_of_signal_handler(error):
            raise error
        mistake = isinstance(error, ParameterError)
        reason = str(error) if mistake else f"start failed: {described(error, self.diagnostics.folder)}"
        self.stopped.disable(reason)
        if mistake and self.setup.strict:
            raise error
        if isinstance(error, (StateError, OSError)):  # the device's, such as a user without a home: not for a terminal
            self.diagnostics.trouble(f"telemetry is disabled: {reason}")
        else:
            self.diagnostics.note(f"telemetry is disabled: {reason}")

    def after_fork(self) -> None:
        """Start again in a child process."""
        self.uploader.after_fork()
        self.journal.after_fork()

    def _stop(self) -> None:
        self.uploader.stop()
        self.journal.close()

    def _chosen(self, names: Iterable[str] | None) -> list[Metric]:
        metrics = self.setup.metrics
        if names is None:
            return list(metrics.values())
        known = {name: metrics.get(name) for name in names}
        for name, metric in known.items():
            if metric is None:
                raise ParameterError(f"metrics.{name}", f"not defined{meant(name, metrics)}")
        return [metric for metric in known.values() if metric is not None]
