"""Estimate a number from strata with known shares of the population (``analysis.weighted`` says what they assume)."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...tally.arrays import Floats
from ...tally.repeats import Repeats
from ...tally.tally import Tally
from ..intervals.score import LEAST_NOISE, Law, normal_interval, score_interval
from .cuts import Cuts
from .dithered import Dithered, pooled_bounds, widths_of
from .estimate import NumericEstimate
from .likelihood import NumericLaw, maximum_likelihood
from .mean import Mean, mean_of, student

Between = Callable[[Floats, Floats], Floats]
"""The variance between strata that raking leaves, of distances and their variances of shape (strata, values)."""


class Strata(NamedTuple):
    """The tallies of strata, their shares of the population, and the weight of a report in each.

    ``effect`` is the design effect of the weights, ``repeats`` that of reports of one device.
    """

    tallies: tuple[Tally, ...]
    shares: Floats
    weights: Floats
    effect: float
    repeats: float

    @property
    def effective(self) -> float:
        """How many reports of equal weight would be known as well."""
        return sum(tally.total for tally in self.tallies) / self.effect


def estimate_weighted(law: NumericLaw, strata: Strata, between: Between, confidence: float) -> NumericEstimate:
    """Return the weighted mean, shares below points and curve, over strata of which each has a report."""
    cells = np.array([law.cell_shares(tally) for tally in strata.tallies])
    reports = max(1, int(strata.effective / strata.repeats))
    cuts = _dithered(law, strata, confidence) if isinstance(law, Dithered) else _bounded(law, strata, confidence)
    return NumericEstimate(
        reports,
        confidence,
        _mean(law, strata, between, confidence),
        cuts,
        maximum_likelihood(law, strata.shares @ cells, reports),
    )


def _mean(law: NumericLaw, strata: Strata, between: Between, confidence: float) -> Mean:
    """Return the weighted mean. Of what reports of a device share, that of the stratum with the most is taken."""
    means = [mean_of(law, tally, confidence) for tally in strata.tallies]
    totals = np.array([float(tally.total) for tally in strata.tallies])
    each, noises, variances, common = np.array(
        [(one.estimate, one.noise_error**2, one.standard_error**2, one.shared) for one in means]
    ).T
    estimate, scale, again = float(strata.shares @ each), strata.effect / totals.sum(), strata.repeats - 1
    left = float(between((each - estimate)[:, np.newaxis], variances[:, np.newaxis])[0])
    permanent = max(law.permanent_variance(tally) for tally in strata.tallies)
    noise = float(strata.shares**2 @ noises) + again * scale * permanent
    shared = scale * float((common * totals).max()) + left
    variance = float(strata.shares**2 @ variances) + left + again * shared
    people = 1 / scale / strata.repeats
    ends = []
    for error, wider in ((math.sqrt(noise), 1.0), (math.sqrt(variance), float(student(confidence, people)))):
        low, high = normal_interval(np.array([estimate]), np.array([wider * error]), confidence)
        ends += [float(low[0]), float(high[0])]
    if law.worst_variance / scale < LEAST_NOISE * strata.repeats:
        widest = Law(law.worst_variance + again * permanent, 0.0, strata.repeats)
        low, high = score_interval(widest, np.array([estimate]), np.array([1 / scale]), 1 - confidence)
        ends = [math.nan, math.nan, min(ends[2], float(low[0])), max(ends[3], float(high[0]))]
    errors = math.sqrt(noise), math.sqrt(variance)
    return Mean(
        int(totals.sum()), confidence, estimate, errors[0], ends[0], ends[1], errors[1], ends[2], ends[3], shared
    )


def _bounded(law: NumericLaw, strata: Strata, confidence: float) -> Cuts:
    """Return intervals of shares below points of which each stratum's holds with its part of the error (Bonferroni)."""
    each = 1 - (1 - confidence) / len(strata.tallies)
    people = Repeats((1,) * math.ceil(strata.repeats))  # as many periods as have at least that design effect
    found = [law.cuts(Tally(one.reports, one.counts, people), each) for one in strata.tallies]
    low, high = (strata.shares @ np.array([getattr(one, end)[1:-1] for one in found]) for end in ("low", "high"))
    unknown = np.full(law.points - 1, np.nan)
    return Cuts.between(unknown, unknown, unknown, np.clip(low, 0, 1), np.clip(high, 0, 1))


def _dithered(law: Dithered, strata: Strata, confidence: float) -> Cuts:
    """Return the shares below all points, with bounds of as many reports as have the same variance.

    With m the weighted support of a cut, its variance is Σ w² (y - m)²/(Σ w)², of which the weights and differences of
    the strata are parts. A cut counts as m (1-m) over that many reports (Korn and Graubard 1998), or as Σ w over the
    design effect of the weights, whichever is less.
    """
    cells, phase = law.cells_of_cuts
    trials = np.array([tally.reports[phase] for tally in strata.tallies], dtype=np.float64)
    found = np.array([np.cumsum(tally.counts, axis=1)[phase, cells - 1] for tally in strata.tallies], dtype=np.float64)
    asked, seen = strata.weights @ trials, strata.weights @ found
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = seen / asked
        squares = strata.weights**2 @ (found * (1 - chance) ** 2 + (trials - found) * chance**2)
        spread = np.where(chance * (1 - chance) > 0, squares / (chance * (1 - chance)), 0)
        effect = np.maximum(spread, strata.weights**2 @ trials) / asked
        effect = np.where(asked > 0, np.maximum(effect, strata.effect), 1.0)
        frequency = (chance - float(law.q) * cells) / law.gap
        pooling = law.pooling(np.asarray(cells, dtype=np.float64), strata.repeats)
        share = np.clip(frequency, 0, 1)
        error = np.sqrt(pooling.variance(share, 1) * effect / asked)
        noise = np.sqrt(np.maximum(error**2 - share * (1 - share) * strata.repeats / strata.effective, 0))
    low, high = pooled_bounds(
        seen / effect, asked / effect, pooling, widths_of(int(strata.effective), law.phases), 1 - confidence
    )
    repeated = (strata.repeats - 1) / strata.effective if law.permanent is None else 0.0
    return Cuts.between(frequency, noise, error, low, high, repeated)
