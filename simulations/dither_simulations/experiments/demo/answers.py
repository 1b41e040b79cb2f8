"""Compare true shares with estimated ones, for the demo to print and draw."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither_server.estimation.estimate import estimate
from dither_shared import Metric
from dither_shared.privacy.wording import MEMOISATION, losses

from ...output.plots import Shares
from ...output.tables import render
from ...trials.devices import device_entropy, device_tally
from ...users.populations import Population
from .surveys import Survey

__all__ = ["Answer", "from_devices", "from_json", "show"]

_MOST_SHOWN = 16


@dataclass(frozen=True, eq=False)
class Answer:
    """The estimate of one metric beside the truth; columns have an entry for every value that someone holds."""

    metric: Metric
    reports: int
    shares: Shares

    @property
    def covered(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each interval contains the true share."""
        return (self.shares.low <= self.shares.truth) & (self.shares.truth <= self.shares.high)

    def most_frequent(self, count: int = _MOST_SHOWN) -> "Answer":
        """Return the same for the ``count`` truly most frequent values, in that order."""
        order = np.argsort(-self.shares.truth, kind="stable")[:count]
        return Answer(self.metric, self.reports, self.shares.chosen(order))

    def described(self) -> dict[str, object]:
        """Return the answer as objects and arrays for JSON."""
        columns = zip(
            *(self.shares.labels, self.shares.truth, self.shares.estimate, self.shares.low, self.shares.high),
            strict=True,
        )
        names = ("value", "truth", "frequency", "low", "high")
        values = [dict(zip(names, (row[0], *map(float, row[1:])), strict=True)) for row in columns]
        return {"metric": self.metric.name, "reports": self.reports, "values": values}


def from_json(metric: Metric, truth: Population, told: Mapping[str, Any]) -> Answer:
    """Return the answer in a collector's estimate of a metric, as JSON of its API."""
    values = {value["value"]: value for value in told["values"]}
    columns = (np.array([values[label][key] for label in truth.labels]) for key in ("frequency", "low", "high"))
    return _answer(metric, truth, told["reports"], *columns)


def from_devices(survey: Survey, name: str, seed: np.random.SeedSequence) -> Answer:
    """Return the estimate of a metric by randomizers and estimator alone: no client, no network, one seed."""
    metric, truth = survey.metrics[name], survey.truth(name)
    tally = device_tally(metric.mechanism, truth, device_entropy(seed))
    made = estimate(metric.mechanism, truth.labels, tally)
    return _answer(metric, truth, made.reports, made.frequency, made.low, made.high)


def show(answer: Answer) -> str:
    """Return text for people: the question, what a report tells of a person, and a table of the shares."""
    shown = answer.most_frequent()
    metric, shares = answer.metric, shown.shares
    rows = [
        (
            label,
            f"{100 * shares.truth[i]:.2f}",
            f"{100 * shares.estimate[i]:.2f}",
            f"{100 * shares.low[i]:.2f} to {100 * shares.high[i]:.2f}{' ' if inside else '!'}",
        )
        for i, (label, inside) in enumerate(zip(shares.labels, shown.covered, strict=True))
    ]
    held = len(answer.shares.labels)
    title = metric.name if len(rows) == held else f"{metric.name}, the {len(rows)} most frequent of {held}"
    return "\n".join(
        (
            f"{metric.description} ({metric.mechanism.name}, {losses(metric.mechanism)}, {answer.reports:,} reports)",
            f"To a person: {_odds(metric, shares.labels[0])}.",
            "",
            render((title, "true %", "estimate %", "95% interval"), rows),
        )
    )


def _answer(metric: Metric, truth: Population, reports: int, *columns: np.ndarray[Any, Any]) -> Answer:
    shares = Shares(truth.labels, truth.shares, *columns)
    return Answer(metric, reports, shares.chosen(np.flatnonzero(truth.counts)))


def _odds(metric: Metric, example: str) -> str:
    """Return the odds sentence, with the commonest answer of a choice for its example."""
    sentence = metric.question.odds(metric.mechanism, (example, "another") if metric.question.names else None)
    return sentence if metric.mechanism.permanent_epsilon is None else f"{sentence}. {MEMOISATION.removesuffix('.')}"
