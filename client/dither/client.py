"""The client that an app embeds: thin plumbing between consent, ledger, mechanism, outbox and worker.

    telemetry = dither.Client("metrics.toml", endpoint="https://telemetry.example.org", app="notes")
    telemetry.record("theme", "dark")

The promise to the host: no method raises (but see ``strict``), ``record`` waits neither for the network nor for a disk
to be durable, no exit is delayed, nothing grows without bound. What goes wrong is counted in ``status`` and logged once
for each kind. What ``record`` returned from is written to the outbox: it survives a kill -9, though not a power cut.
"""

import os
import weakref
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path

from dither_shared.entropy import Entropy, SystemEntropy
from dither_shared.errors import ParameterError
from dither_shared.metric import Metric, load_metrics

from .consent import Consent, checked_mode, decide
from .folder import FolderState, default_folder
from .journal import Journal
from .ledger import NO_DIGEST
from .records import Done
from .reports import build
from .sender import Sender
from .state import MemoryState, State
from .status import Status, metric_status
from .transport import HttpTransport, Transport
from .trouble import Trouble
from .worker import Worker

__all__ = ["Client"]

_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()


class Client:
    """Telemetry of one app on one device, under local differential privacy.

    ``metrics`` is the path of a ``metrics.toml`` or metrics by name; ``endpoint`` the collector's URL; ``app`` a short
    name for the app. ``state`` is a folder, a ``MemoryState``, or None for the user's own folder for ``app``.

    Keyword arguments: ``transport`` replaces HTTP; ``entropy`` the system's generator; ``today`` the UTC date;
    ``environ`` the environment in which consent is looked for. ``background=False`` uploads nothing but on ``flush``.
    ``strict`` is for tests: mistakes of the app's developer (a metric that is not defined, definitions or an endpoint
    that cannot be) raise ParameterError; otherwise the client stays silent.
    """

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
    ) -> None:
        self._trouble = Trouble()
        self._strict, self._background = strict, background
        self._environ = os.environ if environ is None else environ
        self._entropy = entropy or SystemEntropy()
        self._metrics: Mapping[str, Metric] = {}
        self._ignored = self._outside = 0
        self._silent = False  # because it is closed, or has no metrics that it could read
        self._state = _state(state, app)
        self._today = today or _utc_today
        self._journal = Journal(self._state, self._entropy, lambda: self._today().toordinal())
        self._worker = Worker(self._nothing, self._upload_failed)
        try:
            transport = transport or HttpTransport(endpoint)
            self._metrics = metrics if isinstance(metrics, Mapping) else load_metrics(metrics)
            sender = Sender(self._journal, transport, lambda: self._consent().mode == "on")
            self._worker = Worker(sender.step, self._upload_failed)
            self._resume()
        except ParameterError as error:
            if strict:
                raise
            self._silent = True
            self._trouble.note("telemetry is disabled", str(error))
        except Exception as error:
            self._silent = True
            self._trouble.failed("start", error)
        _clients.add(self)

    def __repr__(self) -> str:
        return f"Client({', '.join(sorted(self._metrics))})"

    def record(self, metric: str, value: object) -> None:
        """Answer ``metric`` with ``value``, if the user consents and it was not answered in this period yet.

        The first answer of a period counts; later ones are ignored and counted. An answer outside the metric's domain
        is reported under the catch-all label. Returns at once. Raises only ParameterError, for a metric that is not
        defined, and only if ``strict``.
        """
        try:
            self._record(metric, value)
        except ParameterError as error:
            if self._strict:
                raise
            self._trouble.note("unknown metric", str(error))
        except Exception as error:
            self._trouble.failed("record", error)

    def preview(self) -> list[bytes]:
        """Return the exact bodies of the next uploads, oldest first; in the mode local, those that would have been."""
        try:
            local = self._consent().mode == "local"
            self._refresh()
            return [entry.body for entry in self._journal.outbox.waiting(local)]
        except Exception as error:
            self._trouble.failed("preview", error)
            return []

    def status(self) -> Status:
        """Return the mode and what decided it, what each metric costs and has spent, and what became of reports."""
        try:
            self._refresh()
            return self._status()
        except Exception as error:
            self._trouble.failed("status", error)
            return Status.disabled(self._consent(), dict(self._trouble.counts))

    def consent(self, mode: str) -> None:
        """Store the user's choice: "off", "local" or "on". The environment may still overrule it.

        With "off", reports that wait are dropped; with "on", those that were made for the user's eyes only. Raises only
        ParameterError, for another mode, and only if ``strict``.
        """
        try:
            self._state.choose(checked_mode(mode))
            if self._state.exists():
                self._discard()
        except ParameterError as error:
            if self._strict:
                raise
            self._trouble.note("unknown mode", str(error))
        except Exception as error:
            self._trouble.failed("consent", error)

    def flush(self, timeout: float = 5.0) -> bool:
        """Upload now, and wait up to ``timeout`` seconds; return whether nothing waits to be sent any more.

        A moment for which the collector asked (Retry-After) is heeded nevertheless.
        """
        try:
            if self._silent or self._consent().mode != "on":
                return self._journal.outbox.next() is None
            self._refresh()
            if self._journal.outbox.next() is None:
                return True
            self._worker.flush(timeout)
            return self._journal.outbox.next() is None
        except Exception as error:
            self._trouble.failed("flush", error)
            return False

    def close(self) -> None:
        """Stop, without waiting. What is not sent stays for the next run; what is recorded from now on is ignored."""
        try:
            self._silent = True
            self._worker.close()
        except Exception as error:
            self._trouble.failed("close", error)

    def _record(self, name: str, value: object) -> None:
        if self._silent:
            return
        metric = self._metrics.get(name)
        if metric is None:
            raise ParameterError(f"metrics.{name}", "not defined")
        mode = self._consent().mode
        if mode == "off":
            return
        # Looked at before the locks are taken, too: most calls end here.
        if not self._journal.ledger.open_to(metric, self._today().toordinal()):
            self._ignored += 1
            return
        if self._report(metric, value, local=mode == "local") and mode == "on" and self._background:
            self._worker.wake()

    def _report(self, metric: Metric, value: object, *, local: bool) -> bool:
        """Debit, then draw, then queue: in this order, so that whatever fails leaves the ledger on the safe side."""
        item = metric.item(value)
        journal = self._journal
        with journal.transaction() as today:
            if not journal.ledger.open_to(metric, today):
                self._ignored += 1
                return False
            keys = journal.keys()
            digest = NO_DIGEST if metric.mechanism.forever_ratio is None else keys.digest(metric, item)
            journal.write(journal.ledger.debit(metric, today, digest))
            journal.write(build(metric, item, keys, self._entropy, today, local))
            journal.trim(today)
        self._outside += _is_outside(metric, value)
        return True

    def _consent(self) -> Consent:
        try:
            choice = self._state.choice()
        except OSError as error:
            self._trouble.failed("consent", error)
            choice = ""
        return decide(self._environ, choice)

    def _discard(self) -> None:
        """Drop what the mode that now holds will never send."""
        mode = self._consent().mode
        with self._journal.transaction():
            outbox = self._journal.outbox
            entries = outbox.waiting(local=True) if mode != "local" else []
            entries += outbox.waiting() if mode == "off" else []
            for entry in entries:
                self._journal.write(Done(entry.batch, "dropped"))

    def _refresh(self) -> None:
        """Read what other processes wrote; what cannot be read is no reason to show nothing."""
        try:
            if self._state.exists():
                with self._journal.transaction():
                    pass
        except Exception as error:
            self._trouble.failed("reading the state", error)

    def _resume(self) -> None:
        """Go on with what an earlier run left unsent."""
        if self._background and self._consent().mode == "on" and self._state.exists():
            self._refresh()
            if self._journal.outbox.next() is not None:
                self._worker.wake()

    def _status(self) -> Status:
        consent, today = self._consent(), self._today().toordinal()
        ledger, outbox = self._journal.ledger, self._journal.outbox
        return Status(
            mode=consent.mode,
            decided_by=consent.decided_by,
            metrics=tuple(metric_status(metric, ledger, today) for metric in self._metrics.values()),
            queued=len(outbox.waiting()),
            shown=len(outbox.waiting(local=True)),
            sent=outbox.sent,
            dropped=outbox.dropped,
            ignored=self._ignored,
            outside=self._outside,
            trouble=dict(self._trouble.counts),
        )

    def _upload_failed(self, error: Exception) -> None:
        self._trouble.failed("upload", error)

    def _nothing(self) -> None:
        """Stand in for uploading in a client that is disabled."""

    def _after_fork(self) -> None:
        self._journal.after_fork()
        self._worker.after_fork()


def _state(state: str | Path | MemoryState | None, app: str) -> State:
    if isinstance(state, MemoryState):
        return state
    return FolderState(default_folder(app) if state is None else Path(state))


def _utc_today() -> date:
    return datetime.now(UTC).date()


def _is_outside(metric: Metric, value: object) -> bool:
    """Return whether an answer was not one of the domain's, and so went to the catch-all label."""
    if not isinstance(value, str | int | float):
        return True
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return metric.domain is not None and text not in metric.domain


def _after_fork_in_child() -> None:
    for client in list(_clients):
        client._after_fork()  # noqa: SLF001 - one module, one hook for all its clients


if hasattr(os, "register_at_fork"):  # not on Windows, where there is no fork
    os.register_at_fork(after_in_child=_after_fork_in_child)
