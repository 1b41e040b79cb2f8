import math

import numpy as np
import pytest

from dither_simulations.choices import STEPS, Step
from dither_simulations.trials.measures import apply, divergence, intervals, recall, scores

TRUTH = np.array([0.5, 0.3, 0.2, 0.0])


def test_every_measure_of_known_errors_is_right() -> None:
    told = scores(np.array([0.4, 0.3, 0.1, 0.2]), TRUTH, top=2)
    assert told["mse"] == pytest.approx((0.01 + 0 + 0.01 + 0.04) / 4)
    assert told["l1"] == pytest.approx(0.4)
    assert told["max_error"] == pytest.approx(0.2)
    assert told["kl"] is None  # something was found where there is nothing
    assert told["recall"] == 1.0


def test_divergence_is_that_of_kullback_and_leibler() -> None:
    assert divergence(np.array([0.25, 0.75, 0.0, 0.0]), TRUTH) == pytest.approx(
        0.25 * math.log(0.5) + 0.75 * math.log(2.5)
    )
    assert divergence(TRUTH, TRUTH) == 0


@pytest.mark.parametrize("frequency", [[0.5, 0.6, -0.1, 0.0], [0.5, 0.3, 0.3, 0.0], [0.5, 0.3, 0.1, 0.1]])
def test_divergence_is_of_distributions_within_the_truths_support(frequency: list[float]) -> None:
    assert divergence(np.array(frequency), TRUTH) is None


def test_recall_counts_the_frequent_among_those_taken_for_frequent() -> None:
    assert recall(np.array([0.0, 0.9, 0.8, 0.1]), TRUTH, 2) == 0.5
    assert recall(np.array([0.0, 0.9, 0.8, 0.1]), TRUTH, 3) == pytest.approx(2 / 3)
    assert recall(np.array([0.0, 0.9, 0.8, 0.1]), TRUTH, 99) == 1.0


def test_ties_are_neither_luck_nor_order() -> None:
    # One place is sure and right; the other is taken by one of three that tie, of which one is right.
    assert recall(np.array([0.0, 0.9, 0.0, 0.0]), TRUTH, 2) == pytest.approx((1 + 1 / 3) / 2)
    # Values as frequent as the last that counts count as well.
    assert recall(np.array([0.1, 0.2, 0.9, 0.0]), np.array([0.4, 0.3, 0.3, 0.0]), 2) == 1.0


def test_intervals_are_counted_and_measured() -> None:
    told = intervals(np.zeros(4), np.full(4, 0.4), TRUTH)
    assert told["coverage"] == 0.75
    assert told["width"] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("step", "result"),
    [
        ("raw", [0.7, 0.5, -0.2, 0.1]),
        ("consistent", [0.6, 0.4, 0.0, 0.0]),
        ("shift", [0.675, 0.475, -0.225, 0.075]),
        ("clip", [0.7, 0.5, 0.0, 0.1]),
        ("rescale", [7 / 13, 5 / 13, 0.0, 1 / 13]),
    ],
)
def test_postprocessing_steps_clip_and_project(step: Step, result: list[float]) -> None:
    assert apply(step, np.array([0.7, 0.5, -0.2, 0.1])) == pytest.approx(result)


def test_rescaling_leaves_shares_that_are_all_clipped_at_zero() -> None:
    assert {
        step: float(apply(step, np.array([-0.1, -0.2])).sum()) for step in STEPS if step in {"clip", "rescale"}
    } == {
        "clip": 0.0,
        "rescale": 0.0,
    }
