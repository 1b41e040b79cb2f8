"""Sums of estimates and crossings: covariances by every mechanism of listed answers, and how often intervals hold."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.estimate import debiased, estimate
from dither_server.estimation.sums import crossed, groups_of, sums_of, with_group
from dither_server.tally.arrays import Floats
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally
from dither_shared import (
    MECHANISMS,
    BitFlip,
    HadamardResponse,
    Mechanism,
    ParameterError,
    RandomizedResponse,
    SubsetSelection,
)
from dither_shared.mechanism import LISTED
from dither_shared.mechanisms.auto import choose
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population

SHAPE = (3, 4)
CELLS = SHAPE[0] * SHAPE[1]
ROWS, COLUMNS = np.indices(SHAPE).reshape(2, -1)
SHARES = np.array([0.5, 0.02, 0.02, 0.06, 0.2, 0.05, 0.01, 0.04, 0.04, 0.03, 0.02, 0.01])
"""Of which one holds half: the lines of a field and the sums of Hadamard rows through it weigh the most."""
CASES = [
    (family.name, parameters)
    for family in MECHANISMS.of(LISTED)
    for parameters in (
        {"epsilon": 2.0, **({"bits": 5} if "bits" in family.keys else {})},
        *([{"epsilon": 2.0, "permanent_epsilon": 4.0}] if "permanent_epsilon" in family.keys else []),
    )
]
FRESH = [case for case in CASES if "permanent_epsilon" not in case[1]]
"""Slow, and they differ from the fresh ones only in p and q."""
OF_EACH_PATH = [case for case in CASES if case[0] in {"subset-selection", "hadamard-response", "bit-flip"}]


def made(name: str, parameters: dict[str, float]) -> Mechanism:
    return MECHANISMS[name].configure(CELLS, parameters)


def drawn(mechanism: Mechanism, reports: int, rng: np.random.Generator, shares: Floats = SHARES) -> Tally:
    """Draw the tally of ``reports`` people of a population."""
    labels = tuple(map(str, range(len(shares))))
    return sample_tally(mechanism, Population(labels, rng.multinomial(reports, shares / shares.sum())), rng)


@pytest.mark.parametrize("permanent", [None, 3.0])
@pytest.mark.parametrize("days", [1, 3])
def test_groups_of_symbols_have_the_errors_and_intervals_of_a_binomial_count(
    permanent: float | None, days: int
) -> None:
    """A report is in a group of g values with the chance g q + (p-q) F. The ends of intervals solve the score equation.

    Reports of a device share its permanent symbol or, without one, its answer.
    """
    mechanism, values = RandomizedResponse.calibrate(CELLS, 2.0, permanent), np.bincount(ROWS)
    tally = replace(drawn(mechanism, 6_000, np.random.default_rng(3)), repeats=Repeats((2_000,) * days))
    found, _ = sums_of(mechanism, tally, ROWS, 0.05)
    share, seen = found.frequency, np.bincount(ROWS, tally.counts[0]) / 6_000
    p, q = float(mechanism.p), float(mechanism.q)
    assert share == pytest.approx((seen - values * q) / (p - q))

    def of(law: Mechanism, at: Floats) -> Floats:
        chance = values * float(law.q) + float(law.p - law.q) * at
        return np.asarray(chance * (1 - chance) / float(law.p - law.q) ** 2)

    def variance(at: Floats) -> Floats:
        again = at * (1 - at) if mechanism.permanent_stage is None else of(mechanism.permanent_stage, at)
        return (of(mechanism, at) + (days - 1) * again) / 6_000

    beyond = replace(tally, counts=np.array([[6_000] + [0] * (CELLS - 1)]))
    nearest = sums_of(mechanism, beyond, ROWS, 0.05)[0].standard_error
    assert nearest**2 == pytest.approx(variance(np.array([1.0, 0.0, 0.0])))
    for ends, error, sampled in (
        ((found.low, found.high), found.standard_error, 0),
        ((found.noise_low, found.noise_high), found.noise_error, days / 6_000),
    ):
        assert error**2 == pytest.approx(variance(share) - sampled * share * (1 - share))
        for end in ends:
            expected = stats.norm.isf(0.025) ** 2 * (variance(end) - sampled * end * (1 - end))
            assert (share - end) ** 2 == pytest.approx(expected)


def test_few_reports_that_are_all_alike_count_as_at_least_half_of_the_noise() -> None:
    """By enumeration: the variance of how many of four values on average a report of another value supports."""
    mechanism, every = HadamardResponse.calibrate(CELLS, 3.0), range(CELLS)
    cells = np.array([[cell in mechanism.supporting(v, 0) for cell in range(mechanism.cells)] for v in every])
    laws = np.array([mechanism.cell_law(item, 0) for item in every], dtype=np.float64)
    both = np.einsum("uc,vc,wc->uvw", cells, cells, laws, dtype=np.float64)
    pairs = np.mean([both[one, other, item] for one, other, item in permutations(every, 3)])
    q, counts = float(mechanism.q), np.zeros((1, mechanism.cells), dtype=np.int64)
    counts[0, np.flatnonzero(cells[:4].sum(axis=0) == 2)[0]] = 40
    noise = (4 * q + 12 * pairs - (4 * q) ** 2) / float(mechanism.p - mechanism.q) ** 2
    found, _ = sums_of(mechanism, Tally(np.array([40]), counts), ROWS, 0.05)
    assert found.frequency[0] == pytest.approx(0, abs=1e-9), "two of four are supported by chance"
    assert found.standard_error[0] ** 2 == pytest.approx(noise / 2 / 40, rel=2e-3)


@pytest.mark.parametrize("days", [1, 3])
def test_covariances_of_bits_in_windows_are_those_of_their_law(days: int) -> None:
    """By the expected counts of many reports: bits of a window are independent, given its device's answer."""
    mechanism = BitFlip.calibrate(CELLS, 2.0, 5)
    p, q, reports = float(mechanism.p), float(mechanism.q), np.arange(1, 13) * 10**8
    windows = (np.arange(CELLS)[:, np.newaxis] + np.arange(5)) % CELLS
    single = q + (p - q) * SHARES
    tally = Tally(reports, np.rint(single[windows] * reports[:, np.newaxis]).astype(np.int64), Repeats((7,) * days))
    joint = q * q + q * (p - q) * (SHARES[:, np.newaxis] + SHARES)
    np.fill_diagonal(joint, single)
    together = np.array([
        [reports[[{one, other} <= set(window) for window in windows.tolist()]].sum() for other in range(CELLS)]
        for one in range(CELLS)
    ], dtype=np.float64)  # fmt: skip
    trials = np.diag(together)
    covariance = together / np.outer(trials, trials) * (joint - np.outer(single, single)) / (p - q) ** 2
    expected = [covariance[cell, ROWS[cell] == ROWS].sum() * days for cell in range(CELLS)]  # all is drawn once
    assert with_group(mechanism, tally, ROWS) == pytest.approx(expected, rel=1e-6, abs=0)
    found, _ = sums_of(mechanism, replace(tally, reports=reports // 10**5, counts=tally.counts // 10**5), ROWS, 0.05)
    share, total = found.frequency, reports.sum() / 10**5
    slope = days * ((1 + (1 - p - q) / (p - q)) * 12 / 5 - 1)  # of a report that speaks of each value in 5 of 12 cases
    for end in (found.low, found.high):
        change = slope * (end - share) + days * (end * (1 - end) - share * (1 - share))
        variance = found.standard_error**2 + change / total
        assert (end - share) ** 2 == pytest.approx(stats.norm.isf(0.025) ** 2 * variance, rel=1e-5)


def test_a_group_with_a_value_that_no_report_covers_is_unknown() -> None:
    mechanism, reports = BitFlip.calibrate(CELLS, 9.0, 2), np.full(CELLS, 100)
    reports[:2] = 0  # the windows of the second value
    crossing = crossed(mechanism, Tally(reports, np.tile(reports // 10, (2, 1)).T), SHAPE, 0.95)
    found, within = crossing.marginals[0], crossing.within[0]
    assert np.isnan(within.ratio[ROWS == 0]).all()
    assert np.isnan(found.frequency).tolist() == [True, False, False]
    assert (found.low[0], found.high[0]) == (0, 1)


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_sums_of_one_value_are_the_value_and_the_sum_of_all_is_1_if_estimates_sum_to_1(
    name: str, parameters: dict[str, float]
) -> None:
    mechanism = made(name, parameters)
    tally = replace(drawn(mechanism, 2000, np.random.default_rng(5)), repeats=Repeats((1_500, 500)))
    single, whole = estimate(mechanism, tuple(map(str, range(CELLS))), tally), np.zeros(CELLS, dtype=np.intp)
    alone, _ = sums_of(mechanism, tally, np.arange(CELLS), 0.05)
    assert alone.frequency == pytest.approx(single.frequency)
    if mechanism.coverage == 1:
        assert alone.standard_error == pytest.approx(single.standard_error)
        assert alone.noise_error == pytest.approx(single.noise_error)
    else:
        assert alone.standard_error == pytest.approx(single.standard_error, rel=0.1)  # of as many reports on average
    if name in {"randomized-response", "subset-selection"}:
        assert with_group(mechanism, tally, whole) == pytest.approx(0, abs=1e-9)


def test_a_mechanism_that_does_not_know_its_joint_law_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = made("subset-selection", {"epsilon": 1.0})
    monkeypatch.setattr(type(mechanism), "joint_support", None)
    with pytest.raises(
        ParameterError, match="mechanism: subset-selection does not define the joint law of its supports"
    ):
        sums_of(mechanism, drawn(mechanism, 10, np.random.default_rng(1)), ROWS, 0.05)


def test_shares_are_ratios_of_the_cells_to_the_marginals() -> None:
    mechanism = choose(6, 2.0)
    tally = drawn(mechanism, 50_000, np.random.default_rng(2), np.array([0.3, 0.1, 0.1, 0.2, 0.2, 0.1]))
    crossing = crossed(mechanism, tally, (2, 3), 0.95)
    first, second = (sums.frequency for sums in crossing.marginals)
    assert first.sum() == pytest.approx(1)
    for ratios, whole, group in zip(crossing.within, (first, second), groups_of((2, 3)), strict=True):
        assert np.bincount(group, ratios.ratio) == pytest.approx(1), "of all who have an answer"
        assert ratios.ratio * whole[group] == pytest.approx(crossing.within[0].ratio * first[groups_of((2, 3))[0]])


def test_shares_within_an_answer_that_few_have_are_unknown() -> None:
    mechanism, rng = choose(4, 1.0), np.random.default_rng(4)
    tally = drawn(mechanism, 1_500, rng, np.array([0.5, 0.0, 0.5, 0.0]))
    crossing = crossed(mechanism, tally, (2, 2), 0.95)
    none = np.isnan(crossing.within[1].ratio)
    assert none.tolist() == [False, True, False, True]
    assert np.isnan(crossing.within[1].low[none]).all()
    assert not np.isnan(crossing.within[0].ratio).any()
    few, enough = (
        crossed(mechanism, drawn(mechanism, reports, rng, np.array([0.5, 0.0, 0.5, 0.0])), (2, 2), 0.95)
        for reports in (999, 1_000)
    )
    assert np.isnan(few.within[0].ratio).all()
    assert not np.isnan(few.marginals[0].frequency).any()
    assert not np.isnan(enough.within[0].ratio).any()
    lowest, known, sure = 2 * float(mechanism.q), [], []
    for count in range(int(10_000 * lowest), int(10_000 * lowest) + 300, 3):
        half, chance = count // 2, count / 10_000
        counts = np.array([[half, 5_000 - half, count - half, 5_000 + half - count]])
        found = crossed(mechanism, Tally(np.array([10_000]), counts), (2, 2), 0.95).within[1].ratio[0]
        known.append(bool(np.isfinite(found)))
        sure.append(chance - lowest > stats.norm.isf(0.0125) * (chance * (1 - chance) / 10_000) ** 0.5)
    assert known == sure, "each of two answers must exceed its errors with 97.5%"
    assert 0 < sum(known) < 100
    for people, is_known in ((500, False), (1_000, True)):  # 30 reports of each are no more people
        reports = drawn(mechanism, 30 * people, rng, np.array([0.5, 0.0, 0.5, 0.0]))
        again = replace(reports, repeats=Repeats((people,) * 30))
        assert np.isfinite(crossed(mechanism, again, (2, 2), 0.95).within[0].ratio).any() == is_known


@pytest.mark.parametrize(("permanent", "days"), [(None, 1), (None, 3), (3.0, 3)])
def test_shares_within_answers_have_the_law_of_counts(permanent: float | None, days: int) -> None:
    """Ends solve Fieller's equation of a cell and its answer's two cells, of which a report has at most one."""
    mechanism = RandomizedResponse.calibrate(6, 2.0, permanent)
    tally = drawn(mechanism, 50_000, np.random.default_rng(2), np.array([0.3, 0.1, 0.1, 0.2, 0.2, 0.1]))
    tally = replace(tally, repeats=Repeats((9,) * days))
    found, group = crossed(mechanism, tally, (3, 2), 0.9), np.arange(6) // 2

    def moments(law: Mechanism | None, cell: Floats, whole: Floats) -> Floats:
        """Return the variances of both shares and their covariance; without a law, of people alone."""
        p, q = (1.0, 0.0) if law is None else (float(law.p), float(law.q))
        one, two = q + (p - q) * cell, 2 * q + (p - q) * whole
        return np.array([one * (1 - one), two * (1 - two), one * (1 - two)]) / (p - q) ** 2

    cell = debiased(mechanism, (), tally).frequency
    whole = np.bincount(group, cell)[group].astype(np.float64)
    again = (days - 1) * moments(mechanism.permanent_stage, cell, whole)
    x, y, xy = (moments(mechanism, cell, whole) + again) / 50_000
    for end in (found.within[0].low, found.within[0].high):
        expected = stats.norm.isf(0.05) ** 2 * (x - 2 * end * xy + end**2 * y)
        assert (cell - end * whole) ** 2 == pytest.approx(expected)
    together, stricter, strictest = (
        crossed(mechanism, tally, (3, 2), 1 - 0.1 / many, simultaneous=many == 1) for many in (1, 5, 12)
    )
    simultaneous, alone = (*together.marginals, *together.within), (*stricter.marginals, *strictest.within)
    for one, other in zip(simultaneous, alone, strict=True):
        for name in ("low", "high"):
            assert getattr(one, name) == pytest.approx(getattr(other, name)), "5 marginals, and 12 shares"


def test_crossing_of_no_reports_is_unknown() -> None:
    mechanism = SubsetSelection.calibrate(6, 1.0)
    crossing = crossed(mechanism, Tally.zero(mechanism), (2, 3), 0.95)
    sums = crossing.marginals[1]
    assert np.isnan(sums.frequency).all()
    assert (sums.low.tolist(), sums.high.tolist()) == ([0.0] * 3, [1.0] * 3)
    assert all(np.isnan(numbers).all() for ratios in crossing.within for numbers in ratios)


@pytest.mark.parametrize(("name", "parameters"), FRESH)
def test_covariances_are_those_of_many_surveys(name: str, parameters: dict[str, float]) -> None:
    """Variances of 600 estimates have a relative error of 5.8%: beyond 30% with a probability below 1e-6."""
    mechanism, rng = made(name, parameters), np.random.default_rng(20261122)
    estimates, covariances = [], []
    for survey in range(600):
        tally = drawn(mechanism, 500, rng)
        estimates.append(debiased(mechanism, (), tally).frequency)
        if survey % 10 == 0:
            covariances.append([with_group(mechanism, tally, group) for group in (ROWS, COLUMNS)])
    true = np.cov(np.array(estimates).T)
    for group, said in zip((ROWS, COLUMNS), np.mean(covariances, axis=0), strict=True):
        same = group[:, np.newaxis] == group
        assert np.bincount(group, said) == pytest.approx(np.bincount(group, (true * same).sum(axis=1)), rel=0.3)
        # Of one cell with its group: beyond 5 of its own errors, of which the estimate's spread is the scale.
        scale = np.sqrt(np.diag(true) * np.bincount(group, (true * same).sum(axis=1))[group] / 600)
        assert (np.abs(said - (true * same).sum(axis=1)) < 6.5 * scale).all()


@pytest.mark.parametrize(("name", "parameters"), OF_EACH_PATH)
def test_intervals_of_sums_cover_as_often_as_stated(name: str, parameters: dict[str, float]) -> None:
    """Seven shares from 10% to 78%: of each at least 119 of 150, as a binomial law of 94.5% has but for 1e-8.

    An error that is a third too small would hold 81%. The mean over the shares is beyond 2.5 percentage points by
    chance below 1e-6 if they count for two that are independent.
    """
    mechanism, rng, surveys = made(name, parameters), np.random.default_rng(7), 150
    held = np.zeros(sum(SHAPE))
    true = np.concatenate([np.bincount(group, SHARES) for group in (ROWS, COLUMNS)])
    for _ in range(surveys):
        tally = drawn(mechanism, 300, rng)
        ends = [sums_of(mechanism, tally, group, 0.05)[0] for group in (ROWS, COLUMNS)]
        low, high = (np.concatenate([getattr(interval, end) for interval in ends]) for end in ("low", "high"))
        held += (low <= true) & (true <= high)
    assert 0.925 < held.mean() / surveys < 0.98
    assert (held >= stats.binom.ppf(1e-8, surveys, 0.945)).all()


def test_intervals_of_shares_within_answers_cover_as_often_as_stated() -> None:
    """All 20 of both directions, 250 surveys: the mean beyond 93.3 or 96.7% by chance below 1e-6.

    (Cells of one survey hang together: counted as two of them by themselves.)
    """
    rng, mechanism, shape = np.random.default_rng(17), choose(10, 1.0), (2, 5)
    shares = rng.dirichlet(np.full(10, 3.0))
    table = shares.reshape(shape)
    true = (table / table.sum(axis=1, keepdims=True)).ravel(), (table / table.sum(axis=0, keepdims=True)).ravel()
    held = known = 0
    for _ in range(250):
        crossing = crossed(mechanism, drawn(mechanism, 20_000, rng, shares), shape, 0.95)
        for interval, share in zip(crossing.within, true, strict=True):
            seen = np.isfinite(interval.low)
            known += seen.sum()
            held += ((interval.low <= share) & (share <= interval.high) & seen).sum()
    assert known > 250 * len(shares) * 1.9
    assert 0.933 < held / known < 0.967
