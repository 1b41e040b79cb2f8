"""Sources of users whose answers are numbers: a distribution over the range, or a column of a file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from dither_shared import ParameterError
from dither_shared.primitives.probability import ONE
from dither_shared.questions.number import Grid

from ..choices import Spread
from .populations import Counts, Floats

_PARTS = 16
"""Even parts of a step within which a distribution is assumed to be uniform."""


class _Shape(NamedTuple):
    """A kind of distribution: its default parameters, and P[answer < x] for places x in the range from 0 to 1."""

    usual: tuple[float, ...]
    names: str
    below: Callable[..., Floats]
    valid: Callable[..., bool]


def _spikes(x: Floats, count: float) -> Floats:
    """Return the shares below places of ``count`` values, evenly spaced, each half as common as the one before."""
    places, weights = np.arange(int(count)) / (int(count) - 1), 0.5 ** np.arange(int(count))
    return np.asarray((places < x[:, np.newaxis]) @ (weights / weights.sum()))


def _lognormal(x: Floats, median: float, sigma: float) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(special.ndtr(np.log(np.maximum(x, 0) / median) / sigma))


_SHAPES: Mapping[Spread, _Shape] = {
    "uniform": _Shape((), "none", lambda x: np.clip(x, 0, 1), lambda: True),
    "normal": _Shape(
        (0.5, 0.15), "MEAN,SD", lambda x, mean, sd: np.asarray(special.ndtr((x - mean) / sd)), lambda _, sd: sd > 0
    ),
    "lognormal": _Shape((0.1, 0.8), "MEDIAN,SIGMA", _lognormal, lambda median, sigma: median > 0 and sigma > 0),
    "beta": _Shape(
        (2.0, 5.0), "A,B", lambda x, a, b: np.asarray(stats.beta.cdf(x, a, b)), lambda a, b: a > 0 and b > 0
    ),
    "spikes": _Shape((8.0,), "COUNT", _spikes, lambda count: 2 <= count <= 1000),
    "zero-inflated": _Shape(
        (0.6, 0.125),
        "SHARE,MEAN",
        lambda x, zeros, mean: np.where(x > 0, 1 - (1 - zeros) * np.exp(-np.maximum(x, 0) / mean), 0.0),
        lambda zeros, mean: 0 <= zeros <= 1 and mean > 0,
    ),
}


@dataclass(frozen=True)
class NumberDistribution:
    """A distribution over the range, which is from 0 to 1; what lies beyond an end counts at that end.

    ``shape`` holds its parameters, in parts of the range, or is empty for the usual ones: mean and standard deviation
    (normal), median and sigma of the logarithm (lognormal), a and b (beta), how many values (spikes), share of zeros
    and mean of the others, which are exponential (zero-inflated). Raises ParameterError for others.
    """

    kind: Spread
    shape: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        form = _SHAPES[self.kind]
        parameters = self.shape or form.usual
        if len(parameters) != len(form.usual) or not np.isfinite(parameters).all() or not form.valid(*parameters):
            text = ",".join(f"{value:g}" for value in self.shape)
            raise ParameterError("--shape", f"{text} does not fit {self.kind}; its parameters: {form.names}")

    @property
    def name(self) -> str:
        """The name in results: its kind, and its parameters."""
        return " ".join([self.kind, *(f"{value:g}" for value in self.shape or _SHAPES[self.kind].usual)])

    @lru_cache(maxsize=2)  # noqa: B019 - few of them, and trials of a cell ask for the same
    def shares(self, points: int) -> Floats:
        """Return the share of each point after random rounding.

        The share of points below i is the mean, over places x from i - 1 to i, of the share of answers below x. This
        mean is taken over the midpoints of ``_PARTS`` equal parts of the step.
        """
        form = _SHAPES[self.kind]
        parts = (np.arange((points - 1) * _PARTS) + 0.5) / ((points - 1) * _PARTS)
        below = form.below(parts, *(self.shape or form.usual)).reshape(points - 1, _PARTS).mean(axis=1)
        return np.diff(below, prepend=0.0, append=1.0)


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """The numbers of a file, with its counts, over a range (``Grid``); cells without a number count as ``low``."""

    values: Floats
    counts: Counts
    low: float
    high: float
    log: bool
    name: str = "csv"

    @classmethod
    def of(cls, labels: tuple[str, ...], counts: Counts, low: float, high: float, log: bool) -> "NumberColumn":
        """Return the numbers in labels. Raises ParameterError for a range without a grid, or if no label is one."""
        Grid(low, high, log, 2)
        values = np.array([_number(label) for label in labels])
        if np.isnan(values).all():
            raise ParameterError("column", f"holds no number; its first cell is {labels[0]!r}")
        return cls(np.where(np.isnan(values), low, values), counts, low, high, log)

    @property
    def users(self) -> int:
        """The number of users."""
        return int(self.counts.sum())

    @property
    def contents(self) -> object:
        """Everything that results depend on."""
        return self.low, self.high, self.log, self.values.tolist(), self.counts.tolist()

    @lru_cache(maxsize=2)  # noqa: B019 - few of them, and trials of a cell ask for the same
    def shares(self, points: int) -> Floats:
        """Return the shares of the numbers that are rounded to each point."""
        answers = Grid(self.low, self.high, self.log, points).answers
        placed = [answers.place(value) for value in self.values.tolist()]
        point, up = np.array([point for point, _, _ in placed]), np.array([rest / ONE for _, rest, _ in placed])
        lower, upper = (np.bincount(point, self.counts * part, points) for part in (1 - up, up))
        return np.asarray((lower + np.append(0.0, upper[:-1])) / self.users)


NumberSource = NumberDistribution | NumberColumn
"""A distribution of people over the points of the grid to which their devices round, for any number of points."""


def _number(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        return float("nan")
