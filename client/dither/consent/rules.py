"""Consent: decide whether anything may be drawn and sent, and name who decided it.

The first of these that is set decides:

1. ``DO_NOT_TRACK`` in the environment (any value but "" and "0"): off;
2. ``DITHER`` in the environment: off, local or on, in any case; anything else means off;
3. a continuous integration machine, or a test run by pytest: off, because nobody is there to answer;
4. the administrator's policy file (permission.py); one that cannot be read means off;
5. the user's own choice, stored on the device; one that cannot be read means off, and consent does not count if the
   device's secret is lost, because the permanent draws that it covered cannot be repeated;
6. otherwise: off.

``DITHER`` and a policy cover all metrics. The user's choice covers a metric only with the very terms that were shown
and accepted; a metric that is new or has changed stays off until it is shown and accepted.

A client draws nothing at all while it is ``Stopped``: it could not be created, the app has closed it, or its user has
had everything deleted.
"""

from __future__ import annotations

from dither_shared.errors import ParameterError
from dither_shared.light import Literal, NamedTuple, cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dither_shared.metrics.metric import Metric

    from ..state.journal_records import Accepted, ConsentChoice

Mode = Literal["off", "local", "on"]
"""off: nothing is drawn, nothing is written; local: reports are made and shown, never sent; on: they are sent."""

UNASKED = "default: the user has not been asked"
LOST = "the user's choice is void because the device's secret is lost; ask again"

_AUTOMATION = (
    *("CI", "CONTINUOUS_INTEGRATION", "GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "JENKINS_URL", "BUILDKITE"),
    *("CIRCLECI", "TRAVIS", "APPVEYOR", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID", "PYTEST_CURRENT_TEST"),
)


class Consent(NamedTuple):
    """A mode, what decided it in words, and the metrics that it covers, by their terms (None: all of them)."""

    mode: Mode
    decided_by: str
    accepted: Mapping[str, Accepted] | None = None


def decide(
    environ: Mapping[str, str], choice: ConsentChoice | None, *, policy: str | None = None, automatic: str = ""
) -> Consent:
    """Return the consent that holds.

    ``choice`` is the user's (None: never asked), ``policy`` the administrator's mode (None: there is no policy), and
    ``automatic`` a sign that nobody uses this program, in words ("": there is none).
    """
    if environ.get("DO_NOT_TRACK", "") not in {"", "0"}:
        return Consent("off", "DO_NOT_TRACK in the environment")
    if mode := environ.get("DITHER", ""):
        return _read(mode.lower(), "DITHER in the environment")
    if automatic:
        return Consent("off", f"{automatic}: no user is present")
    if policy is not None:
        return _read(policy, "the administrator's policy file")
    if choice is None or choice.lost:
        return Consent("off", UNASKED if choice is None else LOST)
    return _read(choice.mode, "the user's choice")._replace(accepted=choice.accepted)


def automation_sign(environ: Mapping[str, str]) -> str:
    """Return in words the sign of continuous integration, or of a test, in the environment; "" if there is none."""
    signs = (name for name in _AUTOMATION if environ.get(name, "").lower() not in {"", "0", "false"})
    return next((f"{name} in the environment" for name in signs), "")


def checked_mode(mode: str) -> Mode:
    """Return ``mode``; raise ParameterError unless it is off, local or on."""
    if mode not in {"off", "local", "on"}:
        raise ParameterError("consent", f"{mode!r} is not one of off, local, on")
    return cast("Mode", mode)


def terms(metric: Metric) -> str:
    """Return 16 hex digits that change with anything about ``metric`` that ``consent_text`` shows.

    That is more than its version: who reads the answers, how often it is asked, until when, and whether reports are
    sealed; but not the key for which they are sealed, because a collector replaces it from time to time.
    """
    import json  # noqa: PLC0415 - compiled definitions have their terms

    from dither_shared.primitives.digests import sha256  # noqa: PLC0415 - likewise

    until = None if metric.expires is None else metric.expires.isoformat()
    shown = [
        metric.version,
        metric.period,
        metric.description,
        metric.why,
        metric.owner,
        metric.tier,
        metric.cap,
        until,
        *([] if metric.survey is None else [metric.survey.name, *metric.survey.metrics]),
        *([] if metric.seal is None else ["sealed"]),
        *([] if metric.of is None else ["of", metric.of]),
        *([] if not metric.after else ["after", metric.after]),
    ]
    return sha256(json.dumps(shown).encode("ascii")).hexdigest()[:16]


def covering(metric: Metric) -> tuple[str, ...]:
    """Return the terms whose acceptance covers ``metric``: its own and, if it is sealed, those without a seal.

    A user who accepted that the collector sees addresses has accepted more. In the reverse case the user is asked.
    A compiled metric has them.
    """
    if (known := getattr(metric, "covering", None)) is not None:
        return known  # type: ignore[no-any-return]
    from dataclasses import replace  # noqa: PLC0415 - likewise

    return (terms(metric), *([] if metric.seal is None else [terms(replace(metric, seal=None))]))


def _read(mode: str, source: str) -> Consent:
    try:
        return Consent(checked_mode(mode), source)
    except ParameterError:
        return Consent("off", f"{source}, which cannot be read")


_CLOSED = "the app, which has closed this client"
_FORGOTTEN = "the user, who deleted everything; agreeing again restarts collection"


class Stopped:
    """Why a client does nothing, whether new consent ends that, and how many answers were lost; true while it does.

    Disabling a client overrides closing it, which overrides forgetting.
    """

    def __init__(self) -> None:
        self.unrecorded = 0
        """How many answers were given while the client was stopped."""
        self._disabled = self._closed = self._forgotten = False
        self.reason = ""
        """Why, in words; "" if the client runs."""

    def __bool__(self) -> bool:
        return bool(self.reason)

    def disable(self, reason: str) -> None:
        """Stop the client for good, because it could not be created."""
        self._disabled, self.reason = True, f"an error: telemetry is disabled in this program: {reason}"

    def close(self) -> None:
        """Stop the client for good, because the app has closed it."""
        if not self._disabled:
            self._closed, self.reason = True, _CLOSED

    def forget(self) -> None:
        """Stop the client until the user consents again."""
        if not self:
            self._forgotten, self.reason = True, _FORGOTTEN

    def end(self) -> bool:
        """Let the client run again if new consent can do that; return whether it did."""
        ends = self._forgotten and not self._closed
        if ends:
            self._forgotten, self.reason = False, ""
        return ends

    @property
    def disabled(self) -> bool:
        """Whether the client could not be created."""
        return self._disabled

    @property
    def lossy(self) -> bool:
        """Whether answers were lost, or will be, although nobody wanted that."""
        return self._disabled or (self._closed and self.unrecorded > 0)
