"""Weighted estimates: the bias that they remove, their intervals, and the design effect of repeated reports."""

from dataclasses import astuple, replace

import numpy as np
import pytest

from benchmarks.weighted import BOOLEAN, NUMBER, law_of_answers, numbers, setting_of, shares, survey
from dither_server.analysis.weighted import Weighting, weighted_number, weighted_shares
from dither_server.estimation.decoders.support import support
from dither_server.estimation.estimate import collision_bias, debiased, estimate
from dither_server.estimation.intervals.score import noise_law, score_interval, share_interval, third_moment
from dither_server.estimation.numeric.dithered import Dithered
from dither_server.estimation.numeric.mean import mean_of
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.tally.arrays import Counts, Floats
from dither_server.tally.repeats import Repeats, weighted_effect
from dither_server.tally.tally import Tally
from dither_shared import (
    MECHANISMS,
    BitFlip,
    DitheredResponse,
    Mechanism,
    ParameterError,
    RandomizedResponse,
    parse_metrics,
)
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population


def weighted(
    tallies: list[Tally],
    shares: list[float],
    *,
    days: int = 1,
    design: Floats | None = None,
    reports: Counts | None = None,
) -> Weighting:
    """Return the first strata, of which these are the tallies, and the others; all people report on all the days."""
    totals = np.array([tally.total for tally in tallies])
    return Weighting(
        np.array(shares),
        np.eye(len(shares)) if design is None else design,
        np.arange(len(tallies)),
        tuple(tallies),
        np.asarray(totals if reports is None else reports, dtype=np.float64),
        np.tile(totals, (days, 1)),
        1.0,
        {},
    )


SHARES = [
    RandomizedResponse.calibrate(3, 2.0),
    RandomizedResponse.calibrate(3, 2.0, 4.0),
    BitFlip.calibrate(3, 2.0, 2),
    MECHANISMS["count-mean-sketch"].configure(None, {"epsilon": 2.0, "bits": 16}),
]
LABELS = ("a", "b", "c")


def drawn(mechanism: Mechanism, counts: list[int], seed: int = 1) -> Tally:
    return sample_tally(mechanism, Population(LABELS, np.array(counts)), np.random.default_rng(seed))


@pytest.mark.parametrize("days", [1, 3])
@pytest.mark.parametrize("mechanism", SHARES, ids=lambda m: f"{m.name}-{m.permanent_stage is not None}")
def test_shares_of_one_stratum_are_the_raw_ones(mechanism: Mechanism, days: int) -> None:
    tally = drawn(mechanism, [700, 250, 50])
    found = weighted_shares(mechanism, LABELS, weighted([tally], [1.0], days=days), 0.1)
    raw = estimate(mechanism, LABELS, replace(tally, repeats=Repeats((9,) * days)))
    assert found["weighted"] == pytest.approx(raw.frequency)
    assert found["weighted_error"] == pytest.approx(raw.standard_error)
    if not mechanism.collision_variance:  # of which a weighted interval leaves out the skewness
        trials = support(mechanism, tally, LABELS).trials
        ends = share_interval(mechanism, raw.frequency, trials, 0.1, repeats=days, sampled=True)
        near = 1e-9
        if mechanism.coverage < 1:  # of as many reports of each value as are expected; and for few people one is exact
            near = 1e-4 if days == 1 else 6e-3
        assert np.abs(np.array([found["weighted_low"], found["weighted_high"]]) - ends).max() < near


@pytest.mark.parametrize("days", [1, 3])
@pytest.mark.parametrize("mechanism", SHARES, ids=lambda m: f"{m.name}-{m.permanent_stage is not None}")
def test_shares_of_two_strata_have_the_variance_of_their_weighted_sum(mechanism: Mechanism, days: int) -> None:
    """Reports of a device share its permanent draw or its answer, of which the worse stratum's counts.

    How many reports speak of a value of a window varies by stratum, and so its weighted mean varies as the strata do.
    """
    tallies = [drawn(mechanism, [500, 300, 200]), drawn(mechanism, [0, 0, 400], 2)]
    weighting = weighted(tallies, [0.3, 0.7], days=days)
    found = weighted_shares(mechanism, LABELS, weighting, 0.05)
    supports = [support(mechanism, tally, LABELS) for tally in tallies]
    part = np.array([[0.3 / 1000], [0.7 / 400]]) * [one.trials for one in supports]
    part = part / part.sum(axis=0)
    each = np.array([debiased(mechanism, LABELS, tally).frequency for tally in tallies])
    share = (part * each).sum(axis=0)
    assert found["weighted"] == pytest.approx(share)
    once, often = (noise_law(mechanism, times).sampled().variance(np.clip(each, 0, 1)) for times in (1, days))
    scale = part**2 / [one.trials for one in supports]
    variance = (scale * once).sum(axis=0) + scale.sum(axis=0) * (often - once).max(axis=0)
    if mechanism.coverage < 1:
        variance += days * (scale * (each - share) ** 2).sum(axis=0)
    if mechanism.collision_variance:
        variance += collision_bias(mechanism, tallies[0] + tallies[1], share)[0] ** 2
    assert found["weighted_error"] ** 2 == pytest.approx(variance)


def test_a_value_that_no_report_covers_has_no_weighted_share() -> None:
    for reports in (0, 1):
        tallies = [Tally(np.array([50, 50 - number, number]), np.array([[9], [9], [0]])) for number in (0, reports)]
        found = weighted_shares(BitFlip.calibrate(3, 2.0, 1), LABELS, weighted(tallies, [0.5, 0.5]), 0.05)
        for column in found.values():
            assert np.isnan(column).tolist() == [False, False, not reports]


def test_the_interval_of_a_rare_value_has_the_skewness_of_the_weighted_sum() -> None:
    """Two strata in which as many have the value: the third moment is the sum of W³ times theirs."""
    mechanism = RandomizedResponse.calibrate(3, 4.0)
    tallies = [Tally(np.array([reports]), np.array([[9, 1, 0]]) * reports // 10) for reports in (1000, 200)]
    found, sizes = weighted_shares(mechanism, LABELS, weighted(tallies, [0.3, 0.7]), 0.05), np.array([1000.0, 200.0])
    within, law = np.array([0.3, 0.7]), noise_law(mechanism).sampled()
    scale = float((within**2 / sizes).sum())

    def skewness(at: Floats) -> Floats:
        cubes = [third_moment(mechanism, at, reports, sampled=True) for reports in sizes]
        return np.asarray(within**3 @ np.array(cubes) / (scale * law.variance(at)) ** 1.5)

    ends = score_interval(law, found["weighted"], np.full(3, 1 / scale), 0.05, skewness=skewness)
    assert np.abs(np.array([found["weighted_low"], found["weighted_high"]]) - ends).max() < 1e-9


@pytest.mark.parametrize("days", [1, 3])
def test_raking_leaves_the_interaction_of_margins_between_strata(days: int) -> None:
    """Four strata of two margins with equal shares; what margins do not explain of one that differs is a quarter.

    The fourth is not asked for, and nobody is in the fifth.
    """
    mechanism, shares, reports = (
        RandomizedResponse.calibrate(3, 4.0),
        [0.25] * 4 + [0.0],
        np.array([900, 600, 300, 500, 0]),
    )
    tallies = [Tally(np.array([n]), np.array([row]) * n // 300) for n, row in zip(
        reports.tolist(), ([200, 50, 50], [50, 200, 50], [50, 100, 150]), strict=False
    )]  # fmt: skip
    design = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0]], dtype=np.float64)
    weighting = weighted(tallies, shares, days=days, design=design, reports=reports)
    found = weighted_shares(mechanism, LABELS, weighting, 0.05)
    each = np.array([debiased(mechanism, LABELS, tally).frequency for tally in tallies])
    share, law = each.mean(axis=0), noise_law(mechanism).sampled()
    assert found["weighted"] == pytest.approx(share)
    away = each - share
    left = ((away[0] - away[1] - away[2]) / 4) ** 2 * (1 / reports[:4]).sum() / 9
    once = (law.variance(each) / reports[:3, np.newaxis]).sum(axis=0) / 9
    more = (1 / reports[:3]).sum() / 9 * (days - 1) * (each * (1 - each)).max(axis=0)
    assert found["weighted_error"] ** 2 == pytest.approx(once + days * left + more)


DITHERED = DitheredResponse.calibrate(None, 3.0, steps=3, resolution=8)
LASTING = DitheredResponse.calibrate(None, 3.0, 5.0, steps=3, resolution=8)
LAPLACE = MECHANISMS["discrete-laplace"].configure(None, {"epsilon": 2.0, "resolution": 8})


def numbered(mechanism: Mechanism, reports: int, seed: int) -> Tally:
    """Draw reports of answers below a third or, with an odd seed, all over the range."""
    points = law_of(mechanism).points
    answers = np.arange(points) % (points if seed % 2 else points // 3)
    counts = np.random.default_rng(seed).multinomial(reports, np.bincount(answers, minlength=points) / points)
    users = Population(tuple(map(str, range(points))), counts)
    return sample_tally(mechanism, users, np.random.default_rng(seed))


@pytest.mark.parametrize("days", [1, 3])
@pytest.mark.parametrize("reports", [1, 20, 30_000])
@pytest.mark.parametrize("mechanism", [DITHERED, LASTING, LAPLACE], ids=["dithered", "permanent", "tabulated"])
def test_a_number_of_one_stratum_is_the_raw_one(mechanism: Mechanism, reports: int, days: int) -> None:
    law, tally = law_of(mechanism), numbered(mechanism, reports, 1)
    found = weighted_number(law, weighted([tally], [1.0], days=days), 0.9)
    same = replace(tally, repeats=Repeats((9,) * days))
    assert found.reports == max(1, reports // days)
    ours, raw = ((*astuple(one)[:-1], *one.widest) for one in (found.mean, mean_of(law, same, 0.9)))
    assert ours == pytest.approx(raw, nan_ok=True)
    for name, column in vars(law.cuts(same, 0.9)).items():
        assert getattr(found.cuts, name) == pytest.approx(column, nan_ok=True), name


@pytest.mark.parametrize("days", [1, 3])
def test_a_number_of_two_strata_has_the_variance_of_their_weighted_sum(days: int) -> None:
    """They are not told apart by the margins, which a third stratum is in, too; so their difference is left."""
    law, tallies = law_of(LASTING), [numbered(LASTING, 9_000, 1), numbered(LASTING, 1_000, 2)]
    reports, design = np.array([9_000, 1_000, 500]), np.ones((3, 1))
    weighting = weighted(tallies, [0.16, 0.64, 0.2], days=days, design=design, reports=reports)
    found, (one, other) = weighted_number(law, weighting, 0.95), [mean_of(law, tally) for tally in tallies]
    mean = 0.2 * one.estimate + 0.8 * other.estimate
    assert found.mean.estimate == pytest.approx(mean)
    each, again = np.array([0.04 / 9_000, 0.64 / 1_000]), days - 1
    left = each @ [(one.estimate - mean) ** 2, (other.estimate - mean) ** 2]
    permanent = max(law.permanent_variance(tally) for tally in tallies)
    noise = 0.04 * one.noise_error**2 + 0.64 * other.noise_error**2 + again * each.sum() * permanent
    assert found.mean.noise_error**2 == pytest.approx(noise)
    shared = each.sum() * max(one.shared * 9_000, other.shared * 1_000) + left
    variance = 0.04 * one.standard_error**2 + 0.64 * other.standard_error**2 + left + again * shared
    assert found.mean.standard_error**2 == pytest.approx(variance)
    assert found.mean.shared == pytest.approx(days * shared)
    assert found.reports == int(1 / each.sum() / weighting.repeats)


def test_shares_below_points_of_two_strata_have_the_variance_of_their_weighted_sum() -> None:
    law, tallies = Dithered.of(DITHERED), [numbered(DITHERED, 9_000, 1), numbered(DITHERED, 1_000, 2)]
    weights, (cells, phases) = np.array([0.2 / 0.9, 0.8 / 0.1]), law.cells_of_cuts
    found = weighted_number(law, weighted(tallies, [0.2, 0.8]), 0.95).cuts
    kish = 0.2 * weights[0] + 0.8 * weights[1]
    for cut, (cell, phase) in enumerate(zip(cells.tolist(), phases.tolist(), strict=True), start=1):
        trials = np.array([tally.reports[phase] for tally in tallies])
        below = np.array([tally.counts[phase, :cell].sum() for tally in tallies])
        mean = weights @ below / (weights @ trials)
        squares = weights**2 @ (below * (1 - mean) ** 2 + (trials - below) * mean**2)
        effect = max(squares / (mean * (1 - mean)), weights**2 @ trials, kish * (weights @ trials))
        share = (mean - cell * float(law.q)) / law.gap
        held = min(max(share, 0.0), 1.0)
        chance = cell * float(law.q) + law.gap * held
        variance = chance * (1 - chance) / law.gap**2 * effect / (weights @ trials) ** 2
        assert found.frequency[cut] == pytest.approx(share)
        assert found.standard_error[cut] ** 2 == pytest.approx(variance)
        assert found.noise_error[cut] ** 2 == pytest.approx(variance - held * (1 - held) * kish / 10_000)
        assert found.low[cut] <= held <= found.high[cut]


def test_bounds_of_a_tabulated_number_hold_together_in_all_strata() -> None:
    """With 97.5% each in two strata; the design effect counts as the next whole number of days."""
    law, tallies = law_of(LAPLACE), [numbered(LAPLACE, 9_000, 1), numbered(LAPLACE, 1_000, 2)]
    weighting = replace(weighted(tallies, [0.2, 0.8]), periods=np.array([[9_000, 500], [0, 500]]))
    assert 1 < weighting.repeats < 2
    found = weighted_number(law, weighting, 0.95).cuts
    one, other = (law.cuts(replace(tally, repeats=Repeats((1, 1))), 0.975) for tally in tallies)
    assert found.low == pytest.approx(0.2 * one.low + 0.8 * other.low)
    assert found.high == pytest.approx(0.2 * one.high + 0.8 * other.high)


def test_a_regression_on_strings_is_refused() -> None:
    metric = parse_metrics(
        '[metrics.x]\ntype = "string"\nmechanism = "rappor"\nbits = 16\nhashes = 2\ncohorts = 2\nf = 0.5\np = 0.5\n'
        'q = 0.75\ncandidates = ["a", "b"]\n'
    )["x"]
    setting = setting_of(BOOLEAN.format(1), raked=False)
    weighting, _ = survey(setting, law_of_answers(setting, 2), 100, np.random.default_rng(1))
    with pytest.raises(ParameterError, match="weighted: does not apply to rappor"):
        weighted_shares(metric.mechanism, ("a", "b"), weighting, 0.05)


def test_the_effect_of_equal_weights_is_that_of_the_days() -> None:
    rng = np.random.default_rng(0)
    for periods, strata in ((1, 1), (1, 4), (7, 1), (7, 4)):
        reports = rng.integers(0, 50, (periods, strata)) + 1
        whole = Repeats(tuple(reports.sum(axis=1).tolist()))
        assert weighted_effect(reports, np.ones(strata)) == pytest.approx(whole.effect)
        assert weighted_effect(reports, np.ones(strata), 0.0) == 1


@pytest.mark.parametrize("seed", range(5))
def test_no_matching_of_reports_to_devices_has_a_larger_effect(seed: int) -> None:
    """A device has at most one report a period. Any order of them is a matching; sorted ones reach the bound."""
    rng = np.random.default_rng(seed)
    reports, weights = rng.integers(0, 6, (4, 3)) + 1, rng.uniform(0.1, 3, 3)
    days = [np.repeat(weights, row) for row in reports]
    longest = max(map(len, days))
    own = sum(float((day**2).sum()) for day in days)

    def effect(orders: list[np.ndarray]) -> float:
        ranked = [np.pad(day[order], (0, longest - len(day))) for day, order in zip(days, orders, strict=True)]
        return float((np.sum(ranked, axis=0) ** 2).sum()) / own

    bound = weighted_effect(reports, weights)
    assert effect([np.argsort(-day) for day in days]) == pytest.approx(bound)
    for _ in range(50):
        assert effect([rng.permutation(len(day)) for day in days]) <= bound + 1e-9


@pytest.mark.parametrize(
    ("epsilon", "raked", "reports", "periods"), [(1, False, 20_000, 1), (4, True, 20_000, 1), (4, False, 30_000, 10)]
)
def test_a_bias_of_eight_points_is_removed_and_intervals_hold(
    epsilon: int, raked: bool, reports: int, periods: int
) -> None:
    """Of 300 surveys with 95% intervals the coverage is below 87.5% less often than once in 10^6."""
    found = shares(setting_of(BOOLEAN.format(epsilon), raked=raked), reports, 300, 7, periods)
    assert found.raw > 0.075
    assert abs(found.weighted) < 5 * found.error
    assert found.coverage > 0.875


@pytest.mark.parametrize(("statistic", "epsilon", "raked"), [("mean", 2, True), ("median", 4, False)])
def test_a_number_is_weighted_and_its_interval_holds(statistic: str, epsilon: int, raked: bool) -> None:
    """Of 100 surveys, fewer than 82 of 95% hold once in 10^6; the median is a point of the grid, and so not centred."""
    setting = setting_of(NUMBER.format(f"{epsilon}\nresolution = 8"), raked=raked)
    found = numbers(setting, 20_000, 100, 7, statistic)
    assert found.raw > 0.05
    assert statistic == "median" or abs(found.weighted) < 5 * found.error
    assert found.coverage >= 0.82
