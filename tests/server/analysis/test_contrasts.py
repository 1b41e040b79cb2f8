"""Contrasts over time: what they leave out, and their worst variance against crowds that bring it about."""

import numpy as np
import pytest

from dither_server.analysis.trend import contrasts, together, worst_variance


@pytest.mark.parametrize("steps", [2, 3, 10])
def test_contrasts_ignore_the_level_and_the_first_is_the_slope(steps: int) -> None:
    rng = np.random.default_rng(1)
    when, reports = np.sort(rng.uniform(0, 100, steps)), rng.uniform(1, 100, steps)
    weights = contrasts(when, reports)
    assert weights.shape == (1 if steps == 2 else steps + 1, steps)
    assert weights.sum(axis=1) == pytest.approx(0, abs=1e-12)
    assert weights[0] @ (3 + 0.25 * when) == pytest.approx(0.25)
    fitted = np.polyfit(when, np.arange(steps) ** 2.0, 1, w=np.sqrt(reports))[0]
    assert weights[0] @ np.arange(steps) ** 2.0 == pytest.approx(fitted)
    for place, row in enumerate(weights[1:]):
        others = np.delete(np.arange(steps), place)
        assert row[place] == 1
        assert row[others] == pytest.approx(-reports[others] / reports[others].sum())


def test_the_worst_variance_is_that_of_a_crowd_that_comes_when_weights_are_positive() -> None:
    weights = np.array([[0.5, -1.0, 0.5]])
    one, noise = 0.04, 0.01
    columns = np.full((3, 1), one + noise), np.full((3, 1), one)
    together_ = (0.5 + 0.5) ** 2 * one + one  # the first and the third are the same people, the second are others
    expected = together_ + noise * (0.25 + 1 + 0.25)
    assert worst_variance(weights, *columns) == pytest.approx(np.array([[expected]]))
    alone = worst_variance(weights, columns[0], 0 * columns[1])
    assert alone == pytest.approx(weights**2 @ columns[0])


def test_half_of_the_error_is_for_the_slope_and_half_for_all_steps() -> None:
    assert together(np.array([[0.01, 0.4], [0.5, 0.001], [0.6, 0.9]])) == pytest.approx([0.02, 0.004])
    assert together(np.array([[0.03]])) == pytest.approx([0.03])
    assert together(np.array([[0.9], [0.9], [0.9]])) == pytest.approx([1.0])
    p_values = np.random.default_rng(2).uniform(size=(5, 20_000))
    assert (together(p_values) < 0.05).mean() <= 0.05 + 6 * np.sqrt(0.05 * 0.95 / 20_000)
