"""Composition: held to enumeration of all signs, the binomial formula in 60 digits, and known values."""

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product

import pytest
from scipy import stats

from contract.cases import each
from dither_server.analysis.composition import (
    LEAST_EPSILON,
    Part,
    _binomial,
    _least,
    _Loss,
    _root_above,
    _sum,
    advanced,
    optimal,
    rounded_up,
)
from dither_shared import ParameterError
from dither_shared.primitives.probability import log_above

MILLIONTH = Fraction("1e-6")
DIGITS = Context(prec=60, Emin=-(10**9), Emax=10**9)


def part(epsilon: str, reports: int) -> Part:
    return Part(Fraction(epsilon), reports)


def odds(exponent: Fraction) -> Decimal:
    return DIGITS.exp(DIGITS.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))


def decimal(value: float | Fraction) -> Decimal:
    exact = Fraction(value)
    return DIGITS.divide(Decimal(exact.numerator), Decimal(exact.denominator))


def delta_by_enumeration(losses: Sequence[Fraction], epsilon: Fraction) -> Decimal:
    """Σ over all signs of [P - e^ε Q]_+, for one randomized response each, to 60 digits."""
    context, excess, factor = DIGITS, Decimal(0), odds(epsilon)
    ratios = [odds(loss) for loss in losses]
    for signs in product((True, False), repeat=len(losses)):
        likely = flipped = Decimal(1)
        for ratio, sign in zip(ratios, signs, strict=True):
            if sign:
                likely = context.multiply(likely, ratio)
            else:
                flipped = context.multiply(flipped, ratio)
        excess = context.add(excess, max(Decimal(0), context.subtract(likely, context.multiply(factor, flipped))))
    for ratio in ratios:
        excess = context.divide(excess, context.add(1, ratio))
    return excess


def delta_by_formula(loss: Fraction, reports: int, epsilon: Fraction) -> Decimal:
    """δ(ε) = Σ_l C(k, l) [e^((k-l) loss) - e^(ε + l loss)]_+ / (1 + e^loss)^k (Kairouz, Oh and Viswanath 2015)."""
    context, ratio = DIGITS, odds(loss)
    chance = context.power(context.divide(ratio, context.add(1, ratio)), reports)
    excess, gone = Decimal(0), odds(epsilon - reports * loss)
    for lies in range(reports + 1):
        if (reports - 2 * lies) * loss <= epsilon:
            break
        excess = context.add(excess, context.multiply(chance, context.subtract(1, gone)))
        gone = context.multiply(gone, context.multiply(ratio, ratio))
        step = context.divide(context.multiply(chance, reports - lies), lies + 1)
        chance = context.divide(step, ratio)
    return excess


@each(lambda: product(("1e-4", "0.1", "2.5", "10"), (1, 2, 7, 10), ("0.4", "1e-6", "1e-30")))
def test_bound_of_equal_losses_is_that_of_enumerating_all_signs(case: tuple[str, int, str]) -> None:
    """The bound grants no more than δ, and a bound lower by 1e-7 of it would."""
    epsilon, reports, delta = case
    found = Fraction(optimal([part(epsilon, reports)], Fraction(delta)))
    losses = [Fraction(epsilon)] * reports
    assert 0 <= found <= reports * Fraction(epsilon) * (1 + Fraction(1, 2**50))
    assert delta_by_enumeration(losses, found) <= decimal(Fraction(delta))
    if found:
        assert delta_by_enumeration(losses, found * (1 - Fraction("1e-7"))) > decimal(Fraction(delta))


def test_unequal_losses_are_at_most_a_step_a_part_above_enumeration() -> None:
    """Without a common divisor the lattice has 65,536 points over all losses, and each part is moved by one at most."""
    parts = [Part(Fraction(loss), reports) for loss, reports in ((2.53, 1), (2.28, 2), (1.27, 3))]
    losses = [part.epsilon for part in parts for _ in range(part.reports)]
    width = sum((2 * part.epsilon * (part.reports + 1) for part in parts), Fraction(0))
    moved = len(parts) * width / (1 << 16)
    for delta in (Fraction("0.2"), MILLIONTH):
        found = Fraction(optimal(parts, delta))
        assert delta_by_enumeration(losses, found) <= decimal(delta)
        if found > 2 * moved:
            assert delta_by_enumeration(losses, found - moved - Fraction("1e-7")) > decimal(delta)


@pytest.mark.parametrize(
    ("epsilon", "reports", "delta"), [("1", 365, "1e-6"), ("1", 1_000, "1e-6"), ("0.01", 10_000, "1e-9")]
)
def test_composition_of_many_equal_reports_matches_the_binomial_formula(epsilon: str, reports: int, delta: str) -> None:
    """At these numbers the tails of the binomial law are left out."""
    found = Fraction(optimal([part(epsilon, reports)], Fraction(delta)))
    assert delta_by_formula(Fraction(epsilon), reports, found) <= decimal(Fraction(delta))
    assert delta_by_formula(Fraction(epsilon), reports, found - Fraction("1e-6")) > decimal(Fraction(delta))


def test_equal_parts_are_merged_and_parts_without_loss_are_dropped() -> None:
    whole = optimal([part("0.7", 30)], MILLIONTH)
    assert optimal([part("0.7", 12), part("0.7", 18), part("0", 5)], MILLIONTH) == whole
    assert optimal([], MILLIONTH) == optimal([part("0", 9)], MILLIONTH) == 0


def test_composition_of_a_billion_reports_and_twenty_parts_is_computed() -> None:
    """Where a binomial law has more points than the lattice, it is moved onto it."""
    assert 0.4621e9 < optimal([part("1", 10**9)], MILLIONTH) < 0.4623e9  # the mean loss is 1e9 · tanh(1/2)
    parts = [Part(Fraction(0.1 + 0.0837 * number), 1 + 97 * number) for number in range(20)]
    mean = sum(one.reports * float(one.epsilon) * math.tanh(float(one.epsilon) / 2) for one in parts)
    assert mean < optimal(parts, MILLIONTH) < 0.9 * float(sum(one.total for one in parts))


def test_more_delta_means_less_epsilon_and_none_means_the_sum() -> None:
    parts = [part("1", 40), Part(Fraction(0.3), 40)]
    losses = [optimal(parts, Fraction(delta)) for delta in ("0", "1e-12", "0.5", "0.9999999")]
    assert losses == sorted(losses, reverse=True)
    assert Fraction(losses[0]) >= 40 + 40 * Fraction(0.3)
    assert losses[0] == pytest.approx(52)
    assert losses[-1] == 0


@pytest.mark.parametrize("digits", [1, 2, 4, 8])
@pytest.mark.parametrize(("ratio", "reports"), [(Fraction(3), 1), (Fraction(3), 40), (Fraction(11, 10), 300)])
def test_rounded_losses_never_have_a_lighter_upper_tail(ratio: Fraction, reports: int, digits: int) -> None:
    """With few digits much of both tails is left out: above it counts as infinite, below as the least that is kept."""
    loss = log_above(ratio)
    found = _binomial(loss, reports, digits)
    assert found.step == 2 * loss
    chance = Fraction(1)
    for lies in range(reports, -1, -1):
        place = (found.top - (reports - 2 * lies) * loss) / found.step
        bound = Fraction(found.beyond + sum(found.masses[: max(0, int(place) + 1)]), 10**digits)
        assert bound >= chance  # of at most ``lies`` lies
        assert bound <= chance + Fraction(4 + reports * 2, 10**digits)
        chance -= math.comb(reports, lies) * ratio ** (reports - lies) / (1 + ratio) ** reports
    assert chance == 0


@pytest.mark.parametrize(("epsilon", "reports"), [("0.001", 10**6), ("0.5", 10**8)])
def test_truncated_tails_of_losses_are_accounted_for(epsilon: str, reports: int) -> None:
    """The bound is a number of losses times the greatest that any of them can be, and so far above the truth."""
    loss, digits = Fraction(epsilon), 8
    found = _binomial(loss, reports, digits)
    lies = stats.binom(reports, 1 / (1 + math.exp(loss)))
    least = int((reports * loss - found.top) / found.step)
    most = least + len(found.masses) - 1
    greatest = Fraction(10**digits, 10) * Fraction(lies.pmf(least + len(found.masses) // 2))
    assert 10**digits * lies.cdf(least) < found.masses[0] + found.beyond
    assert 10**digits * lies.sf(most - 1) < found.masses[-1]
    assert found.beyond == pytest.approx(least * float(greatest) / 10**digits, rel=0.05)
    assert found.masses[-1] - found.masses[-2] == pytest.approx(
        (reports - most) * float(greatest) / 10**digits, rel=0.05
    )


def test_infinite_losses_add_up_and_are_taken_from_delta() -> None:
    first = _Loss(Fraction(3), Fraction(1), [2000, 3000, 4500], 500)
    second = _Loss(Fraction(1), Fraction(1), [5000, 4900], 100)
    both = _sum(first, second, 4)
    assert both == _Loss(Fraction(4), Fraction(1), [1000, 2480, 3720, 2205], 600)
    finite = _Loss(both.top, both.step, both.masses, 0)
    least = 3 + log_above(Fraction(1000 + 2480 - 2400, 2480 + 367))  # 1000/e, rounded down, is 367
    assert _least(both, Fraction("0.3"), 4) == _least(finite, Fraction("0.24"), 4) == least


def test_sums_of_masses_are_rounded_up() -> None:
    thirds = _Loss(Fraction(0), Fraction(1), [3333, 3334, 3333], 0)
    assert _sum(thirds, thirds, 4).masses == [1111, 2223, 3334, 2223, 1111]


@pytest.mark.parametrize("delta", ["1e-31", "1", "-0.1", "2"])
def test_impossible_delta_is_refused(delta: str) -> None:
    with pytest.raises(ParameterError, match=r"delta: .* is neither 0 nor from 1e-30 to below 1"):
        optimal([part("1", 3)], Fraction(delta))


def test_advanced_composition_of_unequal_losses_is_rounded_up_and_no_less_than_the_optimum() -> None:
    parts, delta = [Part(Fraction("0.1"), 100), Part(Fraction("0.25"), 40)], Fraction("1e-9")
    formula = math.sqrt(2 * math.log(1e9) * (100 * 0.01 + 40 * 0.0625)) + 10 * math.expm1(0.1) + 10 * math.expm1(0.25)
    assert advanced(parts, delta) == pytest.approx(formula, rel=1e-12)
    assert advanced(parts, delta) > optimal(parts, delta)
    assert advanced([], delta) == advanced([Part(Fraction(0), 9)], delta) == 0
    assert advanced([Part(Fraction(10_000))], delta) == math.inf


@pytest.mark.parametrize("delta", ["0", "1", "-1"])
def test_advanced_composition_requires_a_delta(delta: str) -> None:
    with pytest.raises(ParameterError, match="delta"):
        advanced([Part(Fraction(1))], Fraction(delta))


def test_total_epsilon_of_a_part_is_reports_times_epsilon() -> None:
    part = Part(Fraction("0.1"), 365, Fraction("1e-9"))
    assert part.total == Fraction("36.5")
    assert part.total_delta == Fraction("3.65e-7")
    assert Part(Fraction(3)) == Part(Fraction(3), 1, Fraction(0))


@pytest.mark.parametrize("square", [Fraction(0), Fraction(2), Fraction(1, 3), Fraction(10**9 + 1)])
def test_square_root_is_rounded_up_by_less_than_60_digits_show(square: Fraction) -> None:
    root, digit = _root_above(square), Fraction(1, 10**60)
    assert root**2 >= square >= (root - digit) ** 2 * (square > 0)


def test_a_group_multiplies_epsilon_and_lets_delta_grow() -> None:
    """δ · (1 + e^ε + e^2ε) for three, and three times δ where ε is 0."""
    exact = 1 + math.e + math.e**2
    three = Part(Fraction(1), 7, Fraction("1e-9")).of_group(3)
    assert three.epsilon == 3
    assert three.reports == 7
    assert float(three.delta) == pytest.approx(1e-9 * exact, rel=1e-14)
    assert Part(Fraction(0), 1, Fraction("1e-9")).of_group(3) == Part(Fraction(0), 1, Fraction("3e-9"))
    assert Part(Fraction(2), 5).of_group(3) == Part(Fraction(6), 5)
    assert Part(LEAST_EPSILON, 1, Fraction("1e-9")).of_group(2).delta >= Fraction("2e-9")
    part = Part(Fraction(1), 7, Fraction("1e-9"))
    assert part.of_group(1).delta == pytest.approx(part.delta)
    assert part.of_group(1).delta >= part.delta


@pytest.mark.parametrize(
    ("epsilon", "reports", "delta", "named"),
    [
        ("-1", 1, "0", "epsilon: -1 is not from 1e-30 to 10,000"),
        ("0.9999e-30", 1, "0", "epsilon"),
        ("10001", 1, "0", "epsilon"),
        ("1", 0, "0", "reports: 0 is not from 1 to 1,000,000,000"),
        ("1", 10**9 + 1, "0", "reports"),
        ("1", 1, "1", "delta"),
        ("1", 1, "-0.1", "delta"),
    ],
)
def test_impossible_parts_are_refused(epsilon: str, reports: int, delta: str, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        Part(Fraction(epsilon), reports, Fraction(delta))


def test_parts_and_delta_at_their_limits_are_accepted() -> None:
    for epsilon, reports, delta in (("1e-30", 1, "0"), ("10000", 10**9, "0"), ("0", 1, "0.999999")):
        Part(Fraction(epsilon), reports, Fraction(delta))
    part = Part(Fraction(1))
    assert optimal([part], Fraction("1e-30")) == 1.0
    for delta in ("0.9999e-30", "1"):
        with pytest.raises(ParameterError, match="delta"):
            optimal([part], Fraction(delta))


def test_impossible_groups_are_refused() -> None:
    with pytest.raises(ParameterError, match="people: 0"):
        Part(Fraction(1)).of_group(0)
    with pytest.raises(ParameterError, match="epsilon: 20000"):
        Part(Fraction(1), 1, Fraction("1e-9")).of_group(20_000)
    with pytest.raises(ParameterError, match=r"delta: .* promises nothing"):
        Part(Fraction(1), 1, Fraction("1e-9")).of_group(30)


def test_numbers_are_shown_rounded_up() -> None:
    shown = {0.0: "0", 0.1: "0.1", 29.987801: "29.9879", 1234567.0: "1.23457e+6", 1.0000001e-6: "1.00001e-6"}
    assert {number: rounded_up(number, 6) for number in shown} == shown
