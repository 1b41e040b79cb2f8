"""The shares of buckets: unbiased, with the variance that is stated, and Σ f² from them."""

import numpy as np

from dither_server.estimation.strings.rows import Rows, supports
from dither_server.tally.tally import Tally
from dither_shared import KeyedEntropy, ProjectiveSketch, Report
from server.estimation.strings.sketched import tally_of, zipf

SKETCH = ProjectiveSketch.calibrate(None, 2.0, buckets=64)


def test_a_bucket_is_supported_by_the_reports_on_its_hyperplane() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 9, SKETCH.cells)
    found = supports(SKETCH, counts)
    item = next(bytes([byte]) for byte in range(256) if SKETCH.bucket(bytes([byte]), 0) == 5)
    assert len(found) == 64
    assert found[5] == counts[list(SKETCH.marked(item, 0))].sum()


def test_shares_are_those_of_what_devices_send() -> None:
    entropy = KeyedEntropy(b"rows")
    item = b"everyone"
    rows = b"".join(
        Report(cohort, SKETCH.randomize(item, entropy, cohort)).encode(SKETCH)
        for cohort in (SKETCH.draw_cohort(entropy) for _ in range(4000))
    )
    found = Rows.of(SKETCH, Tally.fold(SKETCH, rows), range(2))
    assert found.total == 4000
    for row in range(2):
        bucket = SKETCH.bucket(item, row)
        error = np.sqrt(found.variance(np.eye(64)[bucket][np.newaxis].repeat(2, 0)))[row]
        away = np.abs(found.share[row] - np.eye(64)[bucket]) / error
        assert away.max() < 6.5  # 128 normal scores: below 1e-8 of chance


def test_variance_of_bucket_shares_is_that_of_simulated_surveys() -> None:
    rng = np.random.default_rng(2)
    people = [zipf([f"v{place}" for place in range(40)], 5000, rng) for _ in range(150)]
    found = [Rows.of(SKETCH, tally_of(SKETCH, one, rng), range(2)) for one in people]
    seen = np.var([one.share for one in found], axis=0)
    weights = np.arange(1.0, 41) ** -1.1
    truth = np.zeros((2, 64))
    for row in range(2):
        for place, weight in enumerate(weights / weights.sum()):
            truth[row, SKETCH.bucket(b"v%d" % place, row)] += weight
    told = found[0].variance(truth)
    assert np.abs(np.mean([one.share for one in found], axis=0) - truth).max() < 6 * np.sqrt(told.max() / 150)
    assert abs(float((seen / told).mean()) - 1) < 0.06  # of 128 variances of 150 draws each: its deviation is 0.0103


def test_the_concentration_is_that_of_the_shares() -> None:
    rng = np.random.default_rng(3)
    sketch = ProjectiveSketch.calibrate(None, 2.0, buckets=4096)
    people = zipf([f"v{place}" for place in range(500)], 200_000, rng)
    found = [Rows.of(sketch, tally_of(sketch, people, rng), range(2)).concentration for _ in range(12)]
    assert abs(float(np.mean(found)) - float(np.square(people.shares).sum())) < 0.01


def test_a_row_without_reports_says_nothing() -> None:
    empty = Rows.of(SKETCH, Tally.zero(SKETCH), range(2))
    assert empty.total == 0
    assert (empty.share == 0).all()
    assert np.isinf(empty.variance(empty.share)).all()
    assert empty.concentration == 1.0
