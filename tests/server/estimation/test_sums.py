"""Sums of estimates and crossings: covariances by every mechanism of listed answers, and how often intervals hold."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.estimate import debiased, estimate
from dither_server.estimation.sums import crossed, groups_of, sums_of, with_group
from dither_server.tally.arrays import Floats
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally
from dither_shared import MECHANISMS, Mechanism, ParameterError, SubsetSelection
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


def test_a_mechanism_that_does_not_know_its_joint_law_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = made("subset-selection", {"epsilon": 1.0})
    monkeypatch.setattr(type(mechanism), "joint_support", None)
    with pytest.raises(
        ParameterError, match="mechanism: subset-selection does not define the joint law of its supports"
    ):
        sums_of(mechanism, drawn(mechanism, 10, np.random.default_rng(1)), ROWS, 0.05)


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
    few = crossed(mechanism, drawn(mechanism, 999, rng, np.array([0.5, 0.0, 0.5, 0.0])), (2, 2), 0.95)
    assert np.isnan(few.within[0].ratio).all()
    assert not np.isnan(few.marginals[0].frequency).any()
    for people, known in ((500, False), (1_000, True)):  # 30 reports of each are no more people
        reports = drawn(mechanism, 30 * people, rng, np.array([0.5, 0.0, 0.5, 0.0]))
        again = replace(reports, repeats=Repeats((people,) * 30))
        assert np.isfinite(crossed(mechanism, again, (2, 2), 0.95).within[0].ratio).any() == known


def test_simultaneous_intervals_of_crossings_are_wider() -> None:
    mechanism = choose(6, 2.0)
    tally = drawn(mechanism, 50_000, np.random.default_rng(2), np.ones(6))
    each, together = (crossed(mechanism, tally, (2, 3), 0.95, simultaneous=every) for every in (False, True))
    assert (together.within[0].high > each.within[0].high).all()
    assert (together.marginals[1].low < each.marginals[1].low).all()


def test_crossing_of_no_reports_is_unknown() -> None:
    mechanism = SubsetSelection.calibrate(6, 1.0)
    crossing = crossed(mechanism, Tally.zero(mechanism), (2, 3), 0.95)
    sums = crossing.marginals[1]
    assert np.isnan(sums.frequency).all()
    assert (sums.low.tolist(), sums.high.tolist()) == ([0.0] * 3, [1.0] * 3)
    assert all(np.isnan(numbers).all() for ratios in crossing.within for numbers in ratios)
