"""PrivSet: the variance of the sum of the shares, by the law of its reports."""

from itertools import combinations

import numpy as np
import pytest

from dither_server.estimation.decoders.support import decoder_of
from dither_server.estimation.estimate import debiased
from dither_server.tally.tally import Tally
from dither_shared import PrivSet


@pytest.mark.parametrize(
    ("size", "most", "epsilon", "permanent"), [(4, 1, 1.0, None), (5, 2, 0.3, 3.0), (6, 3, 0.2, None), (4, 4, 0.5, 3.0)]
)
def test_the_variance_of_the_sum_is_that_of_its_law(
    size: int, most: int, epsilon: float, permanent: float | None
) -> None:
    """By enumeration of all reports: those that meet the marks are as many times as likely as ``ratio`` says."""
    mechanism = PrivSet.calibrate(size, epsilon, permanent, at_most=most)
    rng = np.random.default_rng(size)
    sets = [item for item in range(1 << size) if item.bit_count() <= most]
    people = rng.dirichlet(np.full(len(sets), 0.5))
    reports = list(combinations(range(mechanism.cells), mechanism.subset))
    law = np.zeros(len(reports))
    for item, share in zip(sets, people, strict=True):
        marked = set(mechanism.marked(item))
        weights = np.array([float(mechanism.ratio) if marked & set(report) else 1.0 for report in reports])
        law += share * weights / weights.sum()
    cells = np.array([[cell in report for cell in range(mechanism.cells)] for report in reports], dtype=np.float64)
    total = 10**12
    tally = Tally(np.array([total]), np.rint(total * law @ cells).astype(np.int64)[np.newaxis])
    scores = cells[:, :size].sum(axis=1)
    expected = (law @ scores**2 - (law @ scores) ** 2) / total / float(mechanism.p - mechanism.q) ** 2
    frequency = debiased(mechanism, tuple(map(str, range(size))), tally).frequency
    assert frequency.sum() == pytest.approx(
        sum(share * item.bit_count() for share, item in zip(people, sets, strict=True)), abs=1e-4
    )
    found = decoder_of(mechanism).sum_variance(mechanism, tally, frequency)
    assert found == pytest.approx(expected, rel=1e-6)


def test_privset_has_no_counts_of_pairs() -> None:
    mechanism = PrivSet.calibrate(8, 1.0, at_most=2)
    pairs = decoder_of(mechanism).pairs(mechanism, Tally.zero(mechanism))
    assert len(pairs.values) == 0
    assert "set-response" in pairs.unseen
