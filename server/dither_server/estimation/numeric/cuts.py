"""Shares of answers below each point of the grid, with intervals of at least nominal coverage."""

import math
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from dither_shared import ParameterError

from ...tally.arrays import Floats


class Share(NamedTuple):
    """A share of all people: the unbiased estimate with its errors and interval, and the share by the curve."""

    frequency: float
    noise_error: float
    standard_error: float
    low: float
    high: float
    consistent: float


@dataclass(frozen=True)
class Cuts:
    """The shares F(i) of answers rounded to a point below i, for i = 0..points: each array has points + 1 entries.

    - ``frequency``: raw and unbiased, so it may decrease, or lie outside [0, 1]; NaN without reports about it;
    - ``noise_error``: its standard error from the noise alone; ``standard_error``: from noise and sampling;
    - ``low``, ``high``: an interval for the population, in [0, 1]. Each holds by itself, not all together. It pools
      many cuts, whereas ``frequency`` uses one, so it need not contain ``frequency``.

    F(0) = 0 and F(points) = 1 are known. ``repeated`` times F (1-F) is the covariance of the estimates of neighbouring
    cuts, through people whose repeated reports are in both.
    """

    frequency: Floats
    noise_error: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    repeated: float = 0.0

    @classmethod
    def between(
        cls,
        frequency: Floats,
        noise_error: Floats,
        standard_error: Floats,
        low: Floats,
        high: Floats,
        repeated: float = 0.0,
    ) -> Self:
        """Return all cuts, given those except the first and the last, which are known."""
        ends = (1.0, 0.0, 0.0, 1.0, 1.0)
        columns = (frequency, noise_error, standard_error, low, high)
        frequency, noise_error, standard_error, low, high = (
            np.concatenate([[0.0], one, [end]]) for one, end in zip(columns, ends, strict=True)
        )
        return cls(frequency, noise_error, standard_error, low, high, repeated)

    @property
    def points(self) -> int:
        """The number of points of the grid."""
        return len(self.frequency) - 1

    def drawn(self) -> tuple[Floats, Floats]:
        """Return the ends made monotone for a plot; intervals only become wider, so each still holds by itself."""
        return np.minimum.accumulate(self.low[::-1])[::-1], np.maximum.accumulate(self.high)

    def below(self, place: float, curve: Floats) -> Share:
        """Return the share of answers below ``place``, a real number of grid steps from the lowest point.

        An answer is rounded at random to one of the two nearest points, so F(i) is the average of the shares below the
        places from i - 1 to i. The estimate takes it for the share below i - 1/2 and interpolates linearly. The
        interval assumes neither: the share below point i is at least F(i) and at most F(i + 1). ``curve`` is the
        consistent curve. Raises ParameterError if ``place`` is not within the grid.
        """
        last = self.points - 1
        if not 0 <= place <= last:  # NaN compares false
            raise ParameterError("place", f"{place!r} is not in the grid, from 0 to {last}")
        cut = math.floor(place + 0.5)
        part = place + 0.5 - cut
        after = cut + (part > 0)
        weights = np.array([1 - part, part])
        total = np.append(0.0, np.cumsum(curve))
        both = np.array([cut, after])
        frequency, variance = float(weights @ self.frequency[both]), weights**2 @ self.standard_error[both] ** 2
        held = float(np.clip(frequency, 0, 1))
        variance += 2 * part * (1 - part) * self.repeated * held * (1 - held)
        return Share(
            frequency,
            float(np.hypot(*(weights * self.noise_error[both]))),
            math.sqrt(variance),
            float(self.low[math.floor(place)]),
            float(self.high[math.ceil(place) + 1]),
            float(np.clip(weights @ total[both], 0, 1)),
        )
