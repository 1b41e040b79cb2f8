"""Fleets with churn that answer about their own past, as docs/measured/own-past.md shows them, in fewer surveys."""

from collections import defaultdict

import numpy as np
import pytest

from benchmarks.own_past import Fleet, Found, counted, survey, truths


def test_reports_of_a_period_are_the_devices_that_were_in_use_in_it_and_before() -> None:
    for seed in range(3):
        for reports, devices in counted(Fleet.drawn(np.random.default_rng(seed), 2_000)).values():
            assert reports == devices > 0


# A fleet of 20,000 devices takes a tenth of a second to draw. Of 200 surveys 95% has a standard error of 1.54 points;
# one of 20 shares is 5.6 of them away once in two million runs.
@pytest.mark.slow
def test_intervals_of_all_questions_hold_in_95_of_100_surveys() -> None:
    draws, held = rng(), defaultdict[str, list[Found]](list)
    truth = truths(draws)
    for _ in range(200):
        for name, found in survey(draws, truth).items():
            held[name].append(found)
    assert len(held) == 3 + 3 + 5
    for name, surveys in held.items():
        shares = np.array(surveys).mean(axis=0)
        assert np.abs(shares - 0.95) == pytest.approx(0, abs=5.6 * 0.0154), name


def rng() -> np.random.Generator:
    return np.random.default_rng(34)
