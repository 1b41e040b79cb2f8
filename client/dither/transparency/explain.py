"""Explain each metric to its user in words: what it asks, reveals and costs."""

import math
from collections.abc import Iterable, Mapping

from dither_shared.errors import WireError
from dither_shared.languages import ENGLISH, Language
from dither_shared.metrics.metric import Metric, Mixed
from dither_shared.primitives.entropy import Entropy
from dither_shared.wire import Batch, Report

from ..reporting.bodies import SEALED, SealError, build, kind_for, kind_of, read, sealed
from ..reporting.keys import Keys
from ..reporting.ledger import cap_of
from ..state.journal_records import SECRET_BYTES

MANY = (10, 100)
"""The numbers of reports for which the privacy loss is stated."""

_NO_SPAN = frozenset({"any", "set", "days", "weeks-since-first-use"})
"""Values of ``of`` whose text names no period: the device keeps only a report, or data of more than one period."""

_losses: dict[tuple[str, int], float] = {}


def after(metric: Metric, reports: int) -> float:
    """Return the privacy loss of this many reports of one value; cached, because it is computed with huge fractions."""
    key = metric.version, reports
    if key not in _losses:
        _losses[key] = metric.mechanism.epsilon_after(reports)
    return _losses[key]


def odds(metric: Metric, say: Language = ENGLISH) -> str:
    """Return in words what one report reveals about its sender."""
    return metric.question.odds(metric.mechanism, _two_labels(metric), say)


def cost(metric: Metric, say: Language = ENGLISH) -> str:
    """Return in words the privacy loss of one report, of many reports, and of all reports ever."""
    mechanism, forever = metric.mechanism, metric.mechanism.permanent_epsilon
    one = _digits(mechanism.epsilon, say)
    cap = cap_of(metric)
    capped = [] if cap == math.inf else [say("cost.cap", cap=_digits(cap, say))]
    if metric.period == "once":
        return "; ".join([say("cost.once", one=one), *capped])
    few, more = (_digits(after(metric, reports), say) for reports in MANY)
    sizes = {"one": one, "few": few, "some": MANY[0], "more": more, "many": MANY[1]}
    if forever is None:
        return "; ".join([say("cost.each", **sizes), *capped])
    return "; ".join([say("cost.lasting", forever=_digits(forever, say), **sizes), *capped, say("cost.hides")])


def _digits(epsilon: float, say: Language) -> str:
    return say.number(f"{epsilon:.3g}")


def often(metric: Metric, say: Language = ENGLISH) -> str:
    """Return in words how often a report is made, ignoring surveys."""
    return say(f"period.{metric.period}")


def _mixing(metric: Metric, mixed: Mixed, say: Language) -> str:
    """Return in words what a report costs if relay and collector keep apart, and if they work together."""
    among = {"others": mixed.least - 1, "delta": say.number(f"{mixed.delta:g}")}
    return say("mixed", one=_digits(mixed.epsilon, say), alone=_digits(metric.mechanism.epsilon, say), **among)


def reading(metrics: Mapping[str, Metric], body: bytes, say: Language = ENGLISH) -> str:
    """Return in words what an upload says about its sender, and its stratum, if any; "" if its bytes say enough.

    Only the stratum is known of a report that is sealed (only the collector can open it), or whose metric is not one of
    ``metrics``.
    """
    try:
        upload = read(body)
        metric, stratum = metrics.get(upload.metric), upload.stratum or ""
        says = say("sealed.reads") if kind_of(body) is SEALED else ""
        if metric is not None and metric.version == upload.version:
            stratum = metric.strata.described(stratum) if metric.strata and stratum else stratum
            row = upload.row and Report.decode(upload.row, metric.mechanism)
            says = metric.question.reading(metric.mechanism, row, say) if row else says
        return "; ".join(filter(None, [says, stratum and say("clear.reads", stratum=stratum)]))
    except WireError:
        return ""


def relayed(metrics: Iterable[Metric], relay: str = "", say: Language = ENGLISH) -> str:
    """Return in words who forwards the reports of ``metrics`` and who sees what; "" if they are not sealed."""
    return " ".join(_relayed(metrics, relay, say))


def _relayed(metrics: Iterable[Metric], relay: str, say: Language) -> list[str]:
    if kind_for(metrics) is not SEALED:
        return []
    parties = [say(f"relayed.{key}") for key in ("relay", "collector", "unless")]
    return [say("relayed.by", relay=relay) if relay else say("relayed"), *parties]


def consent_text(
    app: str,
    metrics: Iterable[Metric],
    entropy: Entropy,
    today: int,
    strata: Mapping[str, object] | None = None,
    say: Language = ENGLISH,
) -> str:
    """Return the text to show to a user who is asked for consent; the upload in it is an example that is never sent.

    ``strata`` are the attributes of this device, which the example contains.
    """
    listed = list(metrics)
    keys = Keys(entropy.take(SECRET_BYTES))  # never stored, so that no report of this device is related to it
    unchanged = any(map(keeps_unchanged, listed))
    head = [say.count("ask.kept" if unchanged else "ask", len(listed), app=app)]
    head += [say("ask.clear")] if any(metric.strata for metric in listed) else []
    head += _relayed(listed, "", say)
    questions = [_question(metric, entropy, keys, today, strata or {}, say) for metric in listed]
    return "\n\n".join(["\n".join(head), *questions])


def catalogue(metrics: Iterable[Metric], say: Language = ENGLISH) -> str:
    """Return all questions as a Markdown document, for people to read."""
    return "\n".join([f"# {say('catalogue.title')}", "", *(_chapter(metric, say) for metric in metrics)])


def facts(metric: Metric, say: Language = ENGLISH) -> list[tuple[str, str]]:
    """Return what a person reads about a metric before answering: identifiers of facts, and the facts, in order."""
    missing = say("missing")
    expires = say("missing.expires") if metric.expires is None else metric.expires.isoformat()
    seal = metric.seal
    return [
        ("why", say.own(metric.name, "why", metric.why) or missing),
        ("owner", say.own(metric.name, "owner", metric.owner) or missing),
        ("tier", missing if metric.tier is None else say(f"tier.{metric.tier}")),
        ("expires", expires),
        ("period", _often(metric, say)),
        ("values", metric.question.words(say)),
        *([] if metric.of is None else [("kept", _kept(metric, say))]),
        *([] if metric.strata is None else [("strata", metric.strata.words(say))]),
        *([] if seal is None else [("seal", say("seal.key", key=seal.fingerprint))]),
        ("odds", odds(metric, say)),
        ("cost", cost(metric, say)),
        *([] if metric.mixed is None else [("mixed", _mixing(metric, metric.mixed, say))]),
    ]


def named(listed: Iterable[tuple[str, str]], say: Language = ENGLISH) -> list[tuple[str, str]]:
    """Return facts with their names in place of identifiers."""
    return [(say(f"fact.{key}"), text) for key, text in listed]


def description(metric: Metric, say: Language = ENGLISH) -> str:
    """Return the question, in words."""
    return say.own(metric.name, "description", metric.description) or say("missing.description")


def _often(metric: Metric, say: Language) -> str:
    """Return in words how often the question is asked."""
    survey, usual = metric.survey, often(metric, say)
    if metric.after:
        usual = say.count("period.after", metric.after, usual=usual)
    if survey is None:
        return usual
    members = {"count": len(survey.metrics), "names": ", ".join(survey.metrics)}
    return say(f"survey.{metric.period}", usual=usual, **members)


def keeps_unchanged(metric: Metric) -> bool:
    """Return whether the device stores true data to form an answer, such as a count of events."""
    return metric.of not in {None, "any", "set"}


def _kept(metric: Metric, say: Language) -> str:
    """Return in words what the device stores to form an answer of events."""
    return say(f"kept.{metric.of}", **({} if metric.of in _NO_SPAN else {"span": say(f"span.{metric.period}")}))


def _question(
    metric: Metric, entropy: Entropy, keys: Keys, today: int, strata: Mapping[str, object], say: Language
) -> str:
    item = metric.item(metric.question.example)
    stratum = None if metric.strata is None else metric.strata.label_of({**metric.strata.example, **strata})
    body = build(metric, item, keys, entropy, today, local=True, stratum=stratum).body
    shown = [*facts(metric, say), ("example", body.decode("ascii"))]
    if says := reading({metric.name: metric}, body, say):
        shown.append(("reads", says))
    if in_seal := _example_sealed(metric, body, today):
        shown.append(("sealed", in_seal))
    lines = [f"{metric.name}: {description(metric, say)}"]
    lines += [f"    {name}: {text}" for name, text in named(shown, say)]
    return "\n".join(lines)


def _example_sealed(metric: Metric, body: bytes, today: int) -> str:
    """Return the sealed body of an example; "" if the metric is not sealed, or cannot be sealed here."""
    try:
        return "" if metric.seal is None else sealed(Batch.decode(body), metric, today).decode("ascii")
    except SealError:  # this program may only show the metrics of another one
        return ""


def _chapter(metric: Metric, say: Language) -> str:
    asked = say.own(metric.name, "description", metric.description) or say("catalogue.missing")
    lines = [f"## {metric.name}", "", asked, "", "| | |", "|---|---|"]
    shown = (*facts(metric, say), ("mechanism", metric.mechanism.name), ("version", metric.version))
    lines += [f"| {name} | {_cell(text)} |" for name, text in named(shown, say)]
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())


def _two_labels(metric: Metric) -> tuple[str, str] | None:
    """Return the two answers by name if they are not "yes" and "no"."""
    names = metric.question.names
    return (names[0], names[1]) if len(names) == 2 else None
