"""Oversight: what a user can see of telemetry, and decide; the half of a client that a settings page calls."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import date

from dither_shared.errors import ParameterError, did_you_mean
from dither_shared.metrics.metric import Metric
from dither_shared.primitives.entropy import Entropy

from ..consent.permission import Permission
from ..consent.rules import Consent, Mode
from ..consent.silence import Silence
from ..diagnostics import Diagnostics
from ..reporting.journal import Journal
from ..reporting.namesakes import ADVICE, namesakes, noted, returns_in
from ..reporting.recorder import Recorder
from ..state.state import StateError
from ..upload.attempts import Attempts
from .status_fields import Status

__all__ = ["Oversight"]


class Oversight:
    """Shows and stores; like the rest of a client it raises nothing but mistakes of the app's developer."""

    _app: str
    _strict: bool
    _metrics: Mapping[str, Metric]
    _today: Callable[[], date]
    _entropy: Entropy
    _permission: Permission
    _journal: Journal
    _recorder: Recorder
    _diagnostics: Diagnostics
    _told_of_namesakes: bool = False
    _attempts: Attempts
    _silent: Silence
    _MISTAKE = ParameterError  # held here, for at shutdown the names of this module may be None
    _STATUS = Status

    def _stop(self) -> None:
        """Send nothing more."""
        raise NotImplementedError

    def _restart(self) -> None:
        """Go on after ``_stop``, as if everything began here."""
        raise NotImplementedError

    def preview(self) -> list[bytes]:
        """Return the exact bodies of the next uploads, oldest first; in the mode local, those that would have been."""
        try:
            local = self._permission.consent().mode == "local"
            self._refresh()
            return [entry.body for entry in self._journal.outbox.waiting(local)]
        except Exception as error:
            self._failed("preview", error)
            return []

    def sent(self) -> list[bytes]:
        """Return the exact bodies of the last uploads that the collector accepted, oldest first."""
        try:
            self._refresh()
            return [entry.body for entry in self._journal.outbox.history()]
        except Exception as error:
            self._failed("sent", error)
            return []

    def explain(self, body: bytes) -> str:
        """Return in words what an upload says of its sender; "" if its bytes say it better.

        ``body`` is one of those that are previewed or were sent.
        """
        try:
            from .explain import reading  # noqa: PLC0415 - a program that only records has no use for it

            return reading(self._metrics, body)
        except Exception as error:
            self._failed("explain", error)
            return ""

    def status(self) -> Status:
        """Return the mode and what decided it, what each metric costs and has spent, and what became of reports."""
        mode: Mode = "off"
        decided_by = "nobody: the consent cannot be read"
        try:
            consent = self._consent_now()
            mode, decided_by = consent.mode, consent.decided_by
            from .status import overview  # noqa: PLC0415 - likewise

            self._refresh()
            self._attempts.conclude()
            return overview(
                self._metrics.values(),
                consent,
                self._permission,
                self._journal,
                self._recorder,
                self._diagnostics,
                self._attempts,
                self._silent,
                self._today(),
            )
        except Exception as error:
            self._failed("status", error)
            unrecorded, trouble = self._silent.unrecorded, dict(self._diagnostics.counts)
            return self._STATUS(mode=mode, decided_by=decided_by, unrecorded=unrecorded, trouble=trouble)

    def pending(self) -> list[str]:
        """Return the metrics to ask the user about: all of them, or those that are new or changed; none after "off".

        Nothing is collected for them until the user has seen them, for example by ``consent_text(pending())``, and
        ``consent`` is called.
        """
        try:
            return self._permission.pending(self._metrics.values())
        except Exception as error:
            self._failed("pending", error)
            return []

    def consent_text(self, metrics: Iterable[str] | None = None) -> str:
        """Return what to show before ``consent`` is called: each question, why, who reads it, its price, its bytes.

        ``metrics`` are names, for example those that are ``pending``; all that are not over, if left out.
        """
        try:
            from .explain import consent_text  # noqa: PLC0415 - likewise

            today = self._today()
            chosen = [metric for metric in self._chosen(metrics) if not metric.expired(today)]
            return consent_text(self._app, chosen, self._entropy, today.toordinal())
        except Exception as error:
            self._failed("consent_text", error)
            return ""

    def consent(self, mode: Mode, metrics: Iterable[str] | None = None) -> None:
        """Store the user's choice: "off", "local" or "on", for ``metrics`` (all, if left out) as they were shown.

        The environment and a policy may still overrule it. With "off", reports that wait are dropped; with "on", those
        that were made for the user's eyes only. After ``forget``, "local" and "on" begin anew. Raises only
        ParameterError, for a mistake, and only if ``strict``.
        """
        try:
            self._permission.choose(mode, self._chosen(metrics))
            if mode != "off":
                self._journal.begin()
            self._journal.settle(self._permission.consent().mode)
            if mode != "off" and self._silent.end():
                self._restart()
        except Exception as error:
            self._failed("consent", error)

    def forget(self) -> None:
        """Turn telemetry off and delete the secret, the ledger and the outbox.

        This client then stays silent until ``consent`` is called with "local" or "on".
        Reports that were sent carry no identity, so nobody can find them again, and they cannot be recalled.
        """
        try:
            self._silent.forget()
            self._stop()
            try:
                self._permission.choose("off", ())
            except OSError:  # for lack of room, maybe, of which there is more when all is deleted
                self._journal.forget()
                self._permission.choose("off", ())
            self._journal.forget()
        except Exception as error:
            self._failed("forget", error)

    def _consent_now(self) -> Consent:
        """Return the consent that holds, off if this client does nothing whatever was chosen."""
        return Consent("off", self._silent.why) if self._silent else self._permission.consent()

    def _chosen(self, names: Iterable[str] | None) -> list[Metric]:
        if names is None:
            return list(self._metrics.values())
        known = {name: self._metrics.get(name) for name in names}
        for name, metric in known.items():
            if metric is None:
                raise ParameterError(f"metrics.{name}", f"not defined{did_you_mean(name, self._metrics)}")
        return [metric for metric in known.values() if metric is not None]

    def _failed(self, place: str, error: Exception, mistake: str = "") -> None:
        """Raise a mistake of the app's developer if ``strict``; count and log everything else.

        Whatever a public method catches comes here. At the interpreter's shutdown, when the names of all modules may be
        None, nothing is told, and nothing raised either.
        """
        wrong = isinstance(error, self._MISTAKE)
        if wrong and self._strict:
            raise error
        try:
            if wrong:
                self._diagnostics.note(mistake or f"{place} was called with a mistake", str(error))
            else:
                self._diagnostics.failed(place, error)
        except Exception:  # noqa: S110 - there is nobody left to tell
            pass

    def _refresh(self) -> bool:
        """Read what other processes wrote; return whether that is possible. If not, it is no reason to show nothing."""
        try:
            self._journal.refresh()
            self._look_for_namesakes(self._notes())
        except Exception as error:
            self._diagnostics.failed("reading the state", error)
            return False
        return True

    def _note_versions(self) -> None:
        """Note what this program asks, for whoever wonders whether another goes by its name."""
        notes = noted(self._notes(), self._metrics, self._today().toordinal())
        if notes is not None:
            with suppress(StateError, OSError):  # then another start may note it
                self._journal.state.remember("versions", notes)

    def _notes(self) -> bytes:
        with suppress(StateError, OSError):
            return self._journal.state.recall("versions")
        return b""

    def _look_for_namesakes(self, notes: bytes = b"") -> None:
        """Say once if another app seems to go by the same name; ``notes`` are of the versions that programs asked."""
        returns = self._journal.ledger.returns
        if (returns or notes) and not self._told_of_namesakes:
            returns = {**returns_in(notes), **returns}
            found = namesakes(self._app, self._metrics, returns, self._today().toordinal())
            if found is not None:
                self._told_of_namesakes = True
                self._diagnostics.note(found, ADVICE)
