"""Metrics: the questions that an app asks of every user, as its ``metrics.toml`` defines them.

    [metrics.theme]
    description = "Which theme do people use?"
    type = "choice"                       # boolean, choice, selection, number or string
    values = ["light", "dark", "system"]  # any other answer is reported as "other"
    epsilon = 1.0                         # of one report
    permanent_epsilon = 2.0               # of all reports of one value; leave it out if there is but one
    mechanism = "auto"                    # the most accurate one whose report fits ...
    report_budget = 64                    # ... in at most this many bytes
    period = "day"                        # at most one report per day, week, month, or "once"
    of = "furthest"                       # formed by the device of its own events in a period (events.py)
    after = "7 days"                      # no report before the device has been in use this long
    one_of = "looks"                      # of the metrics that name this survey, each device answers one a period
    cap = 20.0                            # the epsilon that this metric may ever cost one device
    strata = {platform = ["linux", "mac"]}  # attributes that are not secret, sent in the clear beside a report
    mixed = {epsilon = 0.5, least = 1000}  # sealed: what a report costs in a batch that a relay has mixed
    why = "To drop themes nobody uses"    # shown to the person who is asked, besides the question:
    owner = "ui@example.org"              # who reads the answers,
    expires = 2027-06-30                  # the last day on which it is asked,
    tier = "technical"                    # and what it is about: technical, interaction, content or sensitive

    [seal]                                # for all metrics of the file, if reports go through a relay:
    key = "x25519:..."                    # the collector's public key, which dither-server key create prints

Mechanism, parameters and epsilon come from here and from nowhere else: nothing that a server says can change them.
"""

import json
from dataclasses import asdict, dataclass
from datetime import date
from typing import Literal

from ..draws import Draws, draws_of
from ..encoding import Answers
from ..light import cached_property
from ..mechanism import Item, Mechanism
from ..primitives.digests import sha256
from ..questions.question import Question
from ..seal_key import SealKey
from .events import Of
from .period import Period
from .strata import Strata

Tier = Literal["technical", "interaction", "content", "sensitive"]
"""The subjects of a question: the software, how it is used, what it is used on, or the person."""


@dataclass(frozen=True)
class Mixed:
    """The privacy loss of one report to someone who sees a whole batch of sealed reports, but not who sent which.

    It is at most ``epsilon``, with ``delta``, if the batch has at least ``least`` honest reports, and if relay and
    collector do not work together. The collector checks that this follows from the mechanism.
    """

    epsilon: float
    least: int
    delta: float = 1e-6


@dataclass(frozen=True)
class Survey:
    """The survey ``name`` and its metrics; each device answers one in a period (reporting/surveys.py draws it).

    It is not part of a metric's version: who is asked depends on no answer, so no estimate depends on it, and permanent
    draws outlast it. It is part of what people consent to.
    """

    name: str
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Metric:
    """One question that an app asks: what may be answered, by which mechanism, and how often.

    ``cap`` bounds what the metric may ever cost one device. ``why``, ``owner``, ``expires`` and ``tier`` are for the
    person who is asked; none of these is part of the version. ``strata`` are, which are sent in the clear. ``seal`` is
    the collector's key that reports are sealed for, if they go through a relay; it is not part of the version. ``of``
    says what the device forms the answer of, and ``after`` how many days it must have been in use (events.py);
    ``mixed`` is what sealed reports are promised beside their epsilon.
    """

    name: str
    question: Question
    mechanism: Mechanism
    description: str = ""
    period: Period = "day"
    why: str = ""
    owner: str = ""
    expires: date | None = None
    tier: Tier | None = None
    cap: float | None = None
    strata: Strata | None = None
    survey: Survey | None = None
    seal: SealKey | None = None
    of: Of | None = None
    after: int = 0
    mixed: Mixed | None = None

    @property
    def least(self) -> int:
        """The least number of sealed reports that may leave a relay together, as their pool says."""
        return 1 if self.mixed is None else self.mixed.least

    @property
    def charge(self) -> float:
        """The epsilon that a device is charged for each report or, with a permanent part, for each new value."""
        forever = self.mechanism.permanent_epsilon
        return self.mechanism.epsilon if forever is None else forever

    def expired(self, today: date) -> bool:
        """Return whether the last day on which it is asked is over."""
        return self.expires is not None and today > self.expires

    @cached_property
    def version(self) -> str:
        """16 hex digits that change with anything that the metric's numbers depend on.

        The name is part of it, so that two metrics of one definition draw unrelated permanent noise.
        """
        basis: dict[str, object] = {
            "format": "dither-metric-1",
            "name": self.name,
            "domain": self.question.domain_digest,
            "mechanism": self.mechanism.name,
            "parameters": self.mechanism.parameters(),
        }
        if self.strata is not None:
            basis["strata"] = self.strata.stored()
        if self.of is not None:
            basis["of"] = [self.of, self.period]
        if self.after:
            basis["after"] = self.after
        if self.mixed is not None:
            basis["mixed"] = asdict(self.mixed)
        canonical = json.dumps(basis, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return sha256(canonical.encode("ascii")).hexdigest()[:16]

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers whose shares are estimated: those that are listed, or the candidates of an open domain."""
        return self.question.labels

    @cached_property
    def answers(self) -> Answers:
        """How an answer to it is read."""
        return self.question.answers(self.mechanism)

    @cached_property
    def draws(self) -> Draws | Mechanism:
        """How a device draws its reports: from the few integers that it would keep, if they are enough."""
        stored = self.mechanism.stored_draws
        return self.mechanism if stored is None else draws_of(stored)

    def item(self, value: object) -> Item:
        """Return the item of an answer (for a number, its lower point); even an object that is no answer has one."""
        return self.answers.encode(value).item
