"""The client that an app embeds: its public methods, what they promise, and how one is made.

    telemetry = dither.Client("metrics.toml", endpoint="https://telemetry.example.org", app="notes")
    telemetry.record("theme", "dark")

The promise to the host: no method raises (but see ``strict``), ``record`` waits neither for the network nor for a disk
to be durable, no exit waits for longer than ``exit_wait``, nothing grows without bound. What goes wrong is counted in
``status`` and logged once for each kind. What ``record`` returned from is written to the outbox: it survives a kill -9,
though not a power cut.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from dither_shared.metrics.metric import Metric
from dither_shared.primitives.entropy import Entropy
from dither_shared.sealed import SealKey

from . import forks
from .consent.rules import Mode
from .core import ClientCore, Setup, transport_for
from .outcomes import Outcome, Timer
from .reporting.strata import NONE_GIVEN
from .settings import epsilon_cap, metrics_of, sealed_for, strata_of
from .state.places import check_app_name, state_of
from .state.state import MemoryState
from .transparency.status_fields import Status
from .upload.schedule import SPREAD
from .upload.transport import Transport
from .upload.uploader import EVERY, WAIT


class Client:
    """Telemetry of one app on one device, under local differential privacy.

    ``metrics`` is the path of a ``metrics.toml`` or metrics by name; ``endpoint`` the collector's URL; ``app`` a name
    that no other app has, such as ``org.example.notes``: two apps of one name share consent and reports.
    ``state`` is a folder, a ``MemoryState``, or None for the user's own folder for ``app``.

    By keyword:

    - ``token`` lets the app in at a collector that asks for one: it is the app's, the same for all its users, and so
      tells nothing of anyone.
    - ``strata`` are attributes of this device, such as ``{"platform": "linux"}``, sent in the clear with the reports of
      metrics that declare them.
    - ``seal`` is the collector's key that all reports are sealed for, in place of that of the metrics: ``endpoint`` is
      then a relay's. It needs the package ``cryptography``, and without it the client is disabled; what waits in the
      outbox from before it was given, or taken away, is dropped.
    - ``lifetime_cap`` bounds the epsilon that all metrics together may ever cost this device.
    - ``spread``: each report leaves at a random moment within so many seconds, or on ``flush``.
    - ``exit_wait``: a program that finds a report due and ends at once waits for that upload, for so many seconds at
      most, 0 for not at all, and not more often than every ``exit_every`` seconds.
    - ``background=False`` uploads nothing but on ``flush``, and has no thread in between.
    - ``strict`` is for tests: mistakes of the app's developer (a metric that is not defined, an object that is no
      answer, an attribute that no metric declares, arguments that cannot be) raise ParameterError; otherwise they are
      logged once, and the client stays silent.
    - ``transport`` replaces HTTP, ``entropy`` the system's generator, ``today`` the UTC date, ``environ`` the
      surroundings in which consent is looked for, ``policy`` the administrator's file.
    """

    _OUTCOME, _TIMER = Outcome, Timer  # held here, for at shutdown the names of this module may be None

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
        strata: Mapping[str, object] = NONE_GIVEN,
        seal: str | SealKey | None = None,
    ) -> None:
        setup = Setup(app=app, endpoint=endpoint, background=background, strict=strict)
        setup = replace(setup, entropy=entropy or setup.entropy, today=today or setup.today)
        core: ClientCore | None = None
        try:
            check_app_name(app)
            setup = replace(setup, metrics=sealed_for(seal, metrics_of(metrics)))
            setup = replace(setup, transport=transport_for(setup.metrics, transport, endpoint, token))
            cap = epsilon_cap("lifetime_cap", lifetime_cap)
            setup = replace(setup, lifetime_cap=cap, state=state_of(state, app))
            rest: dict[str, Any] = {"spread": spread, "exit_wait": exit_wait, "exit_every": exit_every}
            rest |= {"environ": environ, "policy": policy, "strata": strata_of(strata)}
            self._core = core = ClientCore(replace(setup, **rest))
            core.start()
        except Exception as error:
            self._core = core or ClientCore(setup)
            self._core.disable(error)
        forks.watch(self)

    def __repr__(self) -> str:
        return f"Client({', '.join(sorted(self._core.setup.metrics))})"

    def record(self, metric: str, value: object, **strata: object) -> None:
        """Answer ``metric`` with ``value``, if the user consents and it was not answered in this period yet.

        The first answer of a period counts; later ones are ignored and counted. An answer outside the metric's domain
        is reported under the catch-all label, or as the end of its range. ``strata`` are attributes that the metric
        declares, such as ``platform="linux"``, in place of those of the client: they are sent in the clear, "other"
        for what is not listed or not given. Returns at once. Raises only ParameterError, for a mistake of the app's
        developer, and only if ``strict``.
        """
        self._core.record(metric, value, strata)

    def outcome(self, metric: str, ok: object = True, failed: object = False, **strata: object) -> Outcome:
        """Return a context manager and decorator that answers ``metric`` with whether its work succeeded."""
        return self._OUTCOME(self.record, metric, ok, failed, strata)

    def timer(self, metric: str, **strata: object) -> Timer:
        """Return a context manager and decorator that answers ``metric`` with the seconds that its work took."""
        return self._TIMER(self.record, metric, strata)

    def flush(self, timeout: float = 5.0) -> bool:
        """Upload now, and wait up to ``timeout`` seconds; return whether all that waited has arrived.

        False, too, if that cannot be known, for the state cannot be read; and if answers went nowhere: one could not
        be kept since the last flush, the client could not be made, or it was closed before they were given.
        It ends early once all that is left must expect to fail; ``status`` says why. A report that the collector put
        off (Retry-After) waits nevertheless.
        """
        return self._core.flush(timeout)

    def preview(self) -> list[bytes]:
        """Return the exact bodies of the next uploads, oldest first; in the mode local, those that would have been.

        What is sealed not even this device can open: its row was never stored. In the mode local nothing leaves, so
        nothing is sealed, and the row can be read; ``consent_text`` shows a row and how it is sealed.
        """
        return self._core.preview()

    def sent(self) -> list[bytes]:
        """Return the exact bodies of the last uploads that the collector accepted, oldest first."""
        return self._core.sent()

    def explain(self, body: bytes) -> str:
        """Return in words what an upload says of its sender; "" if its bytes say it better.

        ``body`` is one of those that are previewed or were sent.
        """
        return self._core.explain(body)

    def status(self) -> Status:
        """Return the mode and what decided it, what each metric costs and has spent, and what became of reports."""
        return self._core.status()

    def pending(self) -> list[str]:
        """Return the metrics to ask the user about: all of them, or those that are new or changed; none after "off".

        Nothing is collected for them until the user has seen them, for example by ``consent_text(pending())``, and
        ``consent`` is called.
        """
        return self._core.pending()

    def consent_text(self, metrics: Iterable[str] | None = None) -> str:
        """Return what to show before ``consent`` is called: each question, why, who reads it, its price, its bytes.

        ``metrics`` are names, for example those that are ``pending``; all that are not over, if left out.
        """
        return self._core.consent_text(metrics)

    def consent(self, mode: Mode, metrics: Iterable[str] | None = None) -> bool:
        """Store the user's choice: "off", "local" or "on", for ``metrics`` (all, if left out) as they were shown.

        Returns whether it is kept on this device. If not, for the disk is full, say, or this client could not be made,
        ``status`` says why, and a yes changes nothing.

        The environment and a policy may still overrule it. With "off" everything is off, whatever is named, and reports
        that wait are dropped; with "on", those are that were made for the user's eyes only. After ``forget``, "local"
        and "on" begin anew. Raises only ParameterError, for a mistake, and only if ``strict``.
        """
        return self._core.consent(mode, metrics)

    def forget(self) -> None:
        """Turn telemetry off and delete the secret, the ledger and the outbox.

        This client then stays silent until ``consent`` is called with "local" or "on".
        Reports that were sent carry no identity, so nobody can find them again, and they cannot be recalled.
        """
        self._core.forget()

    def close(self) -> None:
        """Stop, without waiting. What is not sent stays for the next run; what is recorded from now on is ignored."""
        self._core.close()

    def after_fork(self) -> None:
        """Start again in a child process; called there by itself."""
        self._core.after_fork()
