"""Explain each metric to its user in words: what it asks, reveals and costs."""

import math
from collections.abc import Iterable, Mapping

from dither_shared.counted import counted
from dither_shared.errors import WireError
from dither_shared.metrics.metric import Metric, Mixed
from dither_shared.primitives.entropy import Entropy
from dither_shared.wire import Batch, Report

from ..reporting.bodies import SEALED, SealError, build, kind_for, kind_of, read, sealed
from ..reporting.keys import Keys
from ..reporting.ledger import cap_of
from ..state.journal_records import SECRET_BYTES

MANY = (10, 100)
"""The numbers of reports for which the privacy loss is stated."""

HIDES = "repeating one permanent answer hides your answer, but not when it changes"

PERIODS = {"day": "at most once a day", "week": "at most once a week", "once": "once"}
CLEAR = "Sent in the clear, not changed at random"
_PARTIES = (
    "The relay sees this device's address, the time, the question and what is sent in the clear, but not the report."
    " The collector sees the report, but not the address. This holds unless the two work together."
)
_SHUT = "sealed: only the collector can open it, not even this device"
_TIERS = {
    "technical": "the software itself",
    "interaction": "how the software is used",
    "content": "what the software is used on",
    "sensitive": "the person who uses it",
    None: "not provided",
}

_losses: dict[tuple[str, int], float] = {}


def after(metric: Metric, reports: int) -> float:
    """Return the privacy loss of this many reports of one value; cached, because it is computed with huge fractions."""
    key = metric.version, reports
    if key not in _losses:
        _losses[key] = metric.mechanism.epsilon_after(reports)
    return _losses[key]


def odds(metric: Metric) -> str:
    """Return in words what one report reveals about its sender."""
    return metric.question.odds(metric.mechanism, _two_labels(metric))


def cost(metric: Metric) -> str:
    """Return in words the privacy loss of one report, of many reports, and of all reports ever."""
    mechanism, forever = metric.mechanism, metric.mechanism.permanent_epsilon
    one = f"epsilon {mechanism.epsilon:.3g}"
    cap = "" if cap_of(metric) == math.inf else f"; never more than {cap_of(metric):.3g} in all"
    if metric.period == "once":
        return f"{one}, once{cap}"
    few, many = (f"{after(metric, reports):.3g} for {reports}" for reports in MANY)
    if forever is None:
        return f"{one} for one report, {few}, {many}: each report costs the same again{cap}"
    lasting = f"{one} for one report, {few}, {many} and {forever:.3g} in total while the answer stays the same"
    return f"{lasting}; each new answer costs up to {forever:.3g} more{cap}; {HIDES}"


def mixing(metric: Metric, mixed: Mixed) -> str:
    """Return in words what a report costs if relay and collector keep apart, and if they work together."""
    return (
        f"if relay and collector keep apart, epsilon {mixed.epsilon:.3g} for each report, mixed with those of at least "
        f"{mixed.least - 1:,} other devices (except with a probability of about {mixed.delta:g}); if they work "
        f"together, epsilon {metric.mechanism.epsilon:.3g}"
    )


def reading(metrics: Mapping[str, Metric], body: bytes) -> str:
    """Return in words what an upload says about its sender, and its stratum, if any; "" if its bytes say enough.

    Only the stratum is known of a report that is sealed (only the collector can open it), or whose metric is not one of
    ``metrics``.
    """
    try:
        found = read(body)
        metric, stratum = metrics.get(found.metric), found.stratum or ""
        says = _SHUT if kind_of(body) is SEALED else ""
        if metric is not None and metric.version == found.version:
            stratum = metric.strata.described(stratum) if metric.strata and stratum else stratum
            row = found.row and Report.decode(found.row, metric.mechanism)
            says = metric.question.reading(metric.mechanism, row) if row else says
        return "; ".join(filter(None, [says, stratum and f"in the clear: {stratum}"]))
    except WireError:
        return ""


def relayed(metrics: Iterable[Metric], relay: str = "") -> str:
    """Return in words who carries the reports of ``metrics`` and who sees what; "" if they are not sealed."""
    if kind_for(metrics) is not SEALED:
        return ""
    return (
        f"Reports are sealed on this device for the collector's key, and go through a relay{relay and f' ({relay})'}. "
        f"{_PARTIES}"
    )


def consent_text(
    app: str, metrics: Iterable[Metric], entropy: Entropy, today: int, strata: Mapping[str, object] | None = None
) -> str:
    """Return the text to show to a user who is asked for consent; the upload in it is an example that is never sent.

    ``strata`` are the attributes of this device, which the example contains.
    """
    listed = list(metrics)
    questions = counted(len(listed), "question")
    keys = Keys(entropy.take(SECRET_BYTES))  # never stored, so that no report of this device is related to it
    head = (
        f"{app} would like to ask {questions}. Each answer is changed at random on this device before it is kept or\n"
        "sent, so that nobody, not even the collector, can know your true answer."
    )
    if any(metric.strata for metric in listed):
        head += "\nWhat is sent in the clear is not changed."
    if words := relayed(listed):
        head += "\n" + words.replace(". ", ".\n")
    return "\n\n".join([head, *(_question(metric, entropy, keys, today, strata or {}) for metric in listed)])


def catalogue(metrics: Iterable[Metric]) -> str:
    """Return all questions as a Markdown document, for people to read."""
    return "\n".join(["# What is asked", "", *(_chapter(metric) for metric in metrics)])


def facts(metric: Metric) -> list[tuple[str, str]]:
    """Return what a person reads about a metric before answering: names of facts, and the facts, in order."""
    return [
        ("Why", metric.why or "not provided"),
        ("Read by", metric.owner or "not provided"),
        ("About", _TIERS[metric.tier]),
        ("Until", "no end date" if metric.expires is None else metric.expires.isoformat()),
        ("How often", _often(metric)),
        ("Answers", metric.question.words),
        *([] if metric.strata is None else [(CLEAR, metric.strata.words)]),
        *([] if metric.seal is None else [("Sealed for", f"the collector's key {metric.seal.fingerprint}")]),
        ("What a report tells", odds(metric)),
        ("Privacy loss", cost(metric)),
        *([] if metric.mixed is None else [("Mixed by the relay", mixing(metric, metric.mixed))]),
    ]


def _often(metric: Metric) -> str:
    """Return in words how often it is asked."""
    survey, usual = metric.survey, PERIODS[metric.period]
    if survey is None:
        return usual
    each = "in all" if metric.period == "once" else f"each {metric.period}"
    asked = (
        f"one of {len(survey.metrics)} questions is asked {each}, chosen at random and independently of your answers"
    )
    return f"{usual}; {asked} ({', '.join(survey.metrics)})"


def _question(metric: Metric, entropy: Entropy, keys: Keys, today: int, strata: Mapping[str, object]) -> str:
    item = metric.item(metric.question.example)
    stratum = None if metric.strata is None else metric.strata.label_of({**metric.strata.example, **strata})
    body = build(metric, item, keys, entropy, today, local=True, stratum=stratum).body
    shown = [*facts(metric), ("An upload, for example", body.decode("ascii"))]
    if says := reading({metric.name: metric}, body):
        shown.append(("It says", says))
    if shut := _example_sealed(metric, body, today):
        shown.append(("Sealed, as the relay gets it", shut))
    lines = [f"{metric.name}: {metric.description or 'no description'}"]
    lines += [f"    {name}: {text}" for name, text in shown]
    return "\n".join(lines)


def _example_sealed(metric: Metric, body: bytes, today: int) -> str:
    """Return the sealed body of an example; "" if the metric is not sealed, or cannot be sealed here."""
    try:
        return "" if metric.seal is None else sealed(Batch.decode(body), metric, today).decode("ascii")
    except SealError:  # this program may only show the metrics of another one
        return ""


def _chapter(metric: Metric) -> str:
    lines = [f"## {metric.name}", "", metric.description or "No description.", "", "| | |", "|---|---|"]
    shown = (*facts(metric), ("Mechanism", metric.mechanism.name), ("Version", metric.version))
    lines += [f"| {name} | {_cell(text)} |" for name, text in shown]
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())


def _two_labels(metric: Metric) -> tuple[str, str] | None:
    """Return the two answers by name if they are not "yes" and "no"."""
    names = metric.question.names
    return (names[0], names[1]) if len(names) == 2 else None
