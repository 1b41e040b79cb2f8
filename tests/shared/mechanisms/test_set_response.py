"""Windows of a set: known variances, the best window at each epsilon, windows that go round, and bad parameters."""

import math
from fractions import Fraction
from itertools import combinations

import pytest

from dither_shared import KeyedEntropy, ParameterError, SetResponse
from dither_shared.mechanism import MAX_COUNTERS


def crossing(window: int) -> float:
    """Return the epsilon from which a window of one more tells more: √((s+1)/s) = (e+2^(s+1)-1)/(e+2^s-1)."""
    root = math.sqrt((window + 1) / window)
    return math.log((2 ** (window + 1) - 1 - root * (2**window - 1)) / (root - 1))


@pytest.mark.parametrize(("window", "epsilon"), [(1, 1.3425), (2, 2.6945), (3, 3.8003), (4, 4.7921)])
def test_the_window_grows_with_epsilon_at_known_crossings(window: int, epsilon: float) -> None:
    assert crossing(window) == pytest.approx(epsilon, abs=5e-5)
    below, above = (SetResponse.calibrate(1024, crossing(window) + side) for side in (-1e-6, 1e-6))
    assert (below.window, above.window) == (window, window + 1)
    wider = SetResponse.calibrate(1024, crossing(window), window=window + 1)
    assert wider.risk == pytest.approx(SetResponse.calibrate(1024, crossing(window), window=window).risk, rel=1e-9)


@pytest.mark.parametrize(
    ("size", "epsilon", "published"), [(8, 1.0, 9.12), (8, 2.0, 2.39), (16, 1.0, 18.5), (16, 4.0, 1.44)]
)
def test_a_value_of_half_of_the_users_scatters_as_the_formula_says(size: int, epsilon: float, published: float) -> None:
    mechanism = SetResponse.calibrate(size, epsilon)
    s, odds = mechanism.window, math.exp(epsilon)
    m = (odds - 1) / (odds + 2**s - 1)
    assert float(mechanism.p - mechanism.q) == pytest.approx(m, rel=1e-12)
    assert mechanism.variance(0.5) == pytest.approx(((size / s) / m**2 - 1) / 4, rel=1e-6)
    assert mechanism.variance(0.5) == pytest.approx(published, rel=3e-3)
    assert mechanism.risk == size * mechanism.variance(0.5)
    assert mechanism.variance(0.5) == max(mechanism.variance(place / 100) for place in range(101))


@pytest.mark.parametrize(("size", "window"), [(2, 1), (2, 2), (5, 3), (8, 8), (1024, 5)])
def test_windows_go_round_and_hold_each_value_equally_often(size: int, window: int) -> None:
    mechanism = SetResponse.calibrate(size, 1.0, window=window)
    assert mechanism.seen(size - 1) == tuple((size - 1 + place) % size for place in range(window))
    held = [value for cohort in range(mechanism.cohorts) for value in mechanism.seen(cohort)]
    assert {value: held.count(value) for value in range(size)} == dict.fromkeys(range(size), window)
    for cohort in (0, 1, size - 1):
        for item in (0, 1, 1 << size - 1, (1 << size) - 1, 0b1011 % (1 << size)):
            (pattern,) = mechanism.marked(item, cohort)
            assert [pattern >> place & 1 for place in range(window)] == [
                item >> value & 1 for value in mechanism.seen(cohort)
            ]


def test_what_speaks_for_a_value_is_what_its_own_set_marks() -> None:
    mechanism = SetResponse.calibrate(5, 1.0, window=3)
    for value in range(5):
        for cohort in range(5):
            seen = value in mechanism.seen(cohort)
            supporting = mechanism.supporting(value, cohort)
            assert len(supporting) == (4 if seen else 0)
            for item in range(1 << 5):
                marks_it = mechanism.marked(item, cohort)[0] in supporting
                assert marks_it == (seen and bool(item >> value & 1))


def test_sets_of_a_thousand_values_are_drawn() -> None:
    mechanism = SetResponse.calibrate(1024, 2.0, 3.0)
    assert (mechanism.cohorts, mechanism.cells, mechanism.row_bytes) == (1024, 4, 3)
    assert mechanism.permanent_draws == 4
    everything = (1 << 1024) - 1
    for cohort in (0, 1023):
        payload = mechanism.randomize(everything, KeyedEntropy(b"wide"), cohort, KeyedEntropy(b"ever"))
        assert payload == mechanism.randomize(everything, KeyedEntropy(b"wide"), cohort, KeyedEntropy(b"ever"))


def test_a_memoised_report_is_as_exact_as_one_that_is_not() -> None:
    once, forever = SetResponse.calibrate(8, 2.0), SetResponse.calibrate(8, 2.0, 4.0)
    assert forever.variance(0.3) == pytest.approx(once.variance(0.3), rel=1e-12)
    assert forever.permanent_epsilon == pytest.approx(4.0, abs=1e-12)
    assert once.permanent_draws is None


def test_the_pair_of_a_window_is_seen_as_often_as_the_product_of_signs_says() -> None:
    """E[y_j y_k x_j x_k] = m, too: of the patterns of a window any two bits agree in sign with the truth by p - q."""
    mechanism = SetResponse.calibrate(6, 2.0, window=4)
    truth = 0b0110
    law = mechanism.cell_law(truth, 0)
    for one, two in combinations(range(4), 2):
        agree = sum(
            (
                chance if (pattern >> one ^ pattern >> two ^ truth >> one ^ truth >> two) & 1 == 0 else -chance
                for pattern, chance in enumerate(law)
            ),
            Fraction(0),
        )
        assert agree == mechanism.p - mechanism.q


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((8, 1.0, None, 0), "window: 0 is out of range; it must lie between 1 and 8"),
        ((8, 1.0, None, 9), "window: 9 is out of range; it must lie between 1 and 8"),
        ((1024, 1.0, None, 15), "window: 15 is out of range; it must lie between 1 and 14"),
        ((1, 1.0, None, 1), "size: 1 is out of range"),
        ((None, 1.0, None, 1), "size: this mechanism needs a list of answers"),
        ((8, 1.0, 0.5, 1), "permanent_epsilon: 0.5 must exceed epsilon = 1"),
    ],
)
def test_windows_that_cannot_be(arguments: tuple[int | None, float, float | None, int], complaint: str) -> None:
    size, epsilon, permanent, window = arguments
    with pytest.raises(ParameterError) as caught:
        SetResponse.calibrate(size, epsilon, permanent, window=window)
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize("size", [2, 1024, 1 << 20])
def test_the_widest_window_has_a_tally_that_is_not_too_large(size: int) -> None:
    mechanism = SetResponse.calibrate(size, 25.0)
    assert mechanism.cohorts * mechanism.cells <= MAX_COUNTERS
    assert mechanism.window == min(size, 16, (MAX_COUNTERS // size).bit_length() - 1)


@pytest.mark.parametrize("item", [-1, 8, b"a"])
def test_what_is_no_set_of_its_values_is_refused(item: int | bytes) -> None:
    with pytest.raises(ParameterError, match="item: not a set of indices of a domain of 3"):
        SetResponse.calibrate(3, 1.0).marked(item)
