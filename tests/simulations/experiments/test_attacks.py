"""Attacks succeed as often as theory says, and never beyond its bounds."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from dither_server.tally.tally import Tally
from dither_shared import BitFlip, DiscoveryQuestion, Report, Shape
from dither_simulations.experiments.attacks.permanent_draws import Bits, Subsets, distinct, permanent_draw, same_draw
from dither_simulations.experiments.attacks.poisoning import (
    NumberPoisoning,
    SharePoisoning,
    crafted_rows,
    most_supported,
    random_rows,
)
from dither_simulations.experiments.attacks.series import SeriesAttack, majority
from dither_simulations.experiments.attacks.set_poisoning import SelectionPoisoning, StringPoisoning
from dither_simulations.mechanism_by_name import CLOSED, MEMOIZED, NUMERIC, SET_MECHANISMS, named
from dither_simulations.sweeps import Row, sweep
from simulations.lab import lab

if TYPE_CHECKING:
    from dither_simulations.choices import Attack


LISTED = tuple(name for name in CLOSED if name != "bit-flip")


attack = partial(lab, "attack")


def fits(row: Row, probability: float) -> bool:
    """Whether this number of successes is plausible for a probability: not in a tail of 1e-8 at either side."""
    law = stats.binom(row["devices"], probability)
    return bool(law.ppf(1e-8) <= row["success"] * row["devices"] <= law.isf(1e-8))


def test_the_majority_of_fresh_reports_finds_a_bit_as_often_as_the_binomial_says() -> None:
    for reports, rate in ((1, 0.7311), (7, 0.9106), (30, 0.9961)):
        assert majority(named("randomized-response", 2, 1.0), reports) == pytest.approx(rate, abs=1e-4)


def test_averaging_succeeds_as_often_as_theory_says_and_memoisation_bounds_it() -> None:
    rows = sweep(SeriesAttack("averaging", ("randomized-response",), (1, 15), size=2, devices=400, repeats=2, seed=1))
    for row in rows:
        assert row["theory"] is not None
        assert fits(row, row["theory"])
        assert row["theory"] <= row["bound"] * (1 + 1e-12)
    fresh, lasting = rows[1], rows[3]
    assert lasting["success"] < 0.93 < fresh["success"]
    assert lasting["bound"] == pytest.approx(1 / (1 + np.exp(-2.0)), rel=1e-6)


def beyond(rows: Sequence[Row]) -> list[Row]:
    """Return the rates that exceed their bound by more than chance does once in 10^8."""
    most = [stats.binom.isf(1e-8, row["devices"], row["bound"]) for row in rows]
    return [row for row, most_hits in zip(rows, most, strict=True) if row["success"] * row["devices"] > most_hits]


def test_no_attack_on_a_series_exceeds_its_bound() -> None:
    closed = tuple(name for name in MEMOIZED if name in {*CLOSED, *NUMERIC, *SET_MECHANISMS})
    assert not beyond(sweep(SeriesAttack("averaging", closed, (9,), devices=40, repeats=1)))
    assert not beyond(sweep(SeriesAttack("linkage", MEMOIZED, (5,), devices=30, repeats=1)))
    assert not beyond(sweep(SeriesAttack("change", MEMOIZED, (5,), devices=30, repeats=1)))


def test_wide_permanent_rows_link_a_device_and_show_that_its_value_changed_and_fresh_rows_do_not_link() -> None:
    fresh, lasting = sweep(SeriesAttack("linkage", ("rappor",), (7,), devices=60, repeats=1, seed=2))
    assert fits(fresh, 1 / 60)
    assert fresh["bound"] == 1 / 60
    changed = [
        row for row in sweep(SeriesAttack("change", ("rappor",), (5,), devices=60, repeats=1)) if row["memoised"]
    ]
    assert all(row["success"] > 0.9 for row in (lasting, *changed))


def law_of(draw: Bits | Subsets, marks: set[int]) -> list[float]:
    """Return the probability of each draw of a value that marks these cells."""
    if isinstance(draw, Subsets):
        lists = combinations(range(draw.cells), draw.size)
        weights = [draw.ratio if marks.intersection(cells) else 1.0 for cells in lists]
        return [weight / sum(weights) for weight in weights]
    ones = [draw.high if cell in marks else draw.low for cell in range(draw.cells)]
    rows = product((False, True), repeat=draw.cells)
    return [prod(one if bit else 1 - one for bit, one in zip(row, ones, strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("draw", "first", "second"),
    [
        (Subsets(cells=3, size=1, marked=1, ratio=3.0), {0}, {1}),
        (Subsets(cells=6, size=2, marked=3, ratio=5.0), {0, 1, 2}, {2, 3, 4}),
        (Bits(cells=3, marked=1, high=0.6, low=0.2), {0}, {1}),
        (Bits(cells=3, marked=2, high=0.6, low=0.2), {0, 1}, {1, 2}),
    ],
    ids=["symbols", "lists", "bits", "bits of two"],
)
def test_permanent_draws_are_counted_as_enumeration_counts_them(
    draw: Bits | Subsets, first: set[int], second: set[int]
) -> None:
    one, other = law_of(draw, first), law_of(draw, second)
    assert draw.same(len(first & second)) == pytest.approx(sum(p * q for p, q in zip(one, other, strict=True)))
    kinds = [probability for probability, number in draw.kinds() for _ in range(round(number))]
    assert sorted(kinds) == pytest.approx(sorted(one))
    in_two = BitFlip.calibrate(2, 1.0)  # of which nothing counts but its two cohorts
    assert distinct(in_two, draw, 10) == pytest.approx(sum(2 * (1 - (1 - p / 2) ** 10) for p in one))


def test_values_that_mark_the_same_cells_share_one_draw() -> None:
    mechanism = named("set-response", 4, 1.0, 2.0)
    assert same_draw(mechanism, 0b0101, 0b0101) == 1
    assert same_draw(mechanism, 0, 1) == pytest.approx((3 + Subsets(2, 1, 1, math.e**2).same(0)) / 4)


@pytest.mark.parametrize("name", MEMOIZED)
def test_permanent_draws_of_one_value_have_the_law_that_is_assumed(name: str) -> None:
    """The ratio of its probabilities over the cells of two values is the permanent ratio of the mechanism."""
    mechanism = named(name, 8, 1.0, 2.0, at_most=3)
    draw = permanent_draw(mechanism)
    assert draw is not None
    kinds = draw.kinds()
    assert sum(chance * number for chance, number in kinds) == pytest.approx(1)
    if isinstance(draw, Bits):
        loss = draw.marked * math.log(draw.high * (1 - draw.low) / draw.low / (1 - draw.high))
        assert loss == pytest.approx(mechanism.permanent_epsilon)
        return
    high, low = (chance for chance, _ in kinds)
    assert math.log(high / low) == pytest.approx(mechanism.permanent_epsilon)
    assert mechanism.permanent_law is not None
    listed = low * math.comb(mechanism.cells - mechanism.marks - 1, (mechanism.weight or 1) - 1)
    listed += high * (math.comb(mechanism.cells - 1, (mechanism.weight or 1) - 1) - listed / low)
    assert listed == pytest.approx(float(mechanism.permanent_law[1])), "P[a cell that is not marked]"
    assert permanent_draw(named("subset-selection", 8, 1.0)) is None


@pytest.mark.parametrize("name", LISTED)
def test_forged_reports_raise_estimates_as_theory_says(name: str) -> None:
    """Nine standard errors: at 30 repeats Student's t is farther out with probability below 1e-9, in 21 tests."""
    rows = sweep(SharePoisoning((name,), (0.1,), size=24, users=600, targets=3, repeats=30, seed=4))
    for row in rows:
        assert row["gain_se"] is not None
        assert abs(row["gain"] - row["theory"]) <= 9 * row["gain_se"] + 1e-12, row["attack"]
    assert max(rows, key=lambda row: row["theory"])["attack"] == "crafted-report"


@pytest.mark.parametrize(("targets", "epsilon"), [(1, 2.0), (5, 0.3)])
@pytest.mark.parametrize("name", SET_MECHANISMS)
def test_forged_reports_raise_items_as_theory_says(name: str, targets: int, epsilon: float) -> None:
    """Nine standard errors: at 30 repeats Student's t is farther out with probability below 1e-9; and a share of 0.02.

    Estimates are of the reports that speak of an item, of which there are few at random: their number is in both.
    """
    rows = sweep(
        SelectionPoisoning(
            (name,), (0.1,), size=12, users=6_000, targets=targets, repeats=30, at_most=3, epsilon=epsilon
        )
    )
    for row in rows:
        assert row["gain_se"] is not None
        assert abs(row["gain"] - row["theory"]) <= 9 * row["gain_se"] + 0.02 * abs(row["theory"]), row["attack"]
    assert max(rows, key=lambda row: row["theory"])["attack"] == "crafted-report"


@pytest.mark.parametrize("name", LISTED)
def test_a_crafted_report_is_one_that_a_collector_takes_and_supports_as_much_as_is_said(name: str) -> None:
    mechanism, targets = named(name, 24, 1.0), (3, 5, 20)
    rng = np.random.default_rng(1)
    for forged in (crafted_rows(mechanism, targets, 9, rng), random_rows(mechanism, 9, rng)):
        assert Tally.fold(mechanism, forged).total == 9
    row = crafted_rows(mechanism, targets, 1, rng)
    report = Report.decode(row, mechanism)
    cells = set(report.cells(mechanism))
    supported = sum(bool(cells & set(mechanism.marked(target, report.cohort))) for target in targets)
    assert supported == most_supported(mechanism, targets)
    if mechanism.shape is not Shape.SYMBOL:
        honest = mechanism.weight or round(float(mechanism.a) + 23 * float(mechanism.b))
        assert len(cells) == max(honest, len(targets)), "it looks like an honest report"


def test_only_with_a_limit_is_privset_attacked() -> None:
    few = ("--type", "selection", "--repeats", "2", "--share", "0.1", "-n", "500", "--json")
    for more, attacked in (
        ((), {("set-response", 16)}),
        (("--at-most", "2", "-k", "6"), {("set-response", 6), ("privset", 6)}),
    ):
        rows = json.loads(attack("poisoning", *few, *more).stdout)
        assert {(row["mechanism"], row["size"]) for row in rows} == attacked


def test_a_hundredth_of_forged_reports_moves_a_mean_as_far_as_the_greatest_score() -> None:
    """Ten standard errors: Student's t at 30 repeats is farther out with probability below 1e-9, in two rows."""
    attacks: tuple[Attack, ...] = ("crafted-report",)
    for epsilon, shift in ((0.5, 0.025), (4, 0.0065)):
        plan = NumberPoisoning(("dithered-response",), (0.01,), attacks, epsilon=epsilon, users=10**5, repeats=30)
        (row,) = sweep(plan)
        assert row["theory"] == pytest.approx(shift, rel=0.03), epsilon
        assert row["gain_se"] is not None
        assert abs(row["gain"] - row["theory"]) < 10 * row["gain_se"] + 1e-5, epsilon


@pytest.mark.parametrize("name", ["dithered-response", "exponential"])
def test_honest_lies_and_random_reports_move_a_mean_as_theory_says(name: str) -> None:
    """Ten standard errors, likewise, in four rows; a lie moves it by its share times how far the end is away."""
    attacks: tuple[Attack, ...] = ("random-report", "crafted-input")
    rows = sweep(NumberPoisoning((name,), (0.05,), attacks, epsilon=2, users=20_000, repeats=30, seed=2))
    assert [row["theory"] for row in rows] == pytest.approx([0.0, 0.025], rel=1e-2, abs=1e-9)
    for row in rows:
        assert row["gain_se"] is not None
        assert abs(row["gain"] - row["theory"]) < 10 * row["gain_se"]


@pytest.mark.parametrize("question", [None, pytest.param(DiscoveryQuestion("a-d", 4), marks=pytest.mark.slow)])
def test_a_string_that_nobody_has_appears_where_theory_says(question: DiscoveryQuestion | None) -> None:
    """A fifth of the reports that are needed half the time never make it appear, and five times as many always do.

    The score is then four fifths of its threshold below it, or four above: 3.5 standard errors and more.
    """
    name = "projective-count-mean-sketch" if question is None else "prefix-sketch"
    plan = StringPoisoning((name,), (0.01,), size=50, epsilon=4.0, users=300_000, discover=question, repeats=1)
    for attack_ in ("crafted-input", "crafted-report"):
        (row,) = sweep(replace(plan, attacks=(attack_,)))
        assert row["needed"] is not None
        for factor, found in ((0.2, 0.0), (5.0, 1.0)):
            forged = factor * row["needed"]
            share = forged / (forged + plan.users)
            (one,) = sweep(replace(plan, attacks=(attack_,), shares=(share,)))
            assert one["success"] == found, (attack_, factor)
    (row,) = sweep(replace(plan, attacks=("random-report",), shares=(0.2,)))
    assert (row["success"], row["needed"]) == (0, None)
