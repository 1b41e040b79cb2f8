"""Sentences of the papers: each states a fact, and names the settings, or the tests, from which it follows.

A setting is a key of ``operator.toml`` ("operator.retention_days") or of a metric ("metrics.epsilon"). What holds for
every app that embeds dither names a test of this project that checks it.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dither_shared.counted import counted
from dither_shared.errors import ParameterError
from dither_shared.languages import ENGLISH
from dither_shared.metrics.metric import Metric

from ...reporting.ledger import cap_of
from ...reporting.outbox import MAX_DAYS, MAX_REPORTS
from ...transparency.explain import facts, keeps_unchanged
from ...upload.transport import Endpoint
from .operator import Operator

_CONSENT = "tests/client/consent/test_rules.py::"
_CONTROLS = "tests/client/transparency/test_controls.py::"
OFF = _CONSENT + "test_client_that_is_off_draws_and_writes_nothing"
FORGOTTEN = _CONTROLS + "test_forget_leaves_only_the_choice"
ALIKE = "tests/client/upload/test_transport.py::test_all_requests_look_alike"
NO_SENDER = "tests/server/test_process.py::test_sender_of_a_report_is_written_nowhere"
ONLY_SUMS = "tests/server/store/test_store.py::test_database_keeps_no_time_finer_than_a_day"
EXACT = "tests/contract/test_privacy.py::test_exact_ratio_is_the_stated_one_and_spends_the_declared_epsilon"
NO_VALUE = "tests/client/reporting/test_permanent.py::test_folder_stores_no_value_and_no_day_with_a_tag"

_MOST_IN_A_PAGE = 1_000
"""Reports that wait in a browser at most: ``MAX_REPORTS`` of ``client/js/src/reporting/ledger.js``."""

_LITTLE_DOUBT = 5.0
"""The total epsilon above which the papers say that it protects little: of two answers equally likely before, one may
become 99.3% sure."""

_LAW = ("metrics.type", "metrics.values", "metrics.epsilon", "metrics.permanent_epsilon", "metrics.mechanism")
_LOSS = ("metrics.epsilon", "metrics.permanent_epsilon", "metrics.mechanism", "metrics.period", "metrics.cap")
_KEYS = {
    "why": ("metrics.why",),
    "owner": ("metrics.owner",),
    "tier": ("metrics.tier",),
    "expires": ("metrics.expires",),
    "period": ("metrics.period", "metrics.one_of", "metrics.after"),
    "values": ("metrics.type", "metrics.values"),
    "kept": ("metrics.of", "metrics.period"),
    "strata": ("metrics.strata",),
    "seal": ("seal.key",),
    "odds": _LAW,
    "cost": _LOSS,
    "mixed": ("metrics.mixed", *_LOSS),
}
"""For each fact that a user is shown before consent, the settings from which it follows."""


class Fact(NamedTuple):
    """One or more sentences, and the settings or tests from which they follow."""

    text: str
    sources: tuple[str, ...]


def say(text: str, *sources: str) -> Fact:
    """Return a fact that follows from ``sources``."""
    return Fact(" ".join(text.split()), sources)


def question(text: str) -> str:
    """Return a paragraph with a question that only the operator can answer."""
    return _TO_ANSWER + text


_TO_ANSWER = "**To answer:** "

Part = str | Fact | Sequence[Fact]
"""A heading, or a paragraph that states no fact of this app; a fact; or a list of facts."""


class Draft(NamedTuple):
    """A paper: the name of its file, its title and its parts."""

    file: str
    title: str
    parts: Sequence[Part]

    def facts(self) -> Iterable[Fact]:
        """Yield every sentence that states a fact."""
        for part in self.parts:
            if isinstance(part, Fact):
                yield part
            elif not isinstance(part, str):
                yield from part

    @property
    def questions(self) -> int:
        """The number of questions that only the operator can answer."""
        return sum(isinstance(part, str) and part.startswith(_TO_ANSWER) for part in self.parts)

    def text(self, *, sources: bool = False) -> str:
        """Return the paper as Markdown; with ``sources``, each fact is followed by its sources."""

        def shown(fact: Fact) -> str:
            return f"{fact.text} ({', '.join(fact.sources)})" if sources else fact.text

        lines = [f"# {self.title}", _NO_ADVICE]
        for part in self.parts:
            if isinstance(part, Fact):
                lines.append(shown(part))
            elif isinstance(part, str):
                lines.append(part)
            else:
                lines.append("\n".join(f"- {shown(fact)}" for fact in part))
        return "\n\n".join(lines) + "\n"


_NO_ADVICE = (
    "*Draft, written by `python -m dither papers` from metrics.toml and operator.toml. It is no legal advice: let"
    " somebody who knows the law read it before you use it. Change the settings and write it again, rather than"
    " changing what it states.*"
)


class AppTelemetry:
    """The facts of one app's telemetry that several papers state.

    Raises ParameterError if metrics.toml and operator.toml contradict each other about the relay.
    """

    def __init__(self, operator: Operator, metrics: Iterable[Metric]) -> None:
        self.operator = operator
        self.metrics = list(metrics)
        self.sealed = any(metric.seal is not None for metric in self.metrics)
        self.unchanged = [metric.name for metric in self.metrics if keeps_unchanged(metric)]
        self.repeated = [metric.name for metric in self.metrics if metric.mechanism.memoised]
        self.sensitive = [metric.name for metric in self.metrics if metric.tier == "sensitive"]
        if self.sealed and not operator.relay:
            raise ParameterError("relay", "missing, but metrics.toml has [seal]; say who runs the relay")
        if operator.relay and not self.sealed:
            raise ParameterError("relay", "given, but metrics.toml has no [seal], so no report goes through a relay")

    def say(self, template: str, *sources: str) -> Fact:
        """Return a fact that follows from ``sources`` and the keys of operator.toml in braces, which are filled in."""
        keys = [f"operator.{key}" for key in re.findall(r"{(\w+)}", template)]
        return say(template.format_map(vars(self.operator)), *dict.fromkeys((*keys, *sources)))

    def if_set(self, key: str, template: str) -> list[Part]:
        """Return a list of one fact if the operator has set ``key``; otherwise an empty one."""
        return [self.say(template)] if getattr(self.operator, key) else []

    def _question(self, metric: Metric) -> list[Part]:
        """Return a metric's heading, and all that a user is shown of it before consent."""
        stated = [say(f"{ENGLISH(f'fact.{key}')}: {text}", *_KEYS[key]) for key, text in facts(metric)]
        text = f"Mechanism: {metric.mechanism.name}, version {metric.version}"
        version = say(text, *_LAW, *(f"metrics.{key}" for key in ("strata", "of", "after", "mixed")))
        asked = say(metric.description or "No description is given.", "metrics.description")
        return [f"### {metric.name}", asked, [*stated, version]]

    def questions(self) -> list[Part]:
        """Return the questions of all metrics."""
        return [part for metric in self.metrics for part in self._question(metric)]

    def changed(self) -> Fact:
        """State what happens to an answer before it leaves."""
        before = "sent" if self.unchanged else "kept or sent"
        return say(
            f"Each answer is changed at random on the device before it is {before} (local differential privacy), so"
            " that one report never shows for certain what a person answered. How much it can tell is stated for each"
            " question, and is exact.",
            "metrics.of",
            EXACT,
            "tests/contract/test_law.py::test_cells_are_reported_with_the_stated_probabilities",
        )

    def off(self) -> list[Fact]:
        """State who decides whether anything is collected, and how that ends."""
        return [
            say(
                "Telemetry is off until somebody turns it on. While it is off, nothing is drawn, written or sent.", OFF
            ),
            self._asked(),
            say(
                "A question that is new, or has changed in purpose, reader, frequency or privacy loss, stays off until"
                " the person has seen and accepted it.",
                "tests/client/consent/test_permission.py::test_changed_metric_needs_new_consent",
            ),
            self.say(
                "To turn it off at any time, {withdraw}. Reports that wait on the device are then dropped.",
                _CONSENT + "test_withdrawn_consent_drops_waiting_reports",
            ),
        ]

    def _asked(self) -> Fact:
        if self.operator.web:
            text = (
                "The person is asked, unless their browser sends Global Privacy Control or Do Not Track, which mean no."
            )
            return say(text, "operator.web", "tests/js/consent/rules.test.js")
        return say(
            "The person who uses the app is asked, unless the environment variables DO_NOT_TRACK or DITHER, or a policy"
            " file of the machine's administrator, decide for them.",
            "operator.web",
            _CONSENT + "test_the_first_authority_that_is_set_decides",
        )

    def sent(self) -> list[Fact]:
        """State what leaves a device, and who sees it."""
        found = [
            say(
                "A report holds the name and version of the question, a random number that is used once, and the"
                " changed answer. It holds no name, account or identifier of the device.",
                ALIKE,
            ),
            self._address(),
            *self._clear(),
            *self._linked(),
            *self._relay(),
        ]
        if not Endpoint.parse(self.operator.endpoint).secure:
            text = "The connection is not encrypted: everybody on the way can read the reports."
        else:
            text = "The connection is encrypted (https)."
        return [*found, say(text, "operator.endpoint")]

    def _address(self) -> Fact:
        seen = "As with every connection, it sees the device's network address and the time"
        if self.sealed:
            return self.say(f"Reports are sent to the relay at {{endpoint}}. {seen}.", "seal.key")
        text = f"Reports are sent to the collector at {{endpoint}}. {seen}; it stores neither."
        return self.say(text, "seal.key", NO_SENDER, ONLY_SUMS)

    def _clear(self) -> list[Fact]:
        named = [f"{one.name}: {one.strata.words()}" for one in self.metrics if one.strata is not None]
        if not named:
            return [say("Nothing else about the device is sent with a report.", "metrics.strata")]
        return [say(f"Sent in the clear, not changed at random: {'; '.join(named)}.", "metrics.strata")]

    def _linked(self) -> list[Fact]:
        if not self.repeated:
            return []
        return [
            say(
                f"For {', '.join(self.repeated)} a device repeats one permanent random answer. This bounds what many"
                " reports reveal, but reports that repeat it may be recognized as coming from one device.",
                "metrics.permanent_epsilon",
                "metrics.mechanism",
                "tests/client/test_linkage.py::test_permanent_row_is_the_only_linkable_feature_of_a_device",
            )
        ]

    def _relay(self) -> list[Fact]:
        if not self.sealed:
            return []
        if self.operator.relay == self.operator.name:
            text = "We run both relay and collector, so the relay hides no address from us."
            return [say(text, "operator.relay", "operator.name", "seal.key")]
        return [
            self.say(
                "The relay is run by {relay}. It sees address, time, question and what is sent in the clear,"
                " but not the answer, which is sealed for the collector. The collector sees the changed answer,"
                " but not the address. This holds unless the two work together.",
                "seal.key",
                "tests/end_to_end/test_sealed.py::test_the_relay_sees_no_report_and_the_collector_no_address",
            )
        ]

    def kept(self) -> list[Fact]:
        """State what is kept for how long, from the device to backups."""
        op = self.operator
        days, most = op.retention_days, _MOST_IN_A_PAGE if op.web else MAX_REPORTS
        sums = f"for {counted(days, 'day')}, and then deleted" if days else "without a limit"
        return [
            say(
                f"On the device: a report waits for at most {MAX_DAYS} days, and at most {most:,} wait; the last"
                f" 30 that were sent are kept for the person to see. {self._true_answers()}",
                "operator.web",
                "metrics.of",
                "tests/client/reporting/test_outbox.py::test_old_reports_are_dropped_and_counted_on_the_device",
                _CONTROLS + "test_last_thirty_sent_reports_are_kept_and_all_are_counted",
                NO_VALUE,
            ),
            say(
                "On the device: the choice, and how much privacy was spent, are kept until the person deletes them.",
                FORGOTTEN,
            ),
            say(
                "At the collector: a report is added to the sum of its question and day, and is not kept once it"
                " is counted. No network address, account or time of day is stored.",
                NO_SENDER,
                ONLY_SUMS,
            ),
            say(
                "At the collector: the random numbers of uploads, which prevent counting one twice, are kept for"
                f" {counted(op.horizon_days, 'day')}.",
                "operator.horizon_days",
            ),
            say(f"At the collector: sums are kept {sums}.", "operator.retention_days"),
            self._logs(),
            self._backups(),
        ]

    def _true_answers(self) -> str:
        """Return which true answers a device keeps."""
        if not self.unchanged:
            return "No true answer is kept."
        return f"What is kept unchanged to form an answer, and for how long, is stated for {', '.join(self.unchanged)}."

    def _logs(self) -> Fact:
        days = self.operator.address_log_days
        text = "No log with network addresses is kept in front of the collector."
        if days:
            kept = counted(days, "day")
            text = f"In front of the collector, logs with network addresses and times are kept for {kept}."
        return say(text, "operator.address_log_days")

    def _backups(self) -> Fact:
        days = self.operator.backup_days
        text = "No backups of the collector's database are kept."
        if days:
            text = f"Backups of the collector's database are kept for {counted(days, 'day')}, and hold what it held."
        return say(text, "operator.backup_days")

    def total(self) -> Fact:
        """State the most that all questions may cost one device."""
        unbounded = [one.name for one in self.metrics if math.isinf(_bound(one))]
        if unbounded:
            text = f"No total is bounded: each further report of {', '.join(unbounded)} costs privacy again."
            return say(text, *_LOSS)
        total = math.fsum(map(_bound, self.metrics))
        text = f"All questions together can cost one device at most epsilon {math.ceil(100 * total) / 100:g}."
        if total > _LITTLE_DOUBT:
            text += " That may leave no doubt for somebody who can put all reports of one device together."
        return say(text, *_LOSS)

    def about_people(self) -> Fact:
        """State which questions are about the person, by their tier."""
        undeclared = ", ".join(metric.name for metric in self.metrics if metric.tier is None)
        text = f"Declared as being about the person who uses the app: {', '.join(self.sensitive) or 'none'}."
        return say(text + (f" Not declared: {undeclared}." if undeclared else ""), "metrics.tier")

    def legal_basis(self) -> Fact:
        """State what allows the processing."""
        return self.say("The legal basis is {legal_basis}.")

    def purposes(self) -> list[Fact]:
        """State the purpose of each question."""
        return [say(f"{one.name}: {one.why or 'no purpose is given'}.", "metrics.why") for one in self.metrics]


def _bound(metric: Metric) -> float:
    """Return the most that a metric may ever cost one device; inf if nothing bounds it."""
    return min(cap_of(metric), metric.charge if metric.period == "once" else math.inf)
