"""Controls: what a user can see of telemetry, and decide; the half of a client that a settings page calls."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import ClassVar

from dither_shared.errors import ParameterError, did_you_mean
from dither_shared.metrics.metric import Metric
from dither_shared.primitives.entropy import Entropy

from ..consent.permission import Permission
from ..consent.rules import Consent, Mode
from ..consent.silence import Silence
from ..diagnostics import Diagnostics, Guard
from ..reporting.journal import Journal
from ..reporting.namesakes import NameWatch
from ..reporting.recorder import Recorder
from ..upload.attempts import Attempts
from ..upload.uploader import Uploader
from .status_fields import Status


@dataclass(frozen=True, kw_only=True)
class Controls:
    """Shows and stores, around the parts of a client; what each method does for an app stands at ``Client``.

    Like the rest of a client it raises nothing but mistakes of the app's developer.
    """

    app: str
    metrics: Mapping[str, Metric]
    entropy: Entropy
    today: Callable[[], date]
    permission: Permission
    journal: Journal
    names: NameWatch
    recorder: Recorder
    attempts: Attempts
    uploader: Uploader
    silence: Silence
    diagnostics: Diagnostics
    guard: Guard

    _STATUS: ClassVar = Status  # held here, for at shutdown the names of this module may be None

    def preview(self) -> list[bytes]:
        """Return the bodies of the next uploads; in the mode local, those that would have been."""
        try:
            local = self.permission.consent().mode == "local"
            self.refresh()
            return [entry.body for entry in self.journal.outbox.waiting(local)]
        except Exception as error:
            self.guard.caught("preview", error)
            return []

    def sent(self) -> list[bytes]:
        """Return the bodies of the last uploads that the collector accepted."""
        try:
            self.refresh()
            return [entry.body for entry in self.journal.outbox.history()]
        except Exception as error:
            self.guard.caught("sent", error)
            return []

    def explain(self, body: bytes) -> str:
        """Return in words what an upload says of its sender."""
        try:
            from .explain import reading  # noqa: PLC0415 - a program that only records has no use for it

            return reading(self.metrics, body)
        except Exception as error:
            self.guard.caught("explain", error)
            return ""

    def status(self) -> Status:
        """Return the status; at shutdown, when little can be known, one that says so."""
        mode: Mode = "off"
        decided_by = "nobody: the consent cannot be read"
        try:
            consent = self._consent_now()
            mode, decided_by = consent.mode, consent.decided_by
            from .status import overview  # noqa: PLC0415 - likewise

            self.refresh()
            self.attempts.conclude()
            return overview(
                self.metrics.values(),
                consent,
                self.permission,
                self.journal,
                self.recorder,
                self.diagnostics,
                self.attempts,
                self.silence,
                self.today(),
            )
        except Exception as error:
            self.guard.caught("status", error)
            unrecorded, trouble = self.silence.unrecorded, dict(self.diagnostics.counts)
            return self._STATUS(mode=mode, decided_by=decided_by, unrecorded=unrecorded, trouble=trouble)

    def pending(self) -> list[str]:
        """Return the metrics to ask the user about."""
        try:
            return self.permission.pending(self.metrics.values())
        except Exception as error:
            self.guard.caught("pending", error)
            return []

    def consent_text(self, metrics: Iterable[str] | None) -> str:
        """Return what to show before the user is asked."""
        try:
            from .explain import consent_text  # noqa: PLC0415 - likewise

            today = self.today()
            chosen = [metric for metric in self._chosen(metrics) if not metric.expired(today)]
            return consent_text(self.app, chosen, self.entropy, today.toordinal(), self.recorder.strata.own)
        except Exception as error:
            self.guard.caught("consent_text", error)
            return ""

    def consent(self, mode: Mode, metrics: Iterable[str] | None) -> bool:
        """Store the user's choice, and do what follows from it; return whether it is kept."""
        kept = False
        try:
            self.permission.choose(mode, self._chosen(metrics))
            kept = not self.silence.disabled  # one that could not be made has no state but in memory, maybe
            if mode != "off":
                self.journal.begin()
            self.journal.settle(self.permission.consent().mode)
            if mode != "off" and self.silence.end():
                self.uploader.restart()
        except Exception as error:
            self.guard.caught("consent", error)
        return kept

    def forget(self) -> None:
        """Turn telemetry off, and delete all but the choice."""
        try:
            self.silence.forget()
            self.stop()
            try:
                self.permission.choose("off", ())
            except OSError:  # for lack of room, maybe, of which there is more when all is deleted
                self.journal.forget()
                self.permission.choose("off", ())
            self.journal.forget()
        except Exception as error:
            self.guard.caught("forget", error)

    def stop(self) -> None:
        """Send nothing more, and keep no file open."""
        self.uploader.stop()
        self.journal.close()

    def refresh(self) -> bool:
        """Read what other processes wrote; return whether that is possible. If not, it is no reason to show nothing."""
        try:
            self.journal.refresh()
            self.names.look(at_notes=True)
        except Exception as error:
            self.diagnostics.failed("reading the state", error)
            return False
        return True

    def _consent_now(self) -> Consent:
        """Return the consent that holds, off if this client does nothing whatever was chosen."""
        return Consent("off", self.silence.reason) if self.silence else self.permission.consent()

    def _chosen(self, names: Iterable[str] | None) -> list[Metric]:
        if names is None:
            return list(self.metrics.values())
        known = {name: self.metrics.get(name) for name in names}
        for name, metric in known.items():
            if metric is None:
                raise ParameterError(f"metrics.{name}", f"not defined{did_you_mean(name, self.metrics)}")
        return [metric for metric in known.values() if metric is not None]
