r"""Permission: decide for each metric of this app whether the consent that holds now covers it.

The administrator of a machine may decide for all its users, in a policy file:

    Linux and others    /etc/dither/policy.toml
    macOS               /Library/Application Support/dither/policy.toml
    Windows             %ProgramData%\dither\policy.toml

    mode = "off"              # for every app: off, local or on

    [apps.notes]
    mode = "local"            # for one app, instead

A file that exists and cannot be read, or that says anything else, means off. The user of an app that it does not name
decides.
"""

from __future__ import annotations

import os
import sys

from dither_shared.light import suppress

from ..forks import importing
from ..state.files import read_foreign
from ..state.journal_records import Accepted, ConsentChoice
from .rules import LOST, UNASKED, automation_sign, checked_mode, covering, decide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date

    from dither_shared.metrics.metric import Metric

    from ..diagnostics import Diagnostics
    from ..state.folder import State
    from .rules import Consent


class Permission:
    """Decides by the state, the environment and the day what may be collected.

    ``environ`` replaces the whole environment: then neither the machine's policy nor a running pytest counts.
    ``policy`` names another policy file.
    """

    def __init__(
        self,
        state: State,
        app: str,
        today: Callable[[], date],
        diagnostics: Diagnostics,
        *,
        environ: Mapping[str, str] | None = None,
        policy: str | os.PathLike[str] | None = None,
    ) -> None:
        self._state = state
        self._today = today
        self._diagnostics = diagnostics
        self._sealed_off = environ is not None
        self._environ = os.environ if environ is None else environ
        self._peek = _peek(self._environ)
        self._policy = Policy(policy if policy or self._sealed_off else policy_path(), app)
        self._automatic = automation_sign(self._environ)
        self._terms: dict[int, tuple[Metric, tuple[str, ...]]] = {}
        self._covering: Consent | None = None
        self._covered: dict[str, tuple[Metric, bool]] = {}  # of each metric, whether that consent covers it
        self._decided: tuple[tuple[object, ...], Consent] | None = None

    def consent(self) -> Consent:
        """Return the consent that holds now; a choice that cannot be read means off."""
        try:
            choice, policy = self._state.choice(), self._policy.mode()
        except Exception as error:
            self._diagnostics.failed("consent", error)
            choice, policy = ConsentChoice("", {}), None
        inputs = choice, policy, self._peek(), "pytest" in sys.modules
        decided = self._decided
        if decided is None or decided[0] != inputs:  # it seldom changes, and each report asks for it
            automatic = self._automatic
            if not (automatic or self._sealed_off) and "pytest" in sys.modules:
                automatic = "pytest is running"
            consent = decide(self._environ, choice, policy=policy, automatic=automatic)
            decided = self._decided = inputs, consent
        return decided[1]

    def know(self, metrics: Iterable[Metric]) -> None:
        """Compute the terms of metrics now: nothing can be imported any more at the interpreter's shutdown."""
        for metric in metrics:
            self._terms_of(metric)

    def covers(self, consent: Consent, metric: Metric, today: date) -> bool:
        """Return whether ``consent`` covers this metric as it is defined now, and it has not expired."""
        if consent is not self._covering:  # it seldom changes, and each report asks for it
            self._covering, self._covered = consent, {}
        covered = self._covered.get(metric.version)
        if covered is None or covered[0] is not metric:
            accepted = consent.accepted is None or self._accepted(consent, metric) is not None
            covered = self._covered[metric.version] = metric, accepted
        return covered[1] and not metric.expired(today)

    def standing(self, consent: Consent, metric: Metric) -> str:
        """Return in a word whether answers to ``metric`` are collected and, if not, why."""
        today = self._today()
        if metric.expired(today):
            return "expired"
        if consent.mode == "off":
            return "off"
        return "collected" if self.covers(consent, metric, today) else "not accepted"

    def pending(self, metrics: Iterable[Metric]) -> list[str]:
        """Return the names of the metrics to ask the user about; none if the user, or another authority, declined."""
        consent = self.consent()
        if consent.mode == "off" and consent.decided_by not in {UNASKED, LOST}:
            return []
        return [metric.name for metric in metrics if self.standing(consent, metric) in {"off", "not accepted"}]

    def since(self, consent: Consent, metric: Metric) -> date | None:
        """Return the day on which the user accepted ``metric`` as it is defined now; None if somebody else decides."""
        accepted = self._accepted(consent, metric)
        from datetime import date  # noqa: PLC0415 - for people alone

        return None if accepted is None else date.fromordinal(accepted.day)

    def choose(self, mode: str, metrics: Iterable[Metric]) -> None:
        """Store the user's choice for ``metrics`` and for those that were accepted before; "off" is for none.

        Raises ParameterError for another mode, OSError or StateError if it cannot be stored.
        """
        checked_mode(mode)
        accepted: dict[str, Accepted] = {}
        if mode != "off":
            before, today = self._state.choice(), self._today().toordinal()
            valid = before is not None and before.mode != "off" and not before.lost
            accepted.update(before.accepted or {} if before and valid else {})
            for metric in metrics:
                shown = self._terms_of(metric)[0]
                accepted.setdefault(shown, Accepted(metric.name, shown, today))
        self._state.choose(ConsentChoice(mode, accepted))

    def _accepted(self, consent: Consent, metric: Metric) -> Accepted | None:
        """Return the acceptance that covers ``metric`` as it is defined now, if there is one."""
        accepted = consent.accepted or {}
        return next((accepted[terms] for terms in self._terms_of(metric) if terms in accepted), None)

    def _terms_of(self, metric: Metric) -> tuple[str, ...]:
        known = self._terms.get(id(metric))
        if known is None:
            known = self._terms[id(metric)] = metric, covering(metric)  # keep the metric, so that its id stays in use
        return known[1]


def _peek(environ: Mapping[str, str]) -> Callable[[], object]:
    """Return a function whose result changes whenever one of the variables that decide does.

    ``os.environ`` takes 1 us to report that a variable is missing; the encoded lookup takes a tenth of that.
    """
    names = "DO_NOT_TRACK", "DITHER"
    inside = getattr(environ, "_data", None)
    if environ is os.environ and isinstance(inside, dict):
        first, second = map(os.environ.encodekey, names)
        return lambda: (inside.get(first), inside.get(second))
    return lambda: tuple(map(environ.get, names))


def policy_path() -> str:
    """Return the path of the policy file on this system."""
    if sys.platform == "win32":
        return (os.environ.get("PROGRAMDATA") or "C:/ProgramData") + "/dither/policy.toml"
    if sys.platform == "darwin":
        return "/Library/Application Support/dither/policy.toml"
    return "/etc/dither/policy.toml"


class Policy:
    """The policy at ``path`` (None: there is none) for ``app``; read again when the file changes."""

    def __init__(self, path: str | os.PathLike[str] | None, app: str) -> None:
        self._path = None if path is None else os.fspath(path)
        self._app = app
        self._seen: tuple[int, int, int] | None = None
        self._mode: str | None = None

    def mode(self) -> str | None:
        """Return the mode that the policy sets; "" if it cannot be read, None if it does not name this app."""
        if self._path is None:
            return None
        with suppress(OSError):
            try:
                status = os.stat(self._path)
            except (FileNotFoundError, NotADirectoryError):
                return None
            seen = (status.st_ino, status.st_mtime_ns, status.st_size)
            if seen != self._seen:
                self._mode, self._seen = _read(self._path, self._app), seen
            return self._mode
        return ""


def _read(path: str, app: str) -> str | None:
    with importing():
        import tomllib  # noqa: PLC0415 - most machines have no policy

    with suppress(OSError, ValueError, AttributeError, RecursionError):
        document = tomllib.loads(read_foreign(path).decode("utf-8"))
        mode = document.get("apps", {}).get(app, {}).get("mode", document.get("mode"))
        return mode if mode is None or isinstance(mode, str) else ""
    return ""
