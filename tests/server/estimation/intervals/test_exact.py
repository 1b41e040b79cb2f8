"""Exact ends: against sums of the binomial law, and thousands at once against each by itself."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import optimize, special

from dither_server.estimation.confidence import level_of_each
from dither_server.estimation.intervals.exact import (
    LowEnds,
    SupportLaw,
    _degree_for,
    _let_rise,
    _log_far_tail,
    crossing,
    ends_of_many,
    exact_interval,
)
from dither_server.estimation.intervals.feldman_cousins import normal_scores, tails
from dither_server.estimation.intervals.score import noise_law, score_interval
from dither_shared import MECHANISMS, Mechanism, OptimizedUnary, RandomizedResponse
from dither_shared.mechanism import LISTED

PURE = [family.name for family in MECHANISMS.of(LISTED)]
ALPHAS = (0.5, 0.05, 1e-3, 1e-9, 1e-9 / 16384)
LAWS = {
    "rare": SupportLaw.between(Fraction(1, 16384), Fraction(3, 16384)),
    "frequent": SupportLaw.between(Fraction(27, 100), Fraction(1, 2)),
    "nearly-all": SupportLaw.between(1 - Fraction(3, 16384), 1 - Fraction(1, 16384)),
}


def upper_tail(seen: int, trials: int, success: float) -> float:
    """P[as many or more], by a sum over the law from ratios of its terms; to 1e-9 of itself."""
    spread = 60 + int(45 * (trials * success * (1 - success)) ** 0.5)
    first, last = (
        max(0, min(seen, int(trials * success)) - spread),
        min(trials, max(seen, int(trials * success)) + spread),
    )
    terms = np.arange(first, last, dtype=np.float64)
    steps = np.log((trials - terms) / (terms + 1) * (success / (1 - success)))
    weights = np.append(0.0, np.cumsum(steps))
    weights = np.exp(weights - weights.max())
    return float(weights[seen - first :].sum() / weights.sum())


def split_of(share: float, alpha: float) -> float:
    """Return the lower tail of a share in standard errors, by the definition of Feldman and Cousins's order."""
    alike = -special.ndtri(alpha / 2)
    if share >= alike:
        return alpha / 2
    if share == 0:
        return 0.0

    def excess(w: float) -> float:
        return float(special.ndtr(-np.sqrt(share * (2 * w - share))) + special.ndtr(-w) - alpha)

    return float(special.ndtr(-optimize.brentq(excess, alike, alike**2 / share + alike + 10, xtol=1e-14)))


@pytest.mark.parametrize("alpha", [0.9, *ALPHAS])
def test_tail_probabilities_match_their_definition(alpha: float) -> None:
    split = tails(alpha)
    assert special.ndtr(-split.wide(np.zeros(1))) == pytest.approx(max(0.0, alpha - 0.5))
    assert special.ndtr(-split.below(np.zeros(1))) == pytest.approx(min(alpha, 0.5), rel=1e-6)
    for part in (1e-3, 0.1, 0.5, 0.9, 0.999):
        share = np.array([part * split.alike])
        lower = split_of(float(share[0]), alpha)
        assert special.ndtr(-split.wide(share)) == pytest.approx(lower, rel=1e-6)
        d, w = split.narrow(share), split.wide(share)
        assert split.below(share + d) == pytest.approx(d, abs=1e-8)
        assert split.above(share - w) == pytest.approx(w, abs=1e-8)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(
    ("law", "trials"),
    [
        *product(LAWS, (1, 30, 10**4, 10**7)),
        *(("rare", 10**9), ("nearly-all", 10**9)),
        pytest.param("frequent", 10**9, marks=pytest.mark.slow),
    ],
)
def test_interval_end_is_where_its_tail_has_the_allowed_probability(law: str, trials: int, alpha: float) -> None:
    """A millionth of a standard error below an end the tail, summed, is less than is allowed; as much above, more.

    Slow where a tail of a billion frequent reports is a sum of a million terms.
    """
    support = LAWS[law]
    expected = trials * np.array([support.q, (0.999 * support.q + 0.001 * support.p), support.p])
    spread = np.sqrt(trials * support.q * (1 - support.q))
    near = np.append(expected, support.q * trials + spread * np.array([1, 2, 4, 9]))
    seen = np.unique(np.clip(np.ceil(near), 0, trials))
    for count, end in zip(seen, LowEnds(support, alpha).ends(seen, np.full(len(seen), float(trials))), strict=True):
        share = np.clip(support.estimate(count, np.array([float(trials)])), 0, 1)
        near_by = 1e-6 * float(support.error(share, np.array([float(trials)]))[0])
        if end > near_by:
            assert excess_at(support, end - near_by, int(count), trials, alpha) < 1e-9
        elif end > 0:
            assert excess_at(support, 0.0, int(count), trials, alpha) < 1e-9
        if end + near_by < 1:
            assert excess_at(support, end + near_by, int(count), trials, alpha) > -1e-9


def excess_at(support: SupportLaw, share: float, seen: int, trials: int, alpha: float) -> float:
    """Return the relative excess of the chance to see as much over the tail, computed independently of the source."""
    errors = [np.sqrt(at * (1 - at) / trials) / support.gap for at in (support.q, support.p)]
    lower_by_0, upper_by_1 = (
        split_of(part / error, alpha) for part, error in zip((share, 1 - share), errors, strict=True)
    )
    allowed = upper_by_1 + alpha / 2 - lower_by_0
    chance = upper_tail(seen, trials, support.q + share * support.gap)
    return (chance - allowed) / max(chance, allowed)


def test_bends_computed_together_equal_those_computed_one_by_one() -> None:
    ends, trials = LowEnds(LAWS["frequent"], 0.05), np.array([1e4, 30.0, 1e7])
    alone = [ends.bends(trials[place : place + 1]) for place in range(3)]
    assert ends.bends(trials).tolist() == np.concatenate(alone, axis=1).tolist()


def opposite(law: SupportLaw) -> SupportLaw:
    return SupportLaw.between(1 - Fraction(law.p), 1 - Fraction(law.q))


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("alike", [True, False], ids=["equal-trials", "own-trials"])
def test_interval_ends_computed_together_equal_those_computed_one_by_one(alike: bool, alpha: float) -> None:
    """A sweep over ε, k, n and populations: within 1e-6 standard errors, never falling, 0 and 1 where each is.

    Half of the mechanisms have equal trials, and half their own.
    """
    rng = np.random.default_rng([11, alike, int(-1e3 * np.log(alpha))])
    for name in PURE[alike::2]:
        size = int(rng.choice([16, 300, 4096]))
        mechanism = MECHANISMS[name].configure(size, {"epsilon": float(rng.uniform(0.3, 4))} | SHAPE.get(name, {}))
        users = int(10 ** rng.uniform(5, 9))
        trials = np.full(1000, users) if alike else rng.poisson(users, 1000)
        rare = rng.choice([0.0, 1e-3, 0.3], 1000) * rng.uniform(0, 1, 1000)
        p, q = float(mechanism.p), float(mechanism.q)
        seen = rng.binomial(trials, q + rare * (p - q))
        seen[:3] = 0, trials[1], trials[2] // 2
        law = SupportLaw.between(mechanism.q, mechanism.p)
        for support, counts in ((law, seen), (opposite(law), trials - seen)):
            assert_as_alone(LowEnds(support, alpha), counts.astype(float), trials.astype(float), mechanism)


SHAPE: dict[str, dict[str, float]] = {"bit-flip": {"bits": 8}}


def assert_as_alone(ends: LowEnds, seen: np.ndarray, trials: np.ndarray, mechanism: Mechanism) -> None:
    together = ends_of_many(ends, seen, trials)
    order = np.lexsort((seen, trials))
    assert (np.diff(together[order])[np.diff(trials[order]) == 0] >= 0).all(), mechanism
    first = np.argsort(np.where(together > 0, together, 2))[:10]  # those beside the place where ends leave 0
    some = np.concatenate([np.arange(3), first, np.arange(3, len(seen), 97)])
    last = np.flatnonzero(together == 0)
    some = np.append(some, last[np.argsort(-seen[last] / np.maximum(trials[last], 1))[:10]])
    alone = ends.ends(seen[some], trials[some])
    support = ends.support
    error = support.error(np.clip(support.estimate(seen[some], trials[some]), 0, 1), trials[some])
    assert (np.abs(together[some] - alone) < 1e-6 * error).all(), mechanism
    assert ((together[some] == 0) == (alone == 0)).all(), mechanism
    assert ((together[some] == 1) == (alone == 1)).all(), mechanism


@pytest.mark.parametrize("users", [10**3, 10**12])
@pytest.mark.parametrize("alpha", [0.9, 0.5, 0.05, 1e-9 / 2**20])
def test_exact_interval_is_ordered_for_every_count(alpha: float, users: int) -> None:
    """Of nobody, of all, and of everything between: low <= high, neither falls, and at 95% it is never a point."""
    for mechanism in (OptimizedUnary.calibrate(4, 1.0), RandomizedResponse.calibrate(2**20, 1.0)):
        seen = np.unique(np.linspace(0, users, 201).astype(np.int64))
        low, high = exact_interval(mechanism, seen, np.full(len(seen), users), alpha)
        assert (np.diff(low) >= 0).all()
        assert (np.diff(high) >= 0).all()
        assert ((low >= 0) & (low <= high) & (high <= 1)).all()
        assert alpha >= 0.5 or (low < high).all()


@pytest.mark.parametrize("users", [0, 1, 2])
@pytest.mark.parametrize("size", [2, 2000])
def test_intervals_of_no_or_few_reports_are_wide(users: int, size: int) -> None:
    mechanism: Mechanism = RandomizedResponse.calibrate(size, 1.0)
    low, high = exact_interval(mechanism, np.zeros(size, dtype=np.int64), np.full(size, users), 0.05)
    assert (low == 0).all()
    assert (high > 0.5).all()


@pytest.mark.parametrize("alpha", ALPHAS)
def test_intervals_of_normal_estimates_do_not_fall_and_leave_0_where_they_should(alpha: float) -> None:
    mechanism = OptimizedUnary.calibrate(100, 1.0)
    law, trials = noise_law(mechanism), np.full(20_001, 10**6)
    error = float(law.error(np.zeros(1), trials[:1])[0])
    estimate = np.linspace(-30, 30, 20_001) * error
    low, high = score_interval(law, estimate, trials, alpha)
    assert (np.diff(low) >= -1e-12 * error).all()
    assert (np.diff(high) >= -1e-12 * error).all()
    errors = np.full(1, error), np.full(1, 2 * error)
    below, above = normal_scores(1 - estimate, errors, alpha)
    assert np.stack(normal_scores(estimate, errors[::-1], alpha)) == pytest.approx(np.stack([above, below]), abs=1e-6)
    assert ((low > 0) == (estimate > -special.ndtri(min(alpha, 0.5)) * error)).mean() > 0.9999
    assert alpha == 0.5 or (high > 0).all()


def test_all_of_millions_of_intervals_hold_together_at_the_highest_confidence() -> None:
    for mechanism, rule in (
        (OptimizedUnary.calibrate(2, 1.0), "sidak"),
        (RandomizedResponse.calibrate(2, 1.0), "bonferroni"),
    ):
        name, each = level_of_each(mechanism, 10**7, 1e-9)
        assert name == rule
        assert each == pytest.approx(1e-16, rel=1e-6)
        low, high = exact_interval(mechanism, np.array([300, 900]), np.array([1000, 1000]), each)
        assert (low < high).all()


def test_a_crossing_begins_at_its_guess_or_else_in_the_middle_of_the_bracket() -> None:
    tried: list[np.ndarray] = []

    def excess(places: np.ndarray, points: np.ndarray) -> np.ndarray:
        tried.append(points.copy())
        return points - 5.0

    bracket = np.full(5, 2.0), np.full(5, 8.0)
    ends = crossing(excess, np.array([4.0, 2.0, 8.0, 1.0, 9.0]), bracket, np.ones(5))
    assert tried[0].tolist() == [4.0, 5.0, 5.0, 5.0, 5.0]
    assert ends == pytest.approx(5.0)
    assert len(tried) <= 3  # a secant meets a straight line at once


def test_crossing_that_secants_miss_is_found_by_bisection() -> None:
    """Little below 0 on one side and far above on the other: secants come no nearer, and 60 halvings meet it."""
    low, high, places = np.zeros(3), np.full(3, 9.0), np.array([0.1, 4.0, 8.9])

    def excess(places_: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.where(points < places[places_], -1.0, 1e3)

    ends = crossing(excess, np.full(3, 5.0), (low, high), np.ones(3))
    assert ends == pytest.approx(places, abs=1e-7)


@pytest.mark.parametrize(("law", "for_ends", "for_counts"), [("rare", 5.0, 5.46), ("frequent", 3.98, 3.98)])
def test_few_secants_find_an_end_from_its_first_guess(
    law: str, for_ends: float, for_counts: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bound the average number of points that are tried for each end and each count."""
    tried: list[int] = []
    excess = LowEnds.excess

    def counted(self: LowEnds, share: np.ndarray, seen: np.ndarray, trials: np.ndarray) -> np.ndarray:
        tried.append(len(share))
        return excess(self, share, seen, trials)

    monkeypatch.setattr(LowEnds, "excess", counted)
    support, users = LAWS[law], 1e6
    low, high = support.q * users, support.p * users
    seen = np.unique(np.round(np.linspace(low - 3 * low**0.5, high + 3 * high**0.5, 200))).astype(np.float64)
    ends = LowEnds(support, 0.05)
    ends.ends(seen, np.full(len(seen), users))
    assert sum(tried) / len(seen) < for_ends + 0.04
    tried.clear()
    ends.counts_at(np.linspace(0.01, 0.99, 50), np.full(50, users))
    assert sum(tried) / 50 < for_counts + 0.04


def test_ends_that_rounding_puts_below_those_of_lesser_counts_are_lifted() -> None:
    ends = np.array([0.1, 0.3, 0.29, 0.28, 0.4, 0.2, 0.1])
    _let_rise(ends, np.array([9.0, 9, 9, 9, 9, 10, 11]))
    assert ends.tolist() == [0.1, 0.3, 0.3, 0.3, 0.4, 0.2, 0.1]


def test_tails_too_small_for_a_double_are_known_by_their_logarithm() -> None:
    """P[400 or more of 10^4 at 1/1000] by its terms in logarithms; the rest of them is nearly a geometric series."""
    seen, trials, chance = 400.0, 10_000.0, 1e-3
    terms = np.arange(seen, seen + 100)
    logs = -np.log1p(trials) - special.betaln(trials - terms + 1, terms + 1)
    exact = special.logsumexp(logs + terms * np.log(chance) + (trials - terms) * np.log1p(-chance))
    ends = _log_far_tail(np.array([seen]), np.array([trials]), np.array([chance]))[0]
    assert exact < np.log(1e-300)
    assert ends == pytest.approx(exact, abs=1e-5)


def test_the_degree_makes_a_polynomial_right_to_ten_digits() -> None:
    """From 1 to 4 a function that is singular at 0 is approximated to 3^-degree: 3 = 5/3 + 4/3 is its ellipse."""
    assert (_degree_for(1.0, 4.0), _degree_for(2.0, 2.0)) == (21, 0)
