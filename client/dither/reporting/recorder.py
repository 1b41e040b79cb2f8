"""The recorder: turn an answer into a report, in the order of steps that keeps every promise.

Consent is checked first, then the ledger. One write puts the debit, followed by the report, into the journal; if
anything fails before, nothing is left of the answer.

The stratum of a report follows from attributes. A value that is not listed may be right, on a rare platform. So it is
counted per attribute, and logged once if the app has set up logging. An attribute that is missing, or that no metric
declares, is a mistake in the app.
"""

from __future__ import annotations

from dither_shared.errors import ParameterError, did_you_mean
from dither_shared.metrics.period import first_day
from dither_shared.plain import text_of, type_name
from dither_shared.wire import OTHER

from ..forks import importing
from ..settings import NONE_GIVEN
from ..state.state import START, StateError
from .bodies import build, enclosed, sealer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date

    from dither_shared.encoding import Encoded, Item
    from dither_shared.metrics.metric import Metric
    from dither_shared.metrics.strata import Strata
    from dither_shared.primitives.entropy import Entropy

    from ..consent.permission import Permission
    from ..diagnostics import Diagnostics
    from ..state.journal_records import Permanent, Queued
    from ..state.state import Cursor
    from .journal import Journal
    from .keys import Keys
    from .ledger import Ledger

_BYTES = 192
"""Random bytes read for a report in one system call; most reports need no more, including RAPPOR with 128 bits."""

_MOST_SORTS = 20
"""Kinds of mistakes, by metric and type, after which only the first of each metric is logged."""


class _Stratifier:
    """Finds the stratum of each report by the attributes given with the answer, or else once to the client (``own``).

    Raises ParameterError for one in ``own`` that none of ``metrics`` has, if ``strict``.
    """

    def __init__(
        self,
        own: Mapping[str, object],
        metrics: Iterable[Metric],
        diagnostics: Diagnostics,
        *,
        strict: bool,
    ) -> None:
        self._diagnostics = diagnostics
        self._strict = strict
        self.unlisted: dict[str, int] = {}
        """Number of reports in "other" because their value is not listed, by attribute."""
        self.own: dict[str, object] = {}
        self.use(own, metrics)

    def use(self, own: Mapping[str, object], metrics: Iterable[Metric]) -> None:
        """Set the attributes of all reports of ``metrics``."""
        if own:
            known = sorted({name for metric in metrics if metric.strata for name in metric.strata.names})
            self._check("strata", own, known)
        self.own = dict(own)

    def check(self, metric: Metric, attributes: Mapping[str, object]) -> None:
        """Log attributes that ``metric`` does not have, which are ignored; raise ParameterError if ``strict``."""
        self._check(f"metrics.{metric.name}.strata", attributes, metric.strata.names if metric.strata else ())

    def label(self, metric: Metric, attributes: Mapping[str, object] = NONE_GIVEN) -> str | None:
        """Return the stratum of a report; None if the metric has none."""
        return None if metric.strata is None else metric.strata.label_of({**self.own, **attributes})

    def of(self, metric: Metric, attributes: Mapping[str, object]) -> str | None:
        """Return the stratum of a report, and log each attribute whose value is not listed."""
        if metric.strata is None:
            return None
        attributes = {**self.own, **attributes}
        for name in metric.strata.outside(attributes):
            self._unlisted(metric.name, metric.strata, name, attributes)
        return metric.strata.label_of(attributes)

    def _check(self, place: str, attributes: Mapping[str, object], known: Iterable[str]) -> None:
        for name in attributes:
            if name not in known:
                self._undeclared(place, name, known)

    def _undeclared(self, place: str, name: str, known: Iterable[str]) -> None:
        """Log an attribute; search once for the name that may have been meant, because that takes long."""
        kind = f"unknown attribute in {place}"
        near = meant(name, known) if kind not in self._diagnostics.counts else ""
        who = "no metric of this client declares it" if place == "strata" else "the metric does not declare it"
        mistake = who + (near or f"; declared here: {', '.join(known) or 'nothing'}")
        if self._strict:
            raise ParameterError(f"{place}.{name[:64]}", mistake)
        self._diagnostics.note(kind, f"{name[:64]}: {mistake}")

    def _unlisted(self, metric: str, strata: Strata, name: str, attributes: Mapping[str, object]) -> None:
        place, text = f"metrics.{metric}.strata.{name}", text_of(attributes.get(name))
        count = self.unlisted[place] = self.unlisted.get(place, 0) + 1
        goes = f'its reports go to "{OTHER}"'
        if text is None:
            self._diagnostics.note(f"{place} is not given", f"{goes}; give record() {name}=…, or the client strata=…")
        elif count == 1:
            values = dict(strata.attributes)[name]
            self._diagnostics.warn(
                f"{place}: a value that is not one of {', '.join(values)}{meant(text, values)}; {goes}"
            )


class Recorder:
    """Makes the reports of one client, and counts the answers that give none.

    ``strata`` are its attributes. Raises ParameterError for one that none of ``metrics`` has, if ``strict``.
    """

    def __init__(
        self,
        metrics: Mapping[str, Metric],
        journal: Journal,
        permission: Permission,
        entropy: Entropy,
        today: Callable[[], date],
        diagnostics: Diagnostics,
        strata: Mapping[str, object],
        *,
        strict: bool,
    ) -> None:
        self._metrics = metrics
        self.journal = journal
        self.permission = permission
        self.entropy = entropy
        self.today = today
        self.diagnostics = diagnostics
        self.strata = _Stratifier(strata, metrics.values(), diagnostics, strict=strict)
        self._strict = strict
        self.ignored = self.withheld = self.outside = self.mistakes = self.unasked = 0
        self._misnamed = False
        self._mistaken_sorts: set[tuple[str, str]] = set()  # by metric and type; these were logged

    def record(self, name: str, value: object, attributes: Mapping[str, object] = NONE_GIVEN) -> bool:
        """Make a report of an answer if one is due; return whether there is one more.

        ``attributes`` are those of its stratum. Raises ParameterError for a metric that is not defined and, if
        ``strict``, for an object that is not an answer and an attribute that the metric does not have; SealError if a
        report cannot be sealed, and then nothing is drawn and nothing charged.
        """
        metric = self.metric(name, value)
        if metric.of is not None:
            raise ParameterError(f"metrics.{metric.name}", "its answers are formed of events; use add, not record")
        answer = metric.answers.encode(value)
        if answer.mistake:
            self._mistaken(metric, value)
        if attributes:
            self.strata.check(metric, attributes)
        today = self.today()
        # First without the journal, because most calls end here; and again once it is held, if there was news.
        journal, day = self.journal, today.toordinal()
        ledger, seen = journal.ledger, journal.cursor
        if not ledger.open_to(metric, day):
            if ledger.correction(day) is None:
                self.ignored += 1
                return False
            seen = START
        consent = self.permission.consent()
        if consent.mode == "off":
            return False
        if not self.permission.covers(consent, metric, today):
            self.withheld += 1
            return False
        local = consent.mode == "local"
        if metric.seal is not None and not local:
            sealer(metric.seal)  # load HPKE, which takes long, before the journal is held
        return journal.hold(lambda: self._report(metric, answer, attributes, day, local, seen), day)

    def _report(
        self, metric: Metric, answer: Encoded, attributes: Mapping[str, object], today: int, local: bool, seen: Cursor
    ) -> bool:
        """Make a report while the journal is held; if it has changed since ``seen``, check the ledger again first."""
        journal = self.journal
        if journal.cursor is not seen and not journal.ledger.open_to(metric, today):
            self.ignored += 1
            return False
        if metric.survey is not None and not self.asks(metric, journal.keys(), today):
            self.unasked += 1
            return False
        self.keep(metric, answer, today, attributes, local=local)
        return True

    def metric(self, name: str, value: object) -> Metric:
        """Return the metric of a name; raise ParameterError, which does not quote ``value``, if there is none."""
        try:
            return self._metrics[name]
        except (KeyError, TypeError):  # an unhashable name is not the name of a metric either
            raise self._undefined(name, value) from None

    def keep(
        self,
        metric: Metric,
        answer: Encoded,
        today: int,
        attributes: Mapping[str, object] = NONE_GIVEN,
        *,
        local: bool | None = None,
    ) -> None:
        """Draw a report of a metric that may report, and write it behind its debit; for the holder of the journal."""
        journal = self.journal
        keys = journal.keys()
        local = self.permission.consent().mode == "local" if local is None else local
        stratum = None if metric.strata is None else self.strata.of(metric, attributes)
        queued, drawn = self._draw(metric, answer, keys, stratum, today, local)
        debit = journal.ledger.debit(metric, today, drawn)
        remembered = () if drawn is None else (drawn,)
        journal.write(debit, *remembered, queued, *journal.outbox.expired(today))
        self.outside += answer.outside

    def keep_row(self, metric: Metric, batch: str, row: bytes, today: int) -> None:
        """Write a report that was drawn and paid for earlier, behind a debit that closes the current period.

        The debit pays for the metric's next report if that is possible. For the holder of the journal.
        """
        stratum = None if metric.strata is None else self.strata.of(metric, NONE_GIVEN)
        local = self.permission.consent().mode == "local"
        journal = self.journal
        ledger = journal.ledger
        debit = ledger.debit(metric, today) if ledger.open_to(metric, today) else ledger.mark(metric, today)
        journal.write(debit, enclosed(metric, batch, row, today, local, stratum), *journal.outbox.expired(today))

    def asks(self, metric: Metric, keys: Keys, today: int) -> bool:
        """Return whether the metric's survey, if it has one, asks this device for it in this period.

        It does not if another metric of the survey has reported in the period: that one was drawn from another list,
        before an update. A metric that this program does not know may have belonged to the survey, too.
        """
        survey = metric.survey
        if survey is None:
            return True
        begun = 0 if metric.period == "once" else first_day(today, metric.period)
        if keys.asked(survey, begun) != metric.name:
            return False
        others = (name for name in self.journal.ledger.reported_since(begun) if name != metric.name)
        return not any(name in survey.metrics or (begun and name not in self._metrics) for name in others)

    def _draw(
        self, metric: Metric, answer: Encoded, keys: Keys, stratum: str | None, today: int, local: bool
    ) -> tuple[Queued, Permanent | None]:
        """Return a report, and the record of its permanent draw, unless there is none or it repeats the last one."""
        entropy = self.entropy.ahead(_BYTES)
        if not metric.draws.memoised:
            return build(metric, answer.rounded(entropy), keys, entropy, today, local, stratum=stratum), None
        item = keys.rounded(metric, answer)
        drawn, remembered = recall(metric, item, keys, self.journal.ledger)
        return build(metric, item, keys, entropy, today, local, drawn, stratum), remembered

    def _mistaken(self, metric: Metric, value: object) -> None:
        """Log a mistake by the type alone; the answer is reported under the catch-all label."""
        self.mistakes += 1
        mistake = f"{type_name(value)} is not an answer; {metric.answers.wanted}"
        if self._strict:
            raise ParameterError(f"metrics.{metric.name}", mistake)
        sort = metric.name, type_name(value)
        new = sort not in self._mistaken_sorts and len(self._mistaken_sorts) < _MOST_SORTS
        if new:
            self._mistaken_sorts.add(sort)
        self.diagnostics.note(f"wrong value for metrics.{metric.name}", mistake, new=new)

    def _undefined(self, name: object, value: object) -> ParameterError:
        """Return the error for an unknown name, without quoting it if it may be the answer in the wrong place.

        The name that may have been meant is searched for once, because that takes long.
        """
        if type(value) is str and value in self._metrics:
            return ParameterError(
                f"metrics.{value}", "given as the answer; a metric's name comes first, its value second"
            )
        if type(name) is not str:
            return ParameterError("metrics", f"a value of type {type_name(name)} is not the name of a metric")
        first, self._misnamed = not self._misnamed, True
        near = meant(name, self._metrics) if first or self._strict else ""
        return ParameterError(f"metrics.{name[:64]}", f"not defined{near}")


def meant(given: object, known: Iterable[str]) -> str:
    """Return what ``did_you_mean`` says; a fork waits for what it imports."""
    with importing():
        return did_you_mean(given, known)


def recall(metric: Metric, item: Item, keys: Keys, ledger: Ledger) -> tuple[int, Permanent | None]:
    """Return the permanent draw that a report repeats, and the record of it unless it repeats the last one.

    A value that was charged repeats its own draw; a new one is charged, and draws. When the budget is used up, a new
    value repeats the last draw instead, because silence would reveal that it is new. Raises DitherError if the last
    draw is not of this device, or is needed and lost.
    """
    account, version_keys = ledger.account(metric), keys.of(metric)
    last = None if account is None else account.last
    replayed = None if last is None else version_keys.replay(last)
    tag = version_keys.marks(item)[2]
    if last is not None and replayed is not None and last.tag == tag:
        return replayed, None
    if ledger.pays(metric, tag):
        drawn = version_keys.draw(item)
        return drawn, version_keys.kept(tag, drawn)
    if replayed is None:
        raise StateError("the last permanent draw is lost, and there is no budget for a new one")
    return replayed, None
