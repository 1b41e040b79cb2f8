"""Compare the truth with what was estimated, for the demo to print and draw."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dither_server.estimation.estimate import estimate
from dither_server.estimation.numeric.estimate import estimate_number
from dither_server.estimation.numeric.registry import law_of
from dither_server.reading.summaries.number_scale import Scale
from dither_shared import Metric
from dither_shared.counted import counted
from dither_shared.privacy.wording import MEMOISATION, losses

from ...output.plots import Estimates
from ...output.tables import render
from ...trials.devices import device_entropy, device_tally
from ...users.populations import Population
from .surveys import Survey


@dataclass(frozen=True, eq=False)
class Answer(ABC):
    """The estimates of one metric beside the truth."""

    names: ClassVar[tuple[str, str]]
    """What a label is, and what an estimate is, in JSON."""

    metric: Metric
    reports: int
    rows: Estimates

    @classmethod
    @abstractmethod
    def from_json(cls, survey: Survey, name: str, answer: Mapping[str, Any]) -> Self:
        """Return the answer in a collector's estimate of a metric, as JSON of its API."""

    @classmethod
    @abstractmethod
    def from_devices(cls, survey: Survey, name: str, seed: np.random.SeedSequence) -> Self:
        """Return the estimate of a metric by randomizers and estimator alone: no client, no network, one seed."""

    @property
    @abstractmethod
    def unit(self) -> str:
        """The unit of what is shown, in full."""

    @property
    @abstractmethod
    def shown(self) -> Estimates:
        """The rows that are printed and drawn, in ``unit``."""

    @property
    @abstractmethod
    def heads(self) -> Sequence[str]:
        """The heads of the columns of labels, true values and estimates."""

    @property
    def odds(self) -> str:
        """A sentence on what one report tells of a person."""
        return self.metric.question.odds(self.metric.mechanism)

    def described(self) -> dict[str, object]:
        """Return the answer as objects and arrays for JSON."""
        rows = self.rows
        columns = zip(*(rows.labels, rows.truth, rows.estimate, rows.low, rows.high), strict=True)
        label, estimate = self.names
        names = (label, "truth", estimate, "low", "high")
        values = [dict(zip(names, (row[0], *map(float, row[1:])), strict=True)) for row in columns]
        return {"metric": self.metric.name, "reports": self.reports, "values": values}

    def text(self) -> str:
        """Return text for people: the question, what a report tells of a person, and a table of the estimates."""
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
                f"To a person: {self.odds}{memoised}.",
                "",
                render((*self.heads, "95% interval"), rows),
            )
        )


_MOST_SHOWN = 16


class ShareAnswer(Answer):
    """The share of each answer that someone gives."""

    names: ClassVar[tuple[str, str]] = ("value", "frequency")

    @classmethod
    def from_json(cls, survey: Survey, name: str, answer: Mapping[str, Any]) -> Self:
        """Return the shares of all labels of the metric."""
        truth, values = survey.truth(name), {value["value"]: value for value in answer["values"]}
        rows = [[values[label][key] for label in truth.labels] for key in ("frequency", "low", "high")]
        return cls._of(survey.metrics[name], truth, answer["reports"], *np.array(rows, dtype=np.float64))

    @classmethod
    def from_devices(cls, survey: Survey, name: str, seed: np.random.SeedSequence) -> Self:
        """Return the shares of all labels of the metric."""
        metric, truth = survey.metrics[name], survey.truth(name)
        tally = device_tally(metric.mechanism, truth, device_entropy(seed))
        made = estimate(metric.mechanism, truth.labels, tally)
        return cls._of(metric, truth, made.reports, made.frequency, made.low, made.high)

    @classmethod
    def _of(cls, metric: Metric, truth: Population, reports: int, *columns: np.ndarray[Any, Any]) -> Self:
        rows = Estimates(truth.labels, truth.shares, *columns)
        return cls(metric, reports, rows.chosen(np.flatnonzero(truth.counts)))

    @property
    def unit(self) -> str:
        """Percent of all people who were asked."""
        return "% of all users"

    @property
    def shown(self) -> Estimates:
        """The truly most frequent ones, in that order, in percent."""
        return self.rows.chosen(np.argsort(-self.rows.truth, kind="stable")[:_MOST_SHOWN]).times(100)

    @property
    def heads(self) -> tuple[str, str, str]:
        """The metric, and how many of its answers are shown."""
        held, name = len(self.rows.labels), self.metric.name
        title = name if held <= _MOST_SHOWN else f"{name}, the {_MOST_SHOWN} most frequent of {held}"
        return title, "true %", "estimate %"

    @property
    def odds(self) -> str:
        """The sentence on what one report tells, with the commonest answer of a choice for its example."""
        metric, (example, *_) = self.metric, self.shown.labels
        return metric.question.odds(metric.mechanism, (example, "another") if metric.question.names else None)


_QUANTILES = (0.5, 0.95)
"""Two of those that an estimate has by default."""


class NumberAnswer(Answer):
    """The mean, the median and the 95th percentile, in the metric's unit."""

    names: ClassVar[tuple[str, str]] = ("statistic", "estimate")

    @classmethod
    def from_json(cls, survey: Survey, name: str, answer: Mapping[str, Any]) -> Self:
        """Return the statistics of the metric."""
        quantiles = {one["share"]: one for one in answer["quantiles"]}
        return cls._of(survey, name, answer["reports"], answer["mean"], [quantiles[share] for share in _QUANTILES])

    @classmethod
    def from_devices(cls, survey: Survey, name: str, seed: np.random.SeedSequence) -> Self:
        """Return the statistics of the metric."""
        metric = survey.metrics[name]
        mechanism, scale = metric.mechanism, Scale.of(metric)
        entropy = device_entropy(seed)
        points = [metric.answers.encode(person[name]).rounded(entropy) for person in survey.people]
        labels = tuple(f"{scale.at(point):g}" for point in range(scale.last + 1))
        people = Population(labels, np.bincount(points, minlength=len(labels)))
        found = estimate_number(law_of(mechanism), device_tally(mechanism, people, entropy))
        mean = scale.mean(found.mean)
        quantiles = [scale.quantile(one, found.reports) for one in found.quantiles(_QUANTILES)]
        return cls._of(survey, name, found.reports, mean, quantiles)

    @classmethod
    def _of(
        cls, survey: Survey, name: str, reports: int, mean: Mapping[str, Any], quantiles: Sequence[Mapping[str, Any]]
    ) -> Self:
        metric, statistics = survey.metrics[name], (mean, *quantiles)
        scale = Scale.of(metric)
        held = np.clip([float(person[name]) for person in survey.people], scale.low, scale.high)  # type: ignore[arg-type]  # a survey's own numbers
        truth = np.array([held.mean(), *np.quantile(held, _QUANTILES, method="inverted_cdf")])
        columns = (np.array([one[key] for one in statistics], dtype=np.float64) for key in ("value", "low", "high"))
        labels = ("mean", *(f"p{100 * share:g}" for share in _QUANTILES))
        return cls(metric, reports, Estimates(labels, truth, *columns))

    @property
    def unit(self) -> str:
        """The unit of the answers."""
        return Scale.of(self.metric).unit

    @property
    def shown(self) -> Estimates:
        """All of them."""
        return self.rows

    @property
    def heads(self) -> tuple[str, str, str]:
        """The metric and its unit."""
        return f"{self.metric.name}, {self.unit}", "true", "estimate"
