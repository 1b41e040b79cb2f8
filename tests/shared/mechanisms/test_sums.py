"""The noise of sums of estimates at sizes people use, and the published comparison of crossing and sampling."""

import math
from collections.abc import Sequence

import pytest

from dither_shared import MECHANISMS, ChoiceQuestion
from dither_shared.mechanism import LISTED
from dither_shared.mechanisms.auto import choose
from dither_shared.mechanisms.sums import costs, joint_constants, sum_variance, within
from dither_shared.questions.cross import Axis, CrossQuestion

CASES = [
    # epsilon, answers, n Var of a cell, then of a marginal of each question: crossed, and sampled as two halves
    (1, (2, 5), 2.91, (8.08, 2.34), (5.17, 4.77)),
    (1, (5, 20), 3.60, (58.2, 4.77), (17.3, 6.62)),
    (4, (2, 10), 0.0421, (0.221, 0.538), (0.0797, 0.173)),
]


@pytest.mark.parametrize(("epsilon", "shape", "cell", "first", "second"), CASES)
def test_the_chosen_mechanisms_have_the_variances_of_the_table(
    epsilon: float, shape: tuple[int, int], cell: float, first: tuple[float, float], second: tuple[float, float]
) -> None:
    """Reproduce OPEN.md's table: noise at a uniform histogram, and (M-1) f for the sampling."""
    cells = shape[0] * shape[1]
    mechanism = choose(cells, epsilon)
    assert mechanism.risk / cells == pytest.approx(cell, rel=5e-3)
    for (answers, others), (crossed, sampled) in zip((shape, shape[::-1]), (first, second), strict=True):
        assert sum_variance(mechanism, others, 1 / answers) == pytest.approx(crossed, rel=5e-3)
        alone = choose(answers, epsilon)
        assert 2 * alone.risk / answers + 1 / answers == pytest.approx(sampled, rel=5e-3)


@pytest.mark.parametrize("size", [4, 1000])
def test_every_mechanism_of_listed_answers_and_none_of_strings_says_how_supports_hang_together(size: int) -> None:
    for family in MECHANISMS.of(LISTED):
        mechanism = family.configure(size, {"epsilon": 1.0})
        assert joint_constants(mechanism) is not None
        variance = sum_variance(mechanism, size // 2, 0.5)
        assert variance is not None
        assert 0 < variance < size * mechanism.variance(0.0) + mechanism.variance(1.0)
    strings = MECHANISMS["rappor"].configure(None, {"epsilon": 2.0})
    assert (joint_constants(strings), sum_variance(strings, 2, 0.5)) == (None, None)


def advice(epsilon: float, theme: int, device: int) -> Sequence[str]:
    """Return the advice on a crossing of metrics with these numbers of answers, including a catch-all each."""
    axes = (
        Axis(name, ChoiceQuestion(tuple(map(str, range(size - 1))))) for name, size in (("a", theme), ("b", device))
    )
    return CrossQuestion(tuple(axes)).advice(choose(theme * device, epsilon))


def test_advice_weighs_crossing_against_sampling_and_names_strata() -> None:
    (said,) = advice(1.0, 2, 5)
    assert said.startswith(
        "cross: 10 pairs of answers need many reports at this epsilon; unless a and b are needed together"
    )
    assert "one_of" in said
    assert "strata" in said
    prices = costs(choose(10, 1.0), 2, 5), costs(choose(10, 1.0), 5, 2)
    assert all(pair is not None and pair[0] > pair[1] for pair in prices)
    assert "take 1.7 times fewer people for a and 1.1 times as many for b" in advice(3.0, 2, 10)[0]  # 1.718 and 1/0.903
    assert advice(4.0, 2, 2) == advice(4.0, 2, 10) == []


def test_a_public_attribute_takes_ten_times_fewer_people() -> None:
    """At ε = 1 of 2 by 5 answers, a share of 0.3 within a fifth: sd .0214 and .0068 of 100,000 people (OPEN.md)."""
    mechanism, share, part = choose(10, 1.0), 0.3, 0.2
    pair, whole = joint_constants(mechanism), sum_variance(mechanism, 2, part)
    assert pair is not None
    assert whole is not None
    alone = mechanism.variance(part / 2)
    with_whole = alone + pair[0] + part * pair[1]
    crossed = (alone - 2 * share * with_whole + share**2 * whole) / part**2
    assert math.sqrt(crossed / 1e5) == pytest.approx(0.0214, abs=6e-5)
    assert math.sqrt(choose(2, 1.0).variance(share) / part / 1e5) == pytest.approx(0.0068, abs=6e-5)
    assert within(mechanism, 2, 5) == pytest.approx(7.12, abs=0.01), "for a half, including the chance of who is asked"
