"""Windows of a set: known variances, the best window at each epsilon, and bad parameters."""

import math

import pytest

from dither_shared import ParameterError, SetResponse
from dither_shared.mechanism import MAX_COUNTERS


def crossing(window: int) -> float:
    """Return the epsilon above which a window of s + 1 is better: √((s+1)/s) = (e+2^(s+1)-1)/(e+2^s-1)."""
    root = math.sqrt((window + 1) / window)
    return math.log((2 ** (window + 1) - 1 - root * (2**window - 1)) / (root - 1))


@pytest.mark.parametrize(("window", "epsilon"), [(1, 1.3425), (4, 4.7921)])
def test_the_window_grows_with_epsilon_at_known_crossings(window: int, epsilon: float) -> None:
    assert crossing(window) == pytest.approx(epsilon, abs=5e-5)
    below, above = (SetResponse.calibrate(1024, crossing(window) + side) for side in (-1e-6, 1e-6))
    assert (below.window, above.window) == (window, window + 1)
    wider = SetResponse.calibrate(1024, crossing(window), window=window + 1)
    assert wider.risk == pytest.approx(SetResponse.calibrate(1024, crossing(window), window=window).risk, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((8, 1.0, None, 9), "window: 9 is out of range; it must lie between 1 and 8"),
        ((1024, 1.0, None, 15), "window: 15 is out of range; it must lie between 1 and 14"),
        ((1, 1.0, None, 1), "size: 1 is out of range"),
        ((None, 1.0, None, 1), "size: this mechanism needs a list of answers"),
        ((8, 1.0, 0.5, 1), "permanent_epsilon: 0.5 must exceed epsilon = 1"),
    ],
)
def test_impossible_windows_are_refused(arguments: tuple[int | None, float, float | None, int], complaint: str) -> None:
    size, epsilon, permanent, window = arguments
    with pytest.raises(ParameterError) as caught:
        SetResponse.calibrate(size, epsilon, permanent, window=window)
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize("size", [2, 1024, 1 << 20])
def test_the_widest_window_has_a_tally_that_is_not_too_large(size: int) -> None:
    mechanism = SetResponse.calibrate(size, 25.0)
    assert mechanism.cohorts * mechanism.cells <= MAX_COUNTERS
    assert mechanism.window == min(size, 16, (MAX_COUNTERS // size).bit_length() - 1)


def test_a_window_begins_at_its_cohort_and_wraps_around() -> None:
    assert SetResponse.calibrate(8, 1.0, window=3).seen(7) == (7, 0, 1)


@pytest.mark.parametrize("item", [-1, 8, b"a"])
def test_item_outside_the_sets_of_its_values_is_refused(item: int | bytes) -> None:
    with pytest.raises(ParameterError, match="item: not a set of indices of a domain of 3"):
        SetResponse.calibrate(3, 1.0).marked(item)
