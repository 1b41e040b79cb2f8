"""Estimated shares of answers beside the true ones."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from dither_server.estimation.estimate import estimate
from dither_shared import Metric

from ...output.plots import Estimates
from ...trials.devices import device_entropy, device_tally
from ...users.populations import Population
from .answers import Answer
from .surveys import Survey

__all__ = ["ShareAnswer"]

_MOST_SHOWN = 16


class ShareAnswer(Answer):
    """The share of each answer that someone gives."""

    names: ClassVar[tuple[str, str]] = ("value", "frequency")

    @classmethod
    def from_json(cls, survey: Survey, name: str, answer: Mapping[str, Any]) -> Self:
        """Return the shares of all labels of the metric."""
        truth, values = survey.truth(name), {value["value"]: value for value in answer["values"]}
        columns = (np.array([values[label][key] for label in truth.labels]) for key in ("frequency", "low", "high"))
        return cls._of(survey.metrics[name], truth, answer["reports"], *columns)

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
