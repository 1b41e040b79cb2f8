"""Post-stratified estimates: what the reports would say if each stratum had its share of the population.

A report of stratum h has the weight w_h = (W_h/Σ W)/(n_h/Σ n), with W_h the known or raked share of people. Given how
many reports came from each stratum, the weighted estimate Σ W_h f_h of unbiased estimates has the variance

    Σ W_h² Var[f_h] + Σ W_h²/n_h e_h².

e_h is what the margins do not explain of f_h (the residual of the regression on their indicators): raked shares vary
with the reports as much as that (Deville and Särndal 1992). It is 0 if the strata are given jointly. Reports of one
device add D - 1 times what they share, with D of ``weighted_effect``. The estimate is unbiased if within a stratum
those who report are like those who do not, and for raked strata if no more than the margins decides who reports.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dither_shared import Mechanism, ParameterError

from ..estimation.decoders.support import decoder_of, support
from ..estimation.estimate import collision_bias
from ..estimation.intervals.score import LEAST_NOISE, Law, noise_law, score_interval
from ..estimation.numeric.dithered import Dithered, pooled_bounds, widths_of
from ..estimation.numeric.estimate import NumericEstimate
from ..estimation.numeric.law import Cuts, NumericLaw, maximum_likelihood
from ..estimation.numeric.mean import Mean, mean_of, of_few, with_intervals
from ..tally.arrays import Counts, Floats, Indices
from ..tally.repeats import Repeats, weighted_effect
from ..tally.tally import Tally
from .columns import Column, number
from .spread import spread_of

WEIGHTED: Sequence[Column] = (
    number("weighted", "The estimate weighted to the known margins of the population. Only if asked for."),
    number("weighted_error", "Its standard error: from the noise, sampling, repeated reports and unequal weights."),
    number("weighted_low", "Lower end of its interval."),
    number("weighted_high", "Upper end of that interval."),
)
"""The columns of weighted estimates, beside those of raw ones."""


@dataclass(frozen=True)
class Weighting:
    """The strata of an answer, in the order of a metric's cells.

    - ``shares``: the share of people in each cell of the metric; ``design``: the indicators of its margins, shape
      (cells, combinations);
    - ``places``: the cells that are asked for, and have people and reports; ``tallies``: theirs, without repeats;
    - ``reports``: those of every cell over all days, shape (cells,); ``periods``: those of each period and place;
    - ``chance``: that of ``Repeats``.
    """

    shares: Floats
    design: Floats
    places: Indices
    tallies: tuple[Tally, ...]
    reports: Floats
    periods: Counts
    chance: float
    about: Mapping[str, Any]

    @cached_property
    def within(self) -> Floats:
        """The shares of the places, which sum to 1."""
        return np.asarray(self.shares[self.places] / self.shares[self.places].sum())

    @cached_property
    def weights(self) -> Floats:
        """The weight of a report of each place; their mean over reports is 1."""
        here = self.reports[self.places]
        return np.asarray(self.within / (here / here.sum()))

    @cached_property
    def effect(self) -> float:
        """The design effect of the weights: Σ w²/n (Kish 1965)."""
        return float(self.within @ self.weights)

    @property
    def effective(self) -> float:
        """How many reports of equal weight would be known as well, if all strata are alike."""
        return float(self.reports[self.places].sum()) / self.effect

    @cached_property
    def repeats(self) -> float:
        """The design effect of repeated reports."""
        return weighted_effect(self.periods, self.weights, self.chance)

    def between(self, away: Floats) -> Floats:
        """Return the variance that raking leaves between strata, an entry a value.

        ``away`` is what each place's estimate is away from the weighted one, with shape (places, values). Its noise is
        not subtracted: of a place with n reports it adds at most 1/n of the place's part of the variance.
        """
        outcome = np.zeros((len(self.shares), away.shape[1]))
        outcome[self.places] = away
        root = np.sqrt(self.shares)[:, np.newaxis]
        fitted = self.design @ np.linalg.lstsq(root * self.design, root * outcome, rcond=None)[0]
        known = self.shares > 0
        scale = (self.shares[known] / self.shares[self.places].sum()) ** 2 / self.reports[known]
        return np.asarray(scale @ (outcome - fitted)[known] ** 2)


def weighted_shares(
    mechanism: Mechanism, labels: tuple[str, ...], weighting: Weighting, alpha: float
) -> dict[str, Floats]:
    """Return the data of ``WEIGHTED`` for values: score intervals, each of which misses with ``alpha``.

    Raises ParameterError for a mechanism whose estimates are no sums over reports.
    """
    if not mechanism.pure:
        raise ParameterError("weighted", f"does not apply to {mechanism.name}, which is estimated by a regression")
    supports = [support(mechanism, tally, labels) for tally in weighting.tallies]
    supporting, trials = (np.array([one[part] for one in supports], dtype=np.float64) for part in (0, 1))
    weights, p, q = weighting.weights[:, np.newaxis], float(mechanism.p), float(mechanism.q)
    covering = (weights * trials).sum(axis=0)
    covering = np.where(covering > 0, covering, np.nan)
    share = ((weights * supporting).sum(axis=0) / covering - q) / (p - q)
    of_each = (supporting / np.maximum(trials, 1) - q) / (p - q)
    scale = weights**2 * trials / covering**2
    law, again = (noise_law(mechanism, repeats).sampled() for repeats in (1.0, weighting.repeats))
    once, repeated = (one.variance(np.clip(of_each, 0, 1)) for one in (law, again))
    sampled = (scale * once).sum(axis=0)
    between = weighting.between(of_each - share)
    if mechanism.coverage != 1:  # how many reports speak of a value differs from stratum to stratum, too
        between = (scale * (of_each - share) ** 2).sum(axis=0)
    more = scale.sum(axis=0) * (repeated - once).max(axis=0)
    collisions = _collisions(mechanism, weighting.tallies, share)
    error = np.sqrt(sampled + weighting.repeats * between + more + collisions**2)
    return dict(zip(_NAMES, (share, error, *_interval(mechanism, weighting, share, error, alpha)), strict=True))


_NAMES = [column.name for column in WEIGHTED]


def _collisions(mechanism: Mechanism, tallies: Sequence[Tally], share: Floats) -> Floats:
    """Return the error of a sketch's collisions, which strata share because its hash functions are public."""
    if not mechanism.collision_variance:
        return np.zeros(len(share))
    if decoder_of(mechanism).fits:  # at most that of strings that nobody listed, and that all people have
        return np.full(len(share), math.sqrt(mechanism.collision_variance))
    total = tallies[0]
    for tally in tallies[1:]:
        total += tally
    return collision_bias(mechanism, total, share)[0]


def _interval(
    mechanism: Mechanism, weighting: Weighting, share: Floats, error: Floats, alpha: float
) -> tuple[Floats, Floats]:
    """Return the score intervals of weighted shares with that error at themselves.

    A third moment is Σ W³/n² times that of a report: ``lean`` times that of ``effective`` reports of equal weight.
    """
    spread = spread_of(mechanism, share, error, weighting.effective, weighting.repeats)
    here = weighting.reports[weighting.places]
    lean = float((weighting.within**3 / here**2).sum()) * weighting.effective**2

    def skewness(where: Floats) -> Floats:
        return np.asarray(lean * spread.cube(where) / spread.variance(where) ** 1.5)

    thinning = np.full(len(share), float(spread.thinning))
    law = Law(0.0, spread.slope / thinning, 1.0)
    return score_interval(law, share, 1 / thinning, alpha, np.sqrt(spread.constant), skewness)


def weighted_number(law: NumericLaw, weighting: Weighting, confidence: float) -> NumericEstimate:
    """Return the weighted mean, shares below points and curve of a number, over strata of which each has a report."""
    cells = np.array([law.cell_shares(tally) for tally in weighting.tallies])
    reports = max(1, int(weighting.effective / weighting.repeats))
    return NumericEstimate(
        reports,
        confidence,
        _mean(law, weighting, confidence),
        _dithered(law, weighting, confidence) if isinstance(law, Dithered) else _bounded(law, weighting, confidence),
        maximum_likelihood(law, weighting.within @ cells, reports),
    )


def _mean(law: NumericLaw, weighting: Weighting, confidence: float) -> Mean:
    """Return the weighted mean. Of what reports of a device share, that of the stratum with the most is taken."""
    means = [mean_of(law, tally, confidence) for tally in weighting.tallies]
    totals, shares = np.array([float(tally.total) for tally in weighting.tallies]), weighting.within
    each, noises, variances, common = np.array(
        [(mean.estimate, mean.noise_error**2, mean.standard_error**2, mean.shared) for mean in means]
    ).T
    estimate, scale, again = float(shares @ each), weighting.effect / totals.sum(), weighting.repeats - 1
    left = float(weighting.between((each - estimate)[:, np.newaxis])[0])
    permanent = max(law.permanent_variance(tally) for tally in weighting.tallies)
    noise = float(shares**2 @ noises) + again * scale * permanent
    shared = scale * float((common * totals).max()) + left
    variance = float(shares**2 @ variances) + left + again * shared
    trials = 1 / scale
    parts = (noise, variance, weighting.repeats * shared)
    widest = Law(law.worst_variance + again * permanent, 0.0, weighting.repeats)
    made = with_intervals(estimate, parts, int(totals.sum()), confidence, widest, trials)
    return made if law.worst_variance / scale >= LEAST_NOISE * weighting.repeats else of_few(made, trials)


def _bounded(law: NumericLaw, weighting: Weighting, confidence: float) -> Cuts:
    """Return intervals of shares below points of which each stratum's holds with its part of the error (Bonferroni)."""
    each = 1 - (1 - confidence) / len(weighting.tallies)
    people = Repeats((1,) * math.ceil(weighting.repeats))  # as many periods as have at least that design effect
    bounds = [law.cuts(Tally(tally.reports, tally.counts, people), each) for tally in weighting.tallies]
    low, high = (weighting.within @ np.array([getattr(cuts, end)[1:-1] for cuts in bounds]) for end in ("low", "high"))
    unknown = np.full(law.points - 1, np.nan)
    return Cuts.between(unknown, unknown, unknown, low, np.minimum(high, 1))


def _dithered(law: Dithered, weighting: Weighting, confidence: float) -> Cuts:
    """Return the shares below all points, with bounds of as many reports as have the same variance.

    With m the weighted support of a cut, its variance is Σ w² (y - m)²/(Σ w)², of which the weights and differences of
    the strata are parts. A cut counts as m (1-m) over that many reports (Korn and Graubard 1998), or as Σ w over the
    design effect of the weights, whichever is less.
    """
    (cells, phase), weights = law.cells_of_cuts, weighting.weights
    trials = np.array([tally.reports[phase] for tally in weighting.tallies], dtype=np.float64)
    below = np.array(
        [np.cumsum(tally.counts, axis=1)[phase, cells - 1] for tally in weighting.tallies], dtype=np.float64
    )
    covering, seen = weights @ trials, weights @ below
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = seen / covering
        squares = weights**2 @ (below * (1 - chance) ** 2 + (trials - below) * chance**2)
        effect = np.fmax(squares / (chance * (1 - chance)), weights**2 @ trials) / covering
        effect = np.where(covering > 0, np.maximum(effect, weighting.effect), 1.0)
        frequency = (chance - float(law.q) * cells) / law.gap
        pooling = law.pooling(np.asarray(cells, dtype=np.float64), weighting.repeats)
        share = np.clip(frequency, 0, 1)
        error = np.sqrt(pooling.variance(share, 1) * effect / covering)
        noise = np.sqrt(np.maximum(error**2 - share * (1 - share) * weighting.repeats / weighting.effective, 0))
    low, high = pooled_bounds(
        seen / effect, covering / effect, pooling, widths_of(int(weighting.effective), law.phases), 1 - confidence
    )
    repeated = (weighting.repeats - 1) / weighting.effective if law.permanent is None else 0.0
    return Cuts.between(frequency, noise, error, low, high, repeated)
