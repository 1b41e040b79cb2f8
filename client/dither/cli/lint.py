"""Lint: find what a definition lacks before people are asked its question."""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from dither_shared.errors import did_you_mean
from dither_shared.metrics.metric import Metric

from ..reporting.app_name_clash import ADVICE
from ..transparency.explain import after

_LONGEST = timedelta(days=2 * 366)
_MOST_EPSILON = 4.0
_MOST_SENSITIVE_EPSILON = 1.0
_WORDS = {
    "description": 'the question, in words, for example description = "Which theme do people use?"',
    "why": 'what the answers are for, for example why = "To drop themes that nobody uses"',
    "owner": 'who reads the answers, for example owner = "ui@example.org"',
    "tier": "what it is about: technical, interaction, content or sensitive",
    "expires": "the last day on which it is asked, for example expires = 2027-06-30",
}


def lint(metrics: Iterable[Metric], today: date, app: str | None = None) -> list[str]:
    """Return one sentence for each thing to fix, naming the metric and the key; empty if there is none.

    ``app`` is the app's name, if that is to be checked, too.
    """
    listed = list(metrics)
    found = [f"metrics.{one.name}.{finding}" for one in listed for finding in _findings(one, today)]
    found += [
        f"metrics.{one.name}.{finding}" for one in listed if one.strata for finding in _strata_advice(one, listed)
    ]
    if app is not None and "." not in app.strip("."):
        found.append(
            f"app: {app!r} may also be the name of another app, and both would share consent and reports; {ADVICE}"
        )
    return found


def hints(metrics: Iterable[Metric]) -> list[str]:
    """Return one sentence for each thing that is valid but weaker than it may seem; empty if there is none."""
    return [
        f"metrics.{one.name}: a hint: a relay hides who sent its sealed reports, but each device repeats its "
        f"permanent draw: the collector may recognize one device's reports of many days, and shuffling does not "
        f"lower epsilon; leave permanent_epsilon out if that matters more than the total loss of many reports of one "
        f"answer"
        for one in metrics
        if one.seal is not None and one.mechanism.memoised
    ]


def _findings(metric: Metric, today: date) -> list[str]:
    found = [f"{key}: missing; {advice}" for key, advice in _WORDS.items() if not getattr(metric, key)]
    if metric.expires is not None and metric.expired(today):
        found.append(f"expires: {metric.expires} has passed, so nobody is asked any more")
    elif metric.expires is not None and metric.expires - today > _LONGEST:
        found.append(f"expires: {metric.expires} is more than two years away; set an earlier day, and extend it then")
    most = _MOST_SENSITIVE_EPSILON if metric.tier == "sensitive" else _MOST_EPSILON
    if metric.mechanism.epsilon > most:
        kind = "a question of the tier sensitive" if metric.tier == "sensitive" else "one report"
        found.append(f"epsilon: {metric.mechanism.epsilon:.3g} is more than {most:g}, too much for {kind}")
    if metric.survey is not None and set(metric.survey.metrics) <= {metric.name}:
        found.append(
            f"one_of: no other metric belongs to the survey {metric.survey.name!r}; is the name spelled the same in "
            f"all of them?"
        )
    if metric.period != "once" and not metric.mechanism.memoised and metric.cap is None:
        hundred = after(metric, 100)
        found.append(
            f"cap: missing; each report costs the same again, {hundred:.3g} after 100, without limit; "
            "set a cap or, if the mechanism has it, a permanent_epsilon"
        )
    if metric.mixed is not None and metric.seal is None:
        found.append("mixed: has no effect without [seal], because nobody mixes reports that are sent to a collector")
    return [*found, *metric.question.advice(metric.mechanism)]


_MOST_CELLS = 8
_SECRET = re.compile(
    "account|address|age|birth|birthday|city|country|device|email|gender|health|host|hostname|id|income|ip|language|locale|"
    "location|login|mail|person|phone|race|region|religion|serial|sex|user|username|uuid|zip"
)
"""Words in names of attributes that describe a person or identify a device."""


def _strata_advice(metric: Metric, metrics: Iterable[Metric]) -> Iterator[str]:
    """Yield one sentence for each thing to fix in the strata of a metric; ``metrics`` are all metrics of its file."""
    strata = metric.strata
    if strata is None:
        return
    if len(strata) > _MOST_CELLS:
        yield (
            f"strata: {len(strata)} cells, and each needs as many reports as the metric would without strata; a "
            f"report is hidden only among those of its own cell, so list fewer values: at most {_MOST_CELLS} cells"
        )
    others = [(one.name, dict(one.strata.attributes)) for one in metrics if one.strata and one.name != metric.name]
    known = {name for _, attributes in others for name in attributes}
    for name, values in strata.attributes:
        if any(map(_SECRET.fullmatch, name.split("_"))):
            yield f"strata.{name}: sent in the clear, not changed at random; make a secret a metric of its own"
        if name not in known and (meant := did_you_mean(name, known)):
            yield f"strata.{name}: another metric has a similar name{meant}"
        for other, attributes in others:
            if set(attributes.get(name, values)) != set(values):
                yield (
                    f"strata.{name}: metrics.{other} lists other values; a value that one of them does not list "
                    f'goes to "other"'
                )
