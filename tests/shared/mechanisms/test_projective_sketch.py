"""Sketches by projective geometry response, at the sizes that people use."""

import math
from fractions import Fraction
from statistics import NormalDist

import pytest

from contract.exact_law import exact_law
from dither_shared import ParameterError, PrefixSketch, ProjectiveSketch
from dither_shared.mechanisms.prefix_levels import level_weights, prefix_lengths
from dither_shared.mechanisms.projective_sketch import MOST_COUNTERS


def least(epsilon: float) -> float:
    return 4 * math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 25.0])
def test_a_sketch_is_near_the_least_variance_and_never_too_large(epsilon: float) -> None:
    sketch, prefix = ProjectiveSketch.calibrate(None, epsilon), PrefixSketch.calibrate(None, epsilon)
    for mechanism in (sketch, prefix):
        assert mechanism.cells * mechanism.cohorts <= MOST_COUNTERS
        assert mechanism.row_format.payload_bytes in {2, 3}
        assert 1 << 14 <= mechanism.buckets <= mechanism.cells
        assert 0 <= epsilon - mechanism.epsilon < 1e-10
        assert epsilon > 6 or 1 <= mechanism.variance() / least(epsilon) < 1.12
    assert sketch.buckets == 1 << 16
    assert (prefix.levels, prefix.weights) == (prefix_lengths(39, 12), level_weights(39, prefix.levels))


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_a_permanent_part_costs_no_accuracy(epsilon: float) -> None:
    once = ProjectiveSketch.calibrate(None, epsilon)
    for forever in (1.5 * epsilon, 4 * epsilon):
        lasting = ProjectiveSketch.calibrate(None, epsilon, forever)
        assert (lasting.order, lasting.cells) == (once.order, once.cells)
        assert lasting.variance() == pytest.approx(once.variance(), rel=1e-12)
        assert once.epsilon - 1e-12 < lasting.epsilon <= once.epsilon
        assert forever - 1e-12 < (lasting.permanent_epsilon or 0) <= forever
        after = [lasting.epsilon_after(reports) for reports in (1, 2, 10, 365)]
        assert after == sorted(after)
        assert after[-1] <= forever


def test_cohorts_of_a_discovery_are_drawn_by_their_weights() -> None:
    sketch = PrefixSketch.calibrate(None, 1.0, characters=26, length=6)
    law = exact_law(sketch.draw_cohort)
    assert [law[cohort] for cohort in range(sketch.cohorts)] == list(sketch.cohort_law)
    assert sum(sketch.cohort_law) == 1


def test_levels_hash_prefixes_and_the_confirming_one_the_whole_again() -> None:
    sketch = PrefixSketch.calibrate(None, 1.0, characters=26, length=6)
    first, second = b"\1\2\3\4\5\6", b"\1\2\3\4\7\6"
    same = [sketch.bucket(first, cohort) == sketch.bucket(second, cohort) for cohort in range(sketch.cohorts)]
    assert sketch.levels == (3, 4, 5, 6)
    assert same == [True, True, True, True, *[False] * 6]
    whole = {sketch.bucket(first, cohort) for cohort in range(6, sketch.cohorts)}
    assert len(whole) == 4, "rows and levels of the whole string use different hash functions"
    assert [sketch.prefix_length(cohort) for cohort in range(sketch.cohorts)] == [3, 3, 4, 4, 5, 5, 6, 6, 6, 6]


def test_smallest_found_share_falls_with_the_number_of_users() -> None:
    """κ of 16, 32, 48 and 64 bits is 5.3, 7.4, 9.1 and 10.4 standard errors (a symbol is a byte here).

    At the share that is found half the time all levels pass a string half the time.
    """
    for length, kappa in ((2, 5.3), (4, 7.4), (6, 9.1), (8, 10.4)):
        sketch = PrefixSketch.calibrate(None, 1.0, characters=254, length=length)
        assert 4.1 * math.sqrt(65536 / sketch.weights[-1]) == pytest.approx(kappa, rel=0.02)
        share = sketch.least_share(10**6)
        assert sketch.least_share(10**8) == pytest.approx(share / 10)
        stand = [share / math.sqrt(sketch.variance() * 65536 / weight / 10**6) for weight in sketch.weights]
        bars = [4.1 * math.sqrt(weight / sketch.weights[-1]) - 1 for weight in sketch.weights]
        passed = [NormalDist().cdf(seen - bar) for seen, bar in zip(stand, bars, strict=True)]
        assert math.prod(passed) == pytest.approx(0.5, abs=0.002)


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"rows": 0}, "rows"),
        ({"rows": 9}, "rows"),
        ({"buckets": 3}, "buckets"),
        ({"order": 6}, "order"),
        ({"order": 2048}, "order"),
        ({"inside": Fraction(1, 8)}, "inside"),
        ({"permanent_inside": Fraction(1, 2)}, "permanent_inside"),
        ({"levels": ()}, "levels"),
        ({"levels": (2, 2)}, "levels"),
        ({"levels": (0, 2)}, "levels"),
        ({"weights": (1 << 16,)}, "weights"),
        ({"weights": (0, 1 << 16)}, "weights"),
    ],
)
def test_impossible_sketches_are_refused_by_parameter(wrong: dict[str, object], place: str) -> None:
    right: dict[str, object] = {
        "rows": 2,
        "buckets": 1 << 15,
        "order": 4,
        "inside": Fraction(1, 2),
        "levels": (2,),
        "weights": (1 << 15, 1 << 15),
    }
    assert PrefixSketch(**right).confirming == 1  # type: ignore[arg-type]
    with pytest.raises(ParameterError) as refused:
        PrefixSketch(**{**right, **wrong})  # type: ignore[arg-type]
    assert refused.value.place == place


def test_sketch_refuses_listed_answers_bad_buckets_and_discovery_by_another_mechanism() -> None:
    for family in (ProjectiveSketch, PrefixSketch):
        with pytest.raises(ParameterError, match="size"):
            family.calibrate(8, 1.0)
    with pytest.raises(ParameterError, match="finds no strings"):
        PrefixSketch.require(ProjectiveSketch.calibrate(None, 1.0), "mechanism")
    for characters in (0, 255):
        with pytest.raises(ParameterError, match=f"alphabet: {characters} is out of range"):
            PrefixSketch.calibrate(None, 1.0, characters=characters)
    with pytest.raises(ParameterError, match="buckets: 1000 is not a power of two"):
        ProjectiveSketch.configure(None, {"epsilon": 1.0, "buckets": 1000})
