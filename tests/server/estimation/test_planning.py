"""Plans of surveys: half-widths and numbers of users against the intervals that surveys have, by enumeration."""

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.intervals.exact import exact_interval
from dither_server.estimation.planning import half_width, planned_scores, users_for, worst_share
from dither_shared import OptimizedUnary, RandomizedResponse


@pytest.mark.parametrize(("share", "confidence"), [(None, 0.95), (None, 0.999), (0.02, 0.5), (0.6, 0.999)])
def test_the_interval_reaches_no_further_than_planned(share: float | None, confidence: float) -> None:
    """By enumeration, the promised part of surveys has the truth within the error, and an interval as narrow."""
    for mechanism in (RandomizedResponse.calibrate(2, 3.0), OptimizedUnary.calibrate(8, 1.0)):
        truth = worst_share(mechanism) if share is None else share
        p, q = float(mechanism.p), float(mechanism.q)
        for error in (0.08, 0.2):
            users = users_for(lambda many, law=mechanism: half_width(law, many, confidence, share), error) or 0  # type: ignore[misc]
            seen = np.arange(users + 1)
            low, high = exact_interval(mechanism, seen, np.full(users + 1, users), 1 - confidence)
            law = stats.binom.pmf(seen, users, q + truth * (p - q))
            assert law[np.abs((seen / users - q) / (p - q) - truth) <= error].sum() >= confidence
            assert law[(high - low) / 2 <= error].sum() >= confidence


def test_error_and_width_together_are_missed_no_oftener_than_planned() -> None:
    """By the normal law, if both are independent: each is missed with a part of 1 - confidence."""
    for confidence in (0.5, 0.8, 0.95, 0.999):
        width, error = planned_scores(confidence)
        assert stats.norm.sf(width) + 2 * stats.norm.sf(error) == pytest.approx(1 - confidence)
