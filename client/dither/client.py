"""The client that an app embeds: its public methods, what they promise, and how one is made.

    telemetry = dither.Client("metrics.toml", endpoint="https://telemetry.example.org", app="notes")
    telemetry.record("theme", "dark")

The promises to the host: no method raises (but see ``strict``), ``record`` waits neither for the network nor for
``fsync``, no exit waits longer than ``exit_wait``, and memory and disk space are bounded. Problems are counted in
``status``, and the first of each kind is logged. When ``record`` returns, the report is written to the outbox: it
survives a kill -9, though not a power cut.
"""

from __future__ import annotations

import math

from dither_shared.light import MappingProxyType, cast, new_rlock, suppress
from dither_shared.metrics.period import utc_today

from . import forks
from .consent.permission import Permission
from .diagnostics import Diagnostics
from .outcomes import Outcome, Timer
from .settings import EVERY, NONE_GIVEN, SPREAD, WAIT, epsilon_cap, metrics_of, sealed_for, strata_of
from .state.folder import check_app_name, state_of
from .transparency.status_fields import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date
    from os import PathLike

    from dither_shared.languages import Language
    from dither_shared.metrics.metric import Metric
    from dither_shared.primitives.entropy import Entropy
    from dither_shared.seal_key import SealKey

    from .consent.rules import Mode
    from .core import ClientCore, Setup
    from .state.state import MemoryState
    from .upload.transport import Transport


class _NoSetup:
    """What remains of the arguments of a client that could not be made."""

    metrics = ()


class _Gone:
    """The core of a client that was off until the interpreter shut down, when nothing more can be imported."""

    setup = _NoSetup
    _status = Status("off", "nobody: the interpreter is shutting down")
    _empty: Mapping[str, object] = MappingProxyType(
        {"explain": "", "consent_text": "", "flush": False, "consent": False, "record": None, "add": None}
    )

    def __getattr__(self, name: str) -> Callable[..., object]:
        empty = self._status if name == "status" else self._empty.get(name, [])
        return lambda *_: empty


_GONE = cast("ClientCore", _Gone())


class Client:
    """Telemetry of one app on one device, under local differential privacy.

    ``metrics`` is the path of a ``metrics.toml``, or metrics by name; ``endpoint`` is the collector's URL; ``app`` is a
    unique name such as ``org.example.notes``, because two apps of one name share consent and reports. ``state`` is a
    folder, a ``MemoryState``, or None for the user's own folder for ``app``.

    By keyword:

    - ``token`` authorizes the app at a collector that requires one. All users of the app have the same token, so it
      identifies nobody.
    - ``strata`` are attributes of this device, such as ``{"platform": "linux"}``, which are sent in the clear with the
      reports of metrics that declare them.
    - ``seal`` is the collector's key for which all reports are sealed, in place of the keys of the metrics; then
      ``endpoint`` is a relay's. It needs the package ``cryptography``, without which the client is disabled. When an
      app starts or stops sealing, reports that wait in the outbox are dropped.
    - ``lifetime_cap`` bounds the epsilon that all metrics together may ever cost this device.
    - ``language`` is that of what people are shown: "en", "de", or texts of the app's own, by their identifiers.
    - ``https_proxy=True`` sends through the proxy that ``HTTPS_PROXY`` names, unless ``NO_PROXY`` exempts the
      collector; otherwise the environment's proxies are not used.
    - ``spread``: each report leaves at a random moment within this many seconds, or on ``flush``.
    - ``exit_wait``: a program that finds a report due at its start and ends at once waits for that upload, for at most
      this many seconds (0 disables that), and not within ``exit_every`` seconds of a wait in vain.
    - ``background=False`` uploads only on ``flush``, and starts no thread.
    - ``strict`` is for tests: mistakes of the app's developer (an undefined metric, an object that is not an answer, an
      undeclared attribute, impossible arguments) raise ParameterError; otherwise they are logged once, and the client
      stays silent.
    - ``transport`` replaces HTTP, ``entropy`` the system's random generator, ``today`` the UTC date, ``environ`` the
      environment in which consent is looked up, and ``policy`` the administrator's file.
    """

    _gone, _importing = _GONE, staticmethod(forks.importing)
    _MOST_NAMED = 100
    _OUTCOME, _TIMER = Outcome, Timer  # kept here, because at shutdown the names of this module may be None

    def __init__(
        self,
        metrics: str | PathLike[str] | Mapping[str, Metric],
        endpoint: str,
        app: str,
        state: str | PathLike[str] | MemoryState | None = None,
        *,
        transport: Transport | None = None,
        entropy: Entropy | None = None,
        today: Callable[[], date] | None = None,
        strict: bool = False,
        background: bool = True,
        environ: Mapping[str, str] | None = None,
        policy: str | PathLike[str] | None = None,
        lifetime_cap: float = math.inf,
        spread: float = SPREAD,
        token: str | None = None,
        exit_wait: float = WAIT,
        exit_every: float = EVERY,
        strata: Mapping[str, object] = NONE_GIVEN,
        seal: str | SealKey | None = None,
        language: str | Mapping[str, str] | Language = "en",
        https_proxy: bool = False,
    ) -> None:
        def build() -> ClientCore:
            from .core import Setup  # noqa: PLC0415 - who is off does not pay for it

            setup = Setup(app, endpoint=endpoint, transport=transport, entropy=entropy, today=today or utc_today)
            setup = setup._replace(environ=environ, policy=policy, strata=strata, lifetime_cap=lifetime_cap)
            setup = setup._replace(spread=spread, exit_wait=exit_wait, exit_every=exit_every, background=background)
            setup = setup._replace(strict=strict, language=language)
            return _core_of(setup, metrics, state, seal, token, self._named, https_proxy=https_proxy)

        self._build, self._building = build, new_rlock()
        self._named: set[str] = set()  # the first names recorded while it was off; checked when the core is made
        self._built: ClientCore | None = None
        self._off = _never if strict else _off_by(state, app, environ, policy)
        if not self._off():
            _ = self._core
        forks.watch(self)

    def _is_off(self, metric: object) -> bool:
        """Return whether telemetry is off, and then remember that ``metric`` was recorded."""
        off = self._off()
        if off and type(metric) is str and len(self._named) < self._MOST_NAMED:
            self._named.add(metric)
        return off

    @property
    def _core(self) -> ClientCore:
        """The object behind the methods: made when telemetry is not off, or when more is asked of the client."""
        core = self._built
        if core is None:
            try:
                with self._building, self._importing():
                    core = self._built = self._built or self._build()
            except (ImportError, AttributeError, TypeError):  # the interpreter shuts down
                return self._gone
        return core

    @_core.setter
    def _core(self, core: ClientCore) -> None:
        self._built = core

    def __repr__(self) -> str:
        return f"Client({', '.join(sorted(self._core.setup.metrics))})"

    def record(self, metric: str, value: object, **strata: object) -> None:
        """Answer ``metric`` with ``value`` if the user consents and there was no answer in this period yet.

        The first answer of a period is reported; later ones are ignored and counted. An answer outside the metric's
        domain is reported under the catch-all label, or as the end of its range. ``strata`` are attributes that the
        metric declares, such as ``platform="linux"``, in place of those of the client. They are sent in the clear, and
        as "other" if they are not listed or missing. Returns at once. Raises only ParameterError, for a mistake of the
        app's developer, and only if ``strict``.
        """
        if self._built is None and self._is_off(metric):
            return
        (self._built or self._core).record(metric, value, strata)

    def add(self, metric: str, value: object = 1) -> None:
        """Note an event of a metric that has ``of`` in its definition: the device forms the answer of its events.

        ``value`` is a number for ``sum`` and ``max``, one of the listed values for ``set`` and ``furthest``, whether it
        is an event at all for ``any``, and of no meaning for ``count`` and ``days``. The answer of a day, week or month
        is reported at the first call in a later one, also if nothing was added. Until then the state folder holds what
        dither/reporting/events.py lists. Returns at once; raises like ``record``.
        """
        if self._built is None and self._is_off(metric):
            return
        (self._built or self._core).add(metric, value)

    def outcome(self, metric: str, ok: object = True, failed: object = False, **strata: object) -> Outcome:
        """Return a context manager and decorator that answers ``metric`` with whether its work succeeded."""
        return self._OUTCOME(self.record, metric, ok, failed, strata)

    def timer(self, metric: str, **strata: object) -> Timer:
        """Return a context manager and decorator that answers ``metric`` with the seconds that its work took."""
        return self._TIMER(self.record, metric, strata)

    def flush(self, timeout: float = 5.0) -> bool:
        """Upload now, and wait up to ``timeout`` seconds; return whether all waiting reports have arrived.

        Also returns False if the state cannot be read (then nobody knows), and if answers were lost: one could not be
        written since the last flush, or the client could not be made or was closed before. Ends early if all remaining
        uploads must be expected to fail; ``status`` says why. A report that the collector postponed (Retry-After) is
        not sent earlier.
        """
        return self._core.flush(timeout)

    def preview(self) -> list[bytes]:
        """Return the exact bodies of the next uploads, oldest first; in the mode local, those that would be sent.

        Not even this device can open a sealed body, because its row was never stored. In the mode local nothing leaves,
        so nothing is sealed, and the row can be read; ``consent_text`` shows a row and how it is sealed.
        """
        return self._core.preview()

    def sent(self) -> list[bytes]:
        """Return the exact bodies of the last uploads that the collector accepted, oldest first."""
        return self._core.sent()

    def explain(self, body: bytes) -> str:
        """Explain in words what an upload says about its sender; return "" if there is nothing to add to its bytes.

        ``body`` is one that ``preview`` or ``sent`` returned.
        """
        return self._core.explain(body)

    def status(self) -> Status:
        """Return the mode and what decided it, what each metric costs and has spent, and the fate of reports."""
        return self._core.status()

    @property
    def language(self) -> Language:
        """The language of what people are shown."""
        return self._core.language()

    def pending(self) -> list[str]:
        """Return the metrics to ask the user about: all, or those that are new or changed; none after "off".

        Nothing is collected for them until the user has seen them, for example in ``consent_text(pending())``, and the
        app calls ``consent``.
        """
        return self._core.pending()

    def consent_text(self, metrics: Iterable[str] | None = None) -> str:
        """Return the text to show before ``consent``: each question, its purpose, its readers, its cost, its bytes.

        ``metrics`` are names, such as those of ``pending``; by default all metrics that have not expired.
        """
        return self._core.consent_text(metrics)

    def consent(self, mode: Mode, metrics: Iterable[str] | None = None) -> bool:
        """Store the user's choice: "off", "local" or "on", for ``metrics`` (default: all) as they were shown.

        Returns whether the choice is stored on this device. If not, because the disk is full, say, or this client could
        not be made, ``status`` says why, and a yes has no effect.

        The environment and a policy may still overrule it. "off" holds for all metrics, whatever is named, and drops
        the waiting reports; "on" drops those of the mode local. After ``forget``, "local" and "on" start again. Raises
        only ParameterError, for a mistake, and only if ``strict``.
        """
        return self._core.consent(mode, metrics)

    def forget(self) -> None:
        """Turn telemetry off and delete the secret, the ledger and the outbox.

        This client then stays silent until ``consent`` is called with "local" or "on". Reports that were sent carry no
        identity, so they can be neither found nor recalled.
        """
        self._core.forget()

    def close(self) -> None:
        """Stop without waiting. Waiting reports stay for the next run; later answers are ignored and counted."""
        self._core.close()

    def after_fork(self) -> None:
        """Start again in a child process; called automatically."""
        self._building = new_rlock()
        if self._built is not None:
            self._built.after_fork()


def _core_of(
    setup: Setup,
    metrics: object,
    state: object,
    seal: object,
    token: str | None,
    names: Iterable[str],
    *,
    https_proxy: bool,
) -> ClientCore:
    """Return the core of a client with these arguments (see ``Client``); a disabled one if it cannot be made.

    ``names`` were recorded before, while telemetry was off.
    """
    from .core import ClientCore  # noqa: PLC0415 - likewise
    from .reporting.definitions import load  # noqa: PLC0415 - likewise
    from .upload.transport import transport_for  # noqa: PLC0415 - likewise

    utc_today()  # loads the calendar now, because nothing can be imported at the interpreter's shutdown
    known = setup._replace(metrics=NONE_GIVEN, transport=None, environ={}, policy=None, strata=NONE_GIVEN)
    known = known._replace(lifetime_cap=math.inf, spread=SPREAD, exit_wait=WAIT, exit_every=EVERY, language="en")
    core: ClientCore | None = None
    try:
        checked = state_of(state, check_app_name(setup.app))
        defined = sealed_for(seal, metrics_of(metrics, lambda path: load(path, checked)))
        cap, strata = epsilon_cap("lifetime_cap", setup.lifetime_cap), strata_of(setup.strata)
        carrier = transport_for(defined, setup.transport, setup.endpoint, token, https_proxy=https_proxy)
        known = known._replace(state=checked, metrics=defined, lifetime_cap=cap, transport=carrier)
        core = ClientCore(
            setup._replace(state=checked, metrics=defined, lifetime_cap=cap, transport=carrier, strata=strata)
        )
        if setup.strict:
            core.language()
        core.start()
        core.check_names(names)
    except Exception as error:
        core = core or ClientCore(known)
        core.disable(error)
    return core


def _never() -> bool:
    return False


def _off_by(
    state: object, app: object, environ: Mapping[str, str] | None, policy: str | PathLike[str] | None
) -> Callable[[], bool]:
    """Return a function that says whether telemetry is off; if that cannot be asked, one that says no."""
    with suppress(Exception):  # the error points to the code that makes the client
        name = check_app_name(app)
        checked = state_of(state, name)
        permission = Permission(checked, name, utc_today, Diagnostics(checked.folder), environ=environ, policy=policy)

        def off() -> bool:
            try:
                return permission.consent().mode == "off"
            except (AttributeError, TypeError):  # at shutdown, when the names of its module may be None
                return True

        return off
    return _never
