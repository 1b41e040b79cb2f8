"""Compare the truth with what was estimated, for the demo to print and draw."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dither_shared import Metric
from dither_shared.counted import counted
from dither_shared.privacy.wording import MEMOISATION, losses

from ...output.plots import Estimates
from ...output.tables import render
from .surveys import Survey

__all__ = ["Answer"]


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
