"""Estimate sets from a tally: the share of each value, the mean number of values per person, and pairs of values.

For two values j and k that some reports cover together, f_jk is the share of people who have both. Such a report
supports both with probability p if its sender has both, and with q otherwise, so f_jk is estimated like any other
share. The share of k among those who have j is f_jk / f_j.

In that ratio f_j is estimated from the m reports of both values, and not from all M reports of j. This is more precise:
with P₁₁ = P[both bits], P₁ = P[bit j], the ratio r and λ = p - q, using all M would increase the variance of f_jk - r
f_j by

    (1/m - 1/M) r (1 - P₁) (2 P₁₁ - r P₁) / λ²

where 2 P₁₁ - r P₁ = λ f_jk + (1-λ) (1-r)/2 is never negative.
"""

from dataclasses import dataclass, fields
from fractions import Fraction
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from dither_shared import Mechanism

from ..tally.arrays import Counts, Floats, Indices
from ..tally.tally import Tally
from .decoders.decoder import Pairs
from .decoders.support import decoder_of
from .estimate import Estimate, estimate
from .fit import onto_sums
from .intervals.exact import exact_interval
from .intervals.score import LEAST_NOISE, Ratios, fieller, informative, law_of, people_interval, score_interval

_LEAST = 250
"""Minimum reports of two values for nominal coverage of Fieller's interval: with 100, some 95% intervals had 93%."""


@dataclass(frozen=True)
class MeanSize:
    """The mean number of values per person: the sum of the shares, with its error and its normal, clipped interval.

    All numbers are for the population. Unknown numbers are NaN, and their interval is the whole range.
    """

    value: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class PairEstimates:
    """Pairs of values, each once for either order: "of those who have ``given``, how many have ``value``".

    Each array has one entry per ordered pair. ``given`` and ``value`` are indices; ``both``, its error and its exact
    interval are the share of all people who have both; ``share``, ``low`` and ``high`` are the conditional share with
    Fieller's interval, NaN if there are too few reports or people with ``given``. ``reports`` is the number of reports
    that cover both; ``unseen`` says why no report covers the other pairs.
    """

    given: Indices
    value: Indices
    reports: Counts
    both: Floats
    both_error: Floats
    both_low: Floats
    both_high: Floats
    share: Floats
    low: Floats
    high: Floats
    unseen: str


@dataclass(frozen=True, kw_only=True)
class SetEstimate(Estimate):
    """Shares of values of which a person may have several or none; NaN for a value that no report covers.

    ``consistent`` shares are in [0, 1], and their sum is at most the number of values that a person may have. ``total``
    and ``pairs`` use the same reports.
    """

    total: MeanSize
    pairs: PairEstimates

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        return super().size + 80 * len(self.pairs.given)


def estimate_sets(
    mechanism: Mechanism,
    labels: tuple[str, ...],
    tally: Tally,
    confidence: float = 0.95,
    *,
    simultaneous: bool = False,
    at_most: int | None = None,
) -> SetEstimate:
    """Return the estimates of sets of ``labels``, if a person has at most ``at_most`` of them.

    If ``simultaneous``, the intervals of the shares all hold together, and so do those of the pairs. Raises as
    ``estimate`` does.
    """
    shares = estimate(mechanism, labels, tally, confidence, simultaneous=simultaneous)
    most = len(labels) if at_most is None else at_most
    known = np.isfinite(shares.frequency)
    consistent = np.full(len(labels), np.nan)
    consistent[known] = onto_sums(shares.frequency[known], 0, most)
    return SetEstimate(
        **{field.name: getattr(shares, field.name) for field in fields(Estimate)} | {"consistent": consistent},
        total=_total(mechanism, tally, shares.frequency, confidence, most),
        pairs=_pairs(decoder_of(mechanism).pairs(mechanism, tally), 1 - confidence, simultaneous),
    )


def _total(mechanism: Mechanism, tally: Tally, frequency: Floats, confidence: float, most: int) -> MeanSize:
    """Return the mean number of values per person.

    Few reports may not show how much people differ. Then the interval is at least as wide as for people who have all
    values or none; for them the mean fraction of the values is as uncertain as the share of one value, and no other
    distribution has a larger variance (Bhatia and Davis 2000).
    """
    value, size = float(frequency.sum()), len(frequency)
    if not np.isfinite(value):
        return MeanSize(np.nan, np.nan, 0.0, float(most))
    error = float(np.sqrt(decoder_of(mechanism).sum_variance(mechanism, tally, frequency)))
    margin = NormalDist().inv_cdf((1 + confidence) / 2) * error
    low, high = value - margin, value + margin
    law, stage, repeats = law_of(mechanism).sampled(), mechanism.permanent_stage, tally.repeats.effect
    shared = law_of(stage or _Levels(Fraction(1), Fraction(0))).sampled()
    if law.constant * tally.total < LEAST_NOISE * repeats:
        widest = law.plus(shared, repeats - 1)
        ends = score_interval(widest, np.array([value / size]), np.array([tally.total]), 1 - confidence)
        low, high = min(low, size * ends[0].item()), max(high, size * ends[1].item())
    low, high = (min(max(end, 0.0), float(most)) for end in (low, high))
    return MeanSize(value, error, low, high)


class _Levels(NamedTuple):
    """P[a report supports both values] for a user who has both, and for any other user."""

    p: Fraction
    q: Fraction


class _Moments(NamedTuple):
    """Variances and covariances of one report's estimates for pairs: of both values, of each, and of both with each."""

    both: Floats
    each: Floats
    together: Floats

    def plus(self, other: "_Moments", times: Floats) -> "_Moments":
        """Return these moments plus ``times`` those of ``other``."""
        return _Moments(
            self.both + times * other.both,
            self.each + times[:, np.newaxis] * other.each,
            self.together + times[:, np.newaxis] * other.together,
        )


def _moments(levels: tuple[Fraction, Fraction], both: Floats, single: Floats) -> _Moments:
    """Return the moments at possible shares of ``both``, and at the estimates of each ``single`` value."""
    q, gap = float(levels[1]), float(levels[0] - levels[1])
    likely, each = q + gap * both, (1 - gap) / 2 + gap * np.clip(single, both[:, np.newaxis], 1)
    together = likely[:, np.newaxis] * (1 - each)
    return _Moments(likely * (1 - likely) / gap**2, each * (1 - each) / gap**2, together / gap**2)


def _pairs(seen: Pairs, alpha: float, simultaneous: bool) -> PairEstimates:
    """Return the estimates of pairs, with intervals that miss with ``alpha``, each by itself or all together."""
    rows, values = 2 * len(seen.values), len(np.unique(seen.values))
    sure = -NormalDist().inv_cdf(alpha / 2 / max(values, 1))
    alpha = alpha / max(rows, 1) if simultaneous else alpha
    q, gap, trials = float(seen.q), float(seen.p - seen.q), np.maximum(seen.trials, 1.0)
    raw = (seen.both / trials - q) / gap
    known = (seen.trials > 0) & informative(np.sqrt(q * (1 - q) / trials) / gap, alpha)
    both = np.where(known, raw, np.nan)
    single = (seen.each / trials[:, np.newaxis] - (1 - gap) / 2) / gap
    held = np.clip(raw, 0, 1)
    moments = _moments((seen.p, seen.q), held, single)
    if (seen.repeats > 1).any():
        law = law_of(seen).sampled().plus(law_of(_Levels(*seen.shared)).sampled(), seen.repeats - 1)
        ends = score_interval(law, raw, seen.trials, alpha)
        people = people_interval(seen.shared, raw, seen.trials / seen.repeats, alpha)
        low, high = np.minimum(ends[0], people[0]), np.maximum(ends[1], people[1])
        moments = moments.plus(_moments(seen.shared, held, single), seen.repeats - 1)
    else:
        low, high = exact_interval(seen, seen.both, seen.trials, alpha)
    low, high = np.where(known, low, 0.0), np.where(known, high, 1.0)
    enough = np.where(seen.trials < _LEAST, np.nan, raw)
    orders = [
        fieller(
            enough,
            single[:, given],
            moments.both / trials,
            moments.each[:, given] / trials,
            moments.together[:, given] / trials,
            -NormalDist().inv_cdf(alpha / 2),
            sure,
        )
        for given in (0, 1)
    ]
    given, value = (np.concatenate([seen.values[:, side], seen.values[:, 1 - side]]) for side in (0, 1))
    order = np.lexsort((value, given))
    error = np.where(known, np.sqrt(moments.both / trials), np.nan)
    reports, both, error, low, high = (np.tile(column, 2)[order] for column in (seen.trials, both, error, low, high))
    ratios = Ratios(*(np.concatenate(pair)[order] for pair in zip(*orders, strict=True)))
    return PairEstimates(given[order], value[order], reports, both, error, low, high, *ratios, unseen=seen.unseen)
