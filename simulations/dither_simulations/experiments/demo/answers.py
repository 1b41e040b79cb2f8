"""Compare the truth with what was estimated, for the demo to print and draw."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither_server.estimation.estimate import estimate
from dither_server.estimation.numeric.estimate import estimate_number
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.reading.summaries.number_scale import Scale
from dither_shared import Metric
from dither_shared.counted import counted
from dither_shared.privacy.wording import MEMOISATION, losses

from ...output.plots import ComparedEstimates
from ...output.tables import render
from ...trials.devices import device_entropy, device_tally
from ...users.populations import Population
from .surveys import DemoSurvey

_MOST_SHOWN = 16
"""Maximum number of values that are printed and drawn."""

_QUANTILES = (0.5, 0.95)
"""Two of the quantiles that an estimate has by default."""


@dataclass(frozen=True, eq=False)
class DemoAnswer:
    """The estimates of one metric beside the truth: ``rows`` for JSON, and those that are ``shown``, in ``unit``.

    ``names`` say what a label is and what an estimate is, in JSON; ``heads`` are the heads of the columns of labels,
    true values and estimates; ``odds`` is a sentence on what one report reveals about a person.
    """

    metric: Metric
    reports: int
    rows: ComparedEstimates
    shown: ComparedEstimates
    unit: str
    names: tuple[str, str]
    heads: tuple[str, str, str]
    odds: str

    def described(self) -> dict[str, object]:
        """Return the answer as objects and arrays for JSON."""
        rows = self.rows
        columns = zip(*(rows.labels, rows.truth, rows.estimate, rows.low, rows.high), strict=True)
        label, estimate = self.names
        names = (label, "truth", estimate, "low", "high")
        values = [dict(zip(names, (row[0], *map(float, row[1:])), strict=True)) for row in columns]
        return {"metric": self.metric.name, "reports": self.reports, "values": values}

    def text(self) -> str:
        """Return text for people: the question, what a report reveals about a person, and a table of the estimates."""
        metric, shown = self.metric, self.shown
        rows = [
            (
                label,
                f"{shown.truth[i]:.2f}",
                f"{shown.estimate[i]:.2f}",
                f"{shown.low[i]:.2f} to {shown.high[i]:.2f}{' ' if inside else '!'}",
            )
            for i, (label, inside) in enumerate(zip(shown.labels, shown.covered, strict=True))
        ]
        memoised = "" if metric.mechanism.permanent_epsilon is None else f". {MEMOISATION.removesuffix('.')}"
        return "\n".join(
            (
                f"{metric.description} ({metric.mechanism.name}, {losses(metric.mechanism)}, "
                f"{counted(self.reports, 'report')})",
                f"In words: {self.odds}{memoised}.",
                "",
                render((*self.heads, "95% interval"), rows),
            )
        )


def collected(survey: DemoSurvey, name: str, answer: Mapping[str, Any]) -> DemoAnswer:
    """Return a collector's estimate of a metric, given the JSON of its API."""
    if survey.metrics[name].question.kind == "number":
        quantiles = {one["share"]: one for one in answer["quantiles"]}
        return _number(survey, name, answer["reports"], [answer["mean"], *(quantiles[share] for share in _QUANTILES)])
    truth, values = survey.truth(name), {value["value"]: value for value in answer["values"]}
    rows = [[values[label][key] for label in truth.labels] for key in ("frequency", "low", "high")]
    return _shares(survey.metrics[name], truth, answer["reports"], *np.array(rows, dtype=np.float64))


def drawn(survey: DemoSurvey, name: str, seed: np.random.SeedSequence) -> DemoAnswer:
    """Return the estimate of a metric from randomizers and estimator alone: no client, no network, one seed."""
    metric = survey.metrics[name]
    mechanism, entropy = metric.mechanism, device_entropy(seed)
    if metric.question.kind != "number":
        truth = survey.truth(name)
        made = estimate(mechanism, truth.labels, device_tally(mechanism, truth, entropy))
        return _shares(metric, truth, made.reports, made.frequency, made.low, made.high)
    scale = Scale.of(metric)
    points = [metric.answers.encode(person[name]).rounded(entropy) for person in survey.people]
    labels = tuple(f"{scale.at(point):g}" for point in range(scale.last + 1))
    people = Population(labels, np.bincount(points, minlength=len(labels)))
    found = estimate_number(law_of(mechanism), device_tally(mechanism, people, entropy))
    quantiles = [scale.quantile(one, found.reports) for one in found.quantiles(_QUANTILES)]
    return _number(survey, name, found.reports, [scale.mean(found.mean), *quantiles])


def _shares(metric: Metric, truth: Population, reports: int, *columns: np.ndarray[Any, Any]) -> DemoAnswer:
    """Return the share of each answer that someone gives; the truly most frequent ones are shown, in percent."""
    rows = ComparedEstimates(truth.labels, truth.shares, *columns).chosen(np.flatnonzero(truth.counts))
    shown = rows.chosen(np.argsort(-rows.truth, kind="stable")[:_MOST_SHOWN]).times(100)
    held, name = len(rows.labels), metric.name
    title = name if held <= _MOST_SHOWN else f"{name}, the {_MOST_SHOWN} most frequent of {held}"
    example = (shown.labels[0], "another") if metric.question.names else None
    return DemoAnswer(
        metric,
        reports,
        rows,
        shown,
        unit="% of all users",
        names=("value", "frequency"),
        heads=(title, "true %", "estimate %"),
        odds=metric.question.odds(metric.mechanism, example),
    )


def _number(survey: DemoSurvey, name: str, reports: int, statistics: Sequence[Mapping[str, Any]]) -> DemoAnswer:
    """Return the mean, the median and the 95th percentile, in the metric's unit."""
    metric = survey.metrics[name]
    scale = Scale.of(metric)
    held = np.clip([float(person[name]) for person in survey.people], scale.low, scale.high)  # type: ignore[arg-type]  # a survey's own numbers
    truth = np.array([held.mean(), *np.quantile(held, _QUANTILES, method="inverted_cdf")])
    columns = (np.array([one[key] for one in statistics], dtype=np.float64) for key in ("value", "low", "high"))
    rows = ComparedEstimates(("mean", *(f"p{100 * share:g}" for share in _QUANTILES)), truth, *columns)
    return DemoAnswer(
        metric,
        reports,
        rows,
        rows,
        unit=scale.unit,
        names=("statistic", "estimate"),
        heads=(f"{name}, {scale.unit}", "true", "estimate"),
        odds=metric.question.odds(metric.mechanism),
    )
