"""Crossings: shares within answers, their coverage, and what is too few to be told."""

import numpy as np
import pytest

from dither_server.estimation.sums import crossed, groups_of
from dither_server.tally.tally import Tally
from dither_shared import SubsetSelection
from dither_shared.mechanisms.auto import choose
from server.estimation.test_sums import drawn


def test_groups_follow_the_order_of_the_cells() -> None:
    first, second = groups_of((2, 3))
    assert (first.tolist(), second.tolist()) == ([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2])


@pytest.mark.parametrize(("shape", "epsilon", "reports"), [((2, 5), 1.0, 20_000), ((2, 2), 4.0, 2_000)])
def test_shares_within_answers_are_covered_as_they_say(shape: tuple[int, int], epsilon: float, reports: int) -> None:
    """All of both directions, 250 surveys: 8 shares or more; the mean beyond 93.3 or 96.7% by chance below 1e-6.

    (Cells of one survey hang together: counted as two of them by themselves.)
    """
    rng, mechanism = np.random.default_rng(17), choose(shape[0] * shape[1], epsilon)
    shares = rng.dirichlet(np.full(shape[0] * shape[1], 3.0))
    table = shares.reshape(shape)
    true = (table / table.sum(axis=1, keepdims=True)).ravel(), (table / table.sum(axis=0, keepdims=True)).ravel()
    held = known = 0
    for _ in range(250):
        found = crossed(mechanism, drawn(mechanism, reports, rng, shares), shape, 0.95)
        for one, share in zip(found.within, true, strict=True):
            seen = np.isfinite(one.low)
            known += seen.sum()
            held += ((one.low <= share) & (share <= one.high) & seen).sum()
    assert known > 250 * len(shares) * 1.9
    assert 0.933 < held / known < 0.967


def test_shares_are_ratios_of_the_cells_to_the_marginals() -> None:
    mechanism = choose(6, 2.0)
    tally = drawn(mechanism, 50_000, np.random.default_rng(2), np.array([0.3, 0.1, 0.1, 0.2, 0.2, 0.1]))
    found = crossed(mechanism, tally, (2, 3), 0.95)
    first, second = (sums.frequency for sums in found.marginals)
    assert first.sum() == pytest.approx(1)
    for ratios, whole, group in zip(found.within, (first, second), groups_of((2, 3)), strict=True):
        assert np.bincount(group, ratios.ratio) == pytest.approx(1), "of all who have an answer"
        assert ratios.ratio * whole[group] == pytest.approx(found.within[0].ratio * first[groups_of((2, 3))[0]])


def test_where_few_have_an_answer_nothing_is_told_of_them() -> None:
    mechanism, rng = choose(4, 1.0), np.random.default_rng(4)
    tally = drawn(mechanism, 1_500, rng, np.array([0.5, 0.0, 0.5, 0.0]))
    found = crossed(mechanism, tally, (2, 2), 0.95)
    none = np.isnan(found.within[1].ratio)
    assert none.tolist() == [False, True, False, True]
    assert np.isnan(found.within[1].low[none]).all()
    assert not np.isnan(found.within[0].ratio).any()
    few = crossed(mechanism, drawn(mechanism, 999, rng, np.array([0.5, 0.0, 0.5, 0.0])), (2, 2), 0.95)
    assert np.isnan(few.within[0].ratio).all()
    assert not np.isnan(few.marginals[0].frequency).any()


def test_simultaneous_intervals_of_crossings_are_wider() -> None:
    mechanism = choose(6, 2.0)
    tally = drawn(mechanism, 50_000, np.random.default_rng(2), np.ones(6))
    each, together = (crossed(mechanism, tally, (2, 3), 0.95, simultaneous=every) for every in (False, True))
    assert (together.within[0].high > each.within[0].high).all()
    assert (together.marginals[1].low < each.marginals[1].low).all()


def test_crossing_of_no_reports_is_unknown() -> None:
    mechanism = SubsetSelection.calibrate(6, 1.0)
    found = crossed(mechanism, Tally.zero(mechanism), (2, 3), 0.95)
    assert all(np.isnan(numbers).all() for ratios in found.within for numbers in ratios)
