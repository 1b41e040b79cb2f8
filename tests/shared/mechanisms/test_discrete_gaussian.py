"""The discrete Gaussian mechanism: its noise, its delta, and the least noise for a given one."""

import math
from fractions import Fraction

import pytest

from dither_shared import ParameterError
from dither_shared.mechanisms.discrete_gaussian import DiscreteGaussian, gaussian_noise
from dither_shared.primitives.probability import ONE
from dither_shared.primitives.tabulated import divergence


def calibrated(epsilon: float, delta: float = 1e-6, **parameters: float) -> DiscreteGaussian:
    return DiscreteGaussian.configure(None, {"epsilon": epsilon, "delta": delta, **parameters})


@pytest.mark.parametrize("deviation", [Fraction(1, 16), Fraction(27, 10), Fraction(300)])
def test_noise_is_in_proportion_to_the_gaussian_and_symmetric(deviation: Fraction) -> None:
    noise = gaussian_noise(deviation)
    widest = len(noise) // 2
    assert sum(noise) == ONE
    assert noise == noise[::-1]
    assert min(noise) > 0
    assert noise[widest] == max(noise)
    sigma = float(deviation)
    total = math.fsum(math.exp(-(k**2) / (2 * sigma**2)) for k in range(-widest - 9, widest + 10))
    for k in {0, 1, widest // 2, widest}:
        if k <= widest:
            expected = math.exp(-(k**2) / (2 * sigma**2)) / total
            assert noise[widest + k] / ONE == pytest.approx(expected, rel=1e-12, abs=2 / ONE)
    beyond = math.exp(-((widest + 1) ** 2) / (2 * sigma**2)) / total
    assert beyond < 1.001 / ONE


def test_noise_has_the_published_variance_and_delta() -> None:
    """Canonne, Kamath and Steinke 2020: the variance is just below σ²; δ(1) for σ = 5 and sensitivity 1."""
    noise = gaussian_noise(Fraction(1))
    variance = sum(weight * (k - len(noise) // 2) ** 2 for k, weight in enumerate(noise)) / ONE
    assert variance == pytest.approx(0.999999788767728, rel=1e-14)
    noise = gaussian_noise(Fraction(5))
    delta = divergence((*noise, 0), (0, *noise), Fraction(math.e))
    assert float(delta) == pytest.approx(1.82933602487278e-8, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "sigma"), [(1.0, 4.22467888932684), (4.0, 1.19351858715799)])
def test_discrete_gaussian_noise_on_a_fine_grid_is_the_analytic_one(epsilon: float, sigma: float) -> None:
    mechanism = calibrated(epsilon)
    deviation = float(mechanism.deviation) / 64
    assert 0 < deviation - sigma < 4e-5 * sigma
    assert float(mechanism.mean_variance(0)) == pytest.approx(deviation**2, rel=1e-9)
    assert mechanism.worst_mean_variance == mechanism.average_mean_variance == mechanism.mean_variance(7)


@pytest.mark.parametrize(("epsilon", "delta", "steps"), [(1.0, 1e-6, 64), (10.0, 0.01, 1), (25.0, 1e-12, 3)])
def test_discrete_gaussian_delta_is_exact_and_its_noise_least(epsilon: float, delta: float, steps: int) -> None:
    mechanism = calibrated(epsilon, delta, resolution=steps)
    assert mechanism.epsilon == epsilon
    assert mechanism.delta <= Fraction(delta)
    noise, gap = gaussian_noise(mechanism.deviation), (0,) * steps
    assert mechanism.delta == divergence(noise + gap, gap + noise, mechanism.ratio)
    assert mechanism.ratio <= Fraction(math.exp(epsilon)) * (1 + Fraction(1, 10**15))
    less = DiscreteGaussian(
        size=steps + 1, deviation=mechanism.deviation * (1 - Fraction(1, 1 << 14)), loss=Fraction(epsilon)
    )
    assert less.delta > Fraction(delta)


def test_reports_lie_where_the_noise_puts_them() -> None:
    mechanism = calibrated(4.0, resolution=4)
    widest = len(gaussian_noise(mechanism.deviation)) // 2
    assert mechanism.cells == 4 + 2 * widest + 1
    assert mechanism.marked(3) == (3 + widest,)
    assert [float(mechanism.mean_score(widest + v)) for v in (-1, 0, 4, 5)] == [-0.25, 0, 1, 1.25]
    assert not any(mechanism.cell_law(0)[-4:])
    assert not any(mechanism.cell_law(4)[:4])


@pytest.mark.parametrize(
    ("parameters", "place"),
    [
        ({"delta": 1e-6}, "epsilon"),
        ({"epsilon": 1.0}, "delta"),
        ({"epsilon": 1.0, "delta": 1e-13}, "delta"),
        ({"epsilon": 1.0, "delta": 0.02}, "delta"),
        ({"epsilon": 1.0, "delta": math.nan}, "delta"),
        ({"epsilon": 1.0, "delta": True}, "delta"),
        ({"epsilon": 1.0, "delta": 1e-6, "resolution": 0}, "resolution"),
        ({"epsilon": 1e-3, "delta": 1e-6}, "epsilon"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters: dict[str, float | str], place: str) -> None:
    with pytest.raises(ParameterError) as raised:
        DiscreteGaussian.configure(None, parameters)
    assert raised.value.place == place


@pytest.mark.parametrize("deviation", [Fraction(0), Fraction(1, 17), Fraction(4097)])
def test_noise_too_narrow_or_too_wide_is_refused(deviation: Fraction) -> None:
    with pytest.raises(ParameterError, match=r"deviation: .* it must lie between 1/16 and 4096"):
        DiscreteGaussian(size=5, deviation=deviation, loss=Fraction(1))
