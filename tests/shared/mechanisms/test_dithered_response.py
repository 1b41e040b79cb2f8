"""Dithered response: known variances, the chosen number of steps, refused parameters."""

import math
from fractions import Fraction

import pytest

from dither_shared import ParameterError
from dither_shared.mechanisms.dithered_response import MAX_STEPS, DitheredResponse

# ε, then on a range of 2: the least worst-case variance over m, the least average one, and both of the usual m,
# d being large.
TABLE = [
    (0.25, 64.00, 64.00, 64.00, 64.00),
    (1.0, 4.016, 4.016, 5.03, 4.15),
    (2.0, 1.013, 0.778, 1.23, 0.858),
    (4.0, 0.156, 0.107, 0.230, 0.132),
    (8.0, 0.0084, 0.0053, 0.0255, 0.013),
]


def calibrated(epsilon: float, **parameters: float | str) -> DitheredResponse:
    return DitheredResponse.configure(None, {"epsilon": epsilon, **parameters})


def of_fine_phase(mechanism: DitheredResponse, variance: Fraction) -> float:
    """Return the limit of a variance on a range of 2 for many phases."""
    return 4 * float(variance + Fraction(1, 12 * mechanism.cohorts**2 * mechanism.steps**2))


@pytest.mark.parametrize(("epsilon", "worst", "average", "usual_worst", "usual_average"), TABLE)
def test_dithered_response_variances_equal_the_table(
    epsilon: float, worst: float, average: float, usual_worst: float, usual_average: float
) -> None:
    def digits(expected: float) -> float:
        return 0.51 * 10.0 ** -len(f"{expected:g}".split(".")[1]) if expected % 1 else 0.0051

    best, usual = calibrated(epsilon, **{"for": "mean"}), calibrated(epsilon)
    assert of_fine_phase(best, best.worst_mean_variance) == pytest.approx(worst, abs=digits(worst))
    assert of_fine_phase(usual, usual.worst_mean_variance) == pytest.approx(usual_worst, abs=digits(usual_worst))
    assert of_fine_phase(usual, usual.average_mean_variance) == pytest.approx(usual_average, abs=digits(usual_average))
    every = [calibrated(epsilon, steps=m) for m in range(1, 2 * best.steps + 3)]
    assert best.worst_mean_variance == min(mechanism.worst_mean_variance for mechanism in every)
    least = min((mechanism for mechanism in every), key=lambda mechanism: mechanism.average_mean_variance)
    assert of_fine_phase(least, least.average_mean_variance) == pytest.approx(average, abs=digits(average))


def test_dithered_response_chooses_the_stated_steps_for_each_epsilon() -> None:
    epsilons = [0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 6]
    assert [calibrated(epsilon).steps for epsilon in epsilons] == [1, 1, 2, 2, 3, 4, 7, 12, 20]
    assert calibrated(25.0).steps == MAX_STEPS


def test_third_value_is_known_from_two_steps_on() -> None:
    assert [calibrated(1.0, steps=steps).two_level.aside for steps in (1, 2, 3)] == [None, 0, 0]


def test_dithered_response_reports_the_cell_of_the_point_in_its_phase() -> None:
    mechanism = calibrated(1.0, steps=2, resolution=4)
    assert [[mechanism.marked(v, c)[0] for v in range(9)] for c in range(4)] == [
        [0, 0, 0, 0, 1, 1, 1, 1, 2],
        [0, 0, 0, 1, 1, 1, 1, 2, 2],
        [0, 0, 1, 1, 1, 1, 2, 2, 2],
        [0, 1, 1, 1, 1, 2, 2, 2, 2],
    ]
    for wrong in (-1, 9):
        with pytest.raises(ParameterError, match="item: "):
            mechanism.marked(wrong)


@pytest.mark.parametrize(
    ("parameters", "place"),
    [
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": 1.0, "steps": 2.0}, "steps"),
        ({"epsilon": 1.0, "resolution": "64"}, "resolution"),
        ({"epsilon": 1.0, "for": 1}, "for"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters: dict[str, float | str], place: str) -> None:
    with pytest.raises(ParameterError) as raised:
        DitheredResponse.configure(None, parameters)
    assert raised.value.place == place


def test_size_that_does_not_fit_the_steps_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"size: .* its grid follows"):
        DitheredResponse.configure(129, {"epsilon": 1.0})
    with pytest.raises(ParameterError, match="size: 128 points"):
        DitheredResponse(size=128, steps=2, truth=Fraction(3, 4))
    with pytest.raises(ParameterError, match="resolution: 300"):
        DitheredResponse(size=601, steps=2, truth=Fraction(3, 4))
    with pytest.raises(ParameterError, match="truth: "):
        DitheredResponse(size=129, steps=2, truth=Fraction(1, 3))


def test_steps_for_the_mean_are_found_at_the_largest_epsilon() -> None:
    best = calibrated(25.0, **{"for": "mean"})
    assert best.steps == MAX_STEPS
    assert best.worst_mean_variance < calibrated(25.0, steps=MAX_STEPS - 1).worst_mean_variance
