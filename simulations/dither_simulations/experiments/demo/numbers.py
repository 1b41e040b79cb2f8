"""The estimated mean and quantiles of a number beside the true ones."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from dither_server.estimation.numeric.estimate import estimate_number
from dither_server.estimation.numeric.registry import law_of
from dither_server.reading.summaries.number_scale import Scale

from ...output.plots import Estimates
from ...trials.devices import device_entropy, device_tally
from ...users.populations import Population
from .answers import Answer
from .surveys import Survey

__all__ = ["NumberAnswer"]

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
        points = [metric.item(person[name]) for person in survey.people]
        labels = tuple(f"{scale.at(point):g}" for point in range(scale.last + 1))
        people = Population(labels, np.bincount(points, minlength=len(labels)))
        found = estimate_number(law_of(mechanism), device_tally(mechanism, people, device_entropy(seed)))
        mean = scale.mean(found.mean, mechanism.memoised, 1)
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
