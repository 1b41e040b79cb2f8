"""The scale of a numeric question: from parts of the range and points of the grid to numbers in its unit."""

import math
import sys
from dataclasses import dataclass
from typing import Any, Self, cast

from dither_shared import Metric, NumberQuestion, ParameterError

from ...analysis.columns import finite
from ...estimation.intervals.score import too_wide
from ...estimation.numeric.estimate import Quantile
from ...estimation.numeric.mean import Mean

_LARGEST = math.log(sys.float_info.max)
"""The logarithm of the largest double; a mean of few reports may be estimated beyond it."""


@dataclass(frozen=True)
class Scale:
    """The range of a question, and the ``last`` point of its grid. With ``log`` parts are those of logarithms."""

    low: float
    high: float
    log: bool
    unit: str
    last: int

    @classmethod
    def of(cls, metric: Metric) -> Self:
        """Return the scale of a metric that asks for a number."""
        question = cast("NumberQuestion", metric.question)
        return cls(question.low, question.high, question.log, question.unit, cast("int", metric.mechanism.size) - 1)

    @property
    def mean_kind(self) -> str:
        """Which mean is estimated."""
        return "geometric" if self.log else "arithmetic"

    @property
    def mean_name(self) -> str:
        """The name of the mean in a table."""
        return "geometric mean" if self.log else "mean"

    def value(self, part: float) -> float:
        """Return the number at a part of the range, which may lie beyond 0 or 1."""
        if not math.isfinite(part):
            return math.nan
        if part in {0, 1}:  # as the definition writes them, whatever rounding does
            return self.high if part else self.low
        if not self.log:
            return (1 - part) * self.low + part * self.high
        logarithm = (1 - part) * math.log(self.low) + part * math.log(self.high)
        return math.exp(logarithm) if logarithm < _LARGEST else math.inf

    def at(self, place: float) -> float:
        """Return the number at a place, in steps of the grid from its low end."""
        return self.value(place / self.last)

    def place(self, number: float) -> float:
        """Return the place of a number. Raises ParameterError if it is not within the range."""
        if not self.low <= number <= self.high:
            raise ParameterError("at", f"{number:g} is not within the range, from {self.low:g} to {self.high:g}")
        part = (number - self.low) / (self.high - self.low)
        if self.log:
            part = (math.log(number) - math.log(self.low)) / self.width
        return min(max(part, 0.0), 1.0) * self.last

    def part(self, number: float | None) -> float | None:
        """Return the part of the range below a number, which is moved into the range; None if it is unknown."""
        if number is None or math.isnan(number):
            return None
        return self.place(min(max(number, self.low), self.high)) / self.last

    def evenly(self, parts: int) -> list[float]:
        """Return the borders between ``parts`` even parts of the range, without its ends; fewer on a coarse grid."""
        parts = min(parts, self.last)
        return [self.value(place / parts) for place in range(1, parts)]

    def coordinate(self, part: float) -> float:
        """Return the number at a part of the range, or its logarithm: the coordinate in which means are taken."""
        return math.log(self.low) + part * self.width if self.log else self.low + part * self.width

    @property
    def width(self) -> float:
        """The width of the range, or of its logarithms."""
        return math.log(self.high) - math.log(self.low) if self.log else self.high - self.low

    def error(self, part: float) -> float:
        """Return the standard error of a number, given that of its part of the range; NaN on log scales.

        There an error is a factor, and in the unit it would differ upwards and downwards: only the interval says both.
        """
        return math.nan if self.log else part * self.width

    def mean(self, mean: Mean) -> dict[str, Any]:
        """Return a mean with its errors and intervals; a number that is not defined is None."""
        errors = {"noise_error": mean.noise_error, "standard_error": mean.standard_error}
        ends = {name: self.value(getattr(mean, name)) for name in ("noise_low", "noise_high", "low", "high")}
        return {
            "value": finite(self.value(mean.estimate)),
            **{name: finite(self.error(error)) for name, error in errors.items()},
            **{name: finite(end) for name, end in ends.items()},
            "verdict": "too-few" if too_wide(mean.low, mean.high) else "ok",
        }

    def quantile(self, one: Quantile, reports: int) -> dict[str, Any]:
        """Return a quantile with its interval, which includes all answers that may be rounded to its end points."""
        return {
            "share": one.share,
            "value": self.at(one.point) if reports else None,
            "low": self.at(max(one.low - 1, 0)),
            "high": self.at(min(one.high + 1, self.last)),
            "verdict": one.verdict,
        }
