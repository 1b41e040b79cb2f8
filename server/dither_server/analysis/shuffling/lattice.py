"""Compute the law of a sum of n independent steps on a lattice, n up to 10^10, precisely far out in a tail.

The steps are tilted first (Esscher 1932; Cramér): with q_x = p_x e^(λx)/M(λ),

    P[S = s] = M(λ)^n e^(-λs) Q[S = s],

for any λ. It is chosen such that Q has its mean in the required part of the range. Q is computed by a fast Fourier
transform over a window outside which its mass is at most ``OUTSIDE``, by Chernoff's bound. The characteristic function
minus 1 is summed from small numbers, so its n-th power loses no digits.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy

from ...tally.arrays import Floats

OUTSIDE = 1e-16
"""Bound of the probability beyond either end, which the transform aliases to the other end of the window."""

_ROUNDING = 2e-15
"""Rounding error of a characteristic function relative to its terms: a few units in the last place."""

_TRIED = np.geomspace(0.05, 500.0, 80)
"""Values tried for Chernoff's parameter, in units of the inverse standard deviation."""


@dataclass(frozen=True)
class TiltedSum:
    """P[S = places[j]] = e^(log_scale - tilt · places[j]) · masses[j], ``wrong`` bounds the error of a mass."""

    tilt: float
    log_scale: float
    places: Floats
    masses: Floats
    wrong: float


@dataclass(frozen=True)
class StepLaw:
    """The values of one step, in any unit, and their probabilities; values of both signs occur.

    They sum to 1, or to 1 + ``excess`` if they are upper bounds.
    """

    values: Floats
    masses: Floats
    excess: float = 0.0

    def log_moment(self, tilt: float | Floats) -> Floats:
        """Return ln E e^(tilt · X), for each tilt."""
        with np.errstate(over="ignore"):
            return np.asarray(np.log1p(np.expm1(np.multiply.outer(tilt, self.values)) @ self.masses + self.excess))

    def tilted(self, tilt: float) -> Floats:
        """Return the probabilities of the values after a tilt."""
        logs = tilt * self.values
        weights = self.masses * np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    def moments(self, tilt: float) -> tuple[float, float]:
        """Return mean and variance after a tilt."""
        weights = self.tilted(tilt)
        mean = float(weights @ self.values)
        return mean, float(weights @ (self.values - mean) ** 2)

    def tilt_to(self, mean: float) -> float:
        """Return the tilt after which the mean is ``mean``, or close to it."""

        def beyond(tilt: float) -> float:
            return self.moments(tilt)[0] - mean

        start, spread = beyond(0.0), self.moments(0.0)[1]
        if not start:
            return 0.0
        far = -start / spread
        while beyond(far) * start > 0 and abs(far) * float(np.ptp(self.values)) < 600:
            far *= 2
        return float(scipy.optimize.brentq(beyond, 0.0, far, rtol=1e-9)) if beyond(far) * start < 0 else far

    def sum_of(self, count: int, tilt: float) -> TiltedSum:
        """Return the law, after a tilt, of the sum of ``count`` steps, whose values must be integers."""
        masses, ends = self.tilted(tilt), self.window(count, tilt)
        low = math.floor(ends[0])
        size = int(scipy.fft.next_fast_len(math.ceil(ends[1]) - low + 1, real=True))
        angles = 2 * np.pi * np.arange(size // 2 + 1) / size
        real, imaginary = np.zeros_like(angles), np.zeros_like(angles)
        for value, mass in zip(self.values, masses, strict=True):
            real -= 2 * mass * np.sin(angles * (value / 2)) ** 2
            imaginary += mass * np.sin(angles * value)
        with np.errstate(divide="ignore"):
            logs = count / 2 * np.log1p(np.maximum(2 * real + real**2 + imaginary**2, -1.0))
        powers, phases = np.exp(logs), angles * low - count * np.arctan2(imaginary, 1 + real)
        found = scipy.fft.irfft(powers * np.exp(1j * phases), size)
        rounded = _ROUNDING * (abs(low) + count * float(masses @ np.abs(self.values)))
        wrong = 2 / size * float(powers @ np.minimum(rounded * angles + _ROUNDING, 2.0)) + OUTSIDE
        scale = count * float(self.log_moment(tilt))
        return TiltedSum(tilt, scale, low + np.arange(size, dtype=float), np.maximum(found, 0.0), wrong)

    def window(self, count: int, tilt: float) -> tuple[float, float]:
        """Return the least and the greatest sum that are kept."""
        _, variance = self.moments(tilt)
        tried = _TRIED / math.sqrt(count * variance)
        here = float(self.log_moment(tilt))
        ends = []
        for sign, furthest in ((-1, self.values.min()), (1, self.values.max())):
            growth = count * (self.log_moment(tilt + sign * tried) - here) - math.log(OUTSIDE)
            ends.append(sign * min(float(np.min(growth / tried)), sign * count * float(furthest)))
        return ends[0], ends[1]
