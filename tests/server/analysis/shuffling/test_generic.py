"""The bound for any mechanism; held to mechanisms themselves in tests/server/analysis/shuffling/test_blanket.py."""

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from scipy.stats import binom

from dither_server.analysis.shuffling.blanket import StepLaw
from dither_server.analysis.shuffling.generic import clone_blocks, generic_delta, generic_epsilon, least_epsilon
from dither_shared import ParameterError


def tokens(odds: Fraction, reports: int, bar: Fraction) -> Fraction:
    """Return E δ_C by its definition, from two laws of how many of C + 1 tokens are of the first kind."""
    first = odds / (odds + 1)
    total = none = Fraction(0)
    for clones in range(reports):
        mass = math.comb(reports - 1, clones) * (1 / odds) ** clones * (1 - 1 / odds) ** (reports - 1 - clones)
        fair = [Fraction(math.comb(clones, ones), 2**clones) for ones in range(clones + 1)]
        one, two = (
            [share * before + (1 - share) * here for before, here in zip([none, *fair], [*fair, none], strict=True)]
            for share in (first, 1 - first)
        )
        total += mass * sum(max(none, p - bar * q) for p, q in zip(one, two, strict=True))
    return total


@pytest.mark.parametrize("reports", [1, 2, 3, 25])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 8.0])
def test_the_bound_is_that_of_the_tokens_and_never_below(reports: int, epsilon: float) -> None:
    for part in (0.0, 0.03, 0.3, 0.9):
        truth = tokens(Fraction(math.exp(epsilon)), reports, Fraction(math.exp(part * epsilon)))
        computed = generic_delta(epsilon, reports, part * epsilon)
        assert truth <= computed <= float(truth) * (1 + 3e-6) + 1e-20


@pytest.mark.parametrize(("others", "epsilon"), [(5, 1.0), (300, 2.0), (2000, 6.0)])
@pytest.mark.parametrize("fine", [4e-4, 0.02, 0.3])
def test_the_law_of_blocks_is_nowhere_above_that_of_the_clones(others: int, epsilon: float, fine: float) -> None:
    """Their distribution function, which jumps at the least count of each, is not below the binomial one."""
    share = math.exp(-epsilon)
    blocks = sorted(clone_blocks(others, epsilon, fine))
    counts = range(others + 1)
    logs = [math.lgamma(others + 1) - math.lgamma(k + 1) - math.lgamma(others - k + 1) for k in counts]
    law = [math.exp(log + k * math.log(share) + (others - k) * math.log1p(-share)) for k, log in enumerate(logs)]
    below = [0.0, *accumulate(law)]
    blocked = 0.0
    for least, mass in blocks:
        assert blocked >= below[least] - 1e-11
        blocked += mass
    assert blocked == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("reports", [1, 2, 1000, 10**10])
@pytest.mark.parametrize("epsilon", [0.1, 8.0, 25.0])
def test_every_batch_size_has_a_generic_bound(reports: int, epsilon: float) -> None:
    assert generic_delta(epsilon, reports, epsilon) == 0
    computed = [generic_epsilon(epsilon, reports, delta) for delta in (1e-12, 1e-6, 1e-3)]
    assert epsilon >= computed[0] >= computed[1] >= computed[2] >= 0
    for after, delta in zip(computed, (1e-12, 1e-6, 1e-3), strict=True):
        assert after == epsilon or generic_delta(epsilon, reports, after) <= delta


@pytest.mark.parametrize("power", [-1, -5, -9])
def test_search_for_epsilon_takes_few_steps_wherever_it_begins(power: int) -> None:
    for guess in (1e-12, 10.0**power, 0.9):
        tried: list[float] = []

        def delta_of(epsilon: float, tried: list[float] = tried) -> float:
            tried.append(epsilon)
            return math.exp(-20 * epsilon / 10.0**power)

        computed = least_epsilon(delta_of, 1.0, math.exp(-20), guess)
        assert 10.0**power <= computed <= 10.0**power * (1 + 2e-5)
        assert computed in tried
        assert len(tried) < 70


@pytest.mark.parametrize(
    ("epsilon", "reports", "delta", "place"),
    [
        (0.0, 10, 1e-6, "epsilon"),
        (math.inf, 10, 1e-6, "epsilon"),
        (1.0, 0, 1e-6, "reports"),
        (1.0, 10**11, 1e-6, "reports"),
        *((1.0, 10, delta, "delta") for delta in (0.0, 1.0, math.nan)),
    ],
)
def test_generic_bound_of_impossible_numbers_is_refused(epsilon: float, reports: int, delta: float, place: str) -> None:
    with pytest.raises(ParameterError, match=place):
        generic_epsilon(epsilon, reports, delta)


@pytest.mark.parametrize("count", [1, 100, 10**6])
@pytest.mark.parametrize("far", [0.0, 5.0])
def test_a_sum_of_coins_is_binomial_far_out_in_its_tail(count: int, far: float) -> None:
    steps = StepLaw(np.array([0.0, 1.0]), np.array([0.7, 0.3]))
    centre = min(0.95, 0.3 + far * math.sqrt(0.21 / count))
    computed = steps.sum_of(count, steps.tilt_to(centre))
    place = round(centre * count)
    mass = computed.masses[computed.places == place][0]
    known = binom.logpmf(place, count, 0.3)
    assert computed.log_scale - computed.tilt * place + math.log(mass) == pytest.approx(known, abs=1e-7)
    assert computed.masses.sum() == pytest.approx(1, abs=1e-6)


def test_stated_rounding_error_covers_a_billion_steps() -> None:
    """Steps of ±1 have but even sums, so every odd one is an error; a float's phase turns a billion times there."""
    steps = StepLaw(np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
    computed = steps.sum_of(10**9, 0.0)
    odd = computed.masses[computed.places % 2 == 1]
    assert len(odd) > 10**5
    assert odd.max() <= computed.wrong < 1e-3 * computed.masses.max()


def test_tilted_law_has_the_requested_mean() -> None:
    steps = StepLaw(np.array([-3.0, 0.0, 2.0]), np.array([0.5, 0.4, 0.1]))
    for mean in (-2.5, -1.3, 0.0, 1.9):
        assert steps.moments(steps.tilt_to(mean))[0] == pytest.approx(mean, abs=1e-6)
