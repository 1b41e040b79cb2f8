"""The choice of a mechanism: the least risk that fits, and errors that say what would."""

import pytest

from dither_shared import ParameterError
from dither_shared.mechanism import SETS
from dither_shared.mechanisms.auto import candidates, choose

EPSILONS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [2, 4, 16, 128, 1024, 16384])
def test_the_choice_is_at_the_frontier(size: int, epsilon: float) -> None:
    """Against subset selection with the best d, which no mechanism beats (Ye and Barg 2019)."""
    chosen = choose(size, epsilon)
    optimum = candidates(size, epsilon)[0]
    assert optimum.relative_risk == pytest.approx(1.0, rel=1e-9)
    over = chosen.risk / optimum.mechanism.risk
    assert chosen.row_bytes <= 64
    if optimum.mechanism.row_bytes <= 64:
        assert over == pytest.approx(1.0, rel=1e-9)
    assert over <= (1.02 if size >= 1024 and epsilon <= 4 else 1.08)


def test_ties_go_to_the_shorter_report_and_then_to_the_simpler_mechanism() -> None:
    """With d = 1 the optimum is randomized response: a list of one number is as short, and a word more to explain."""
    names = [candidate.mechanism.name for candidate in candidates(128, 5.0)]
    assert names[:3] == ["randomized-response", "subset-selection", "projective-geometry"]


def test_a_smaller_budget_costs_accuracy_and_no_privacy() -> None:
    wide, narrow = choose(256, 1.0, budget=32), choose(256, 1.0, budget=2)
    assert (wide.name, narrow.name) == ("subset-selection", "projective-geometry")
    assert wide.risk < narrow.risk
    assert narrow.epsilon <= 1.0


@pytest.mark.parametrize("size", [2, 16, 128, 1024])
def test_with_a_permanent_part_both_epsilons_hold(size: int) -> None:
    chosen = choose(size, 1.0, 2.0)
    assert chosen.epsilon <= 1.0
    assert chosen.permanent_epsilon is not None
    assert chosen.permanent_epsilon <= 2.0
    assert chosen.row_bytes <= 64


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((1, 1.0), "size: 1 is out of range"),
        ((4, 0.0), "epsilon: 0.0 is not positive"),
        ((4, 1.0, 0.5), "permanent_epsilon: 0.5 must exceed epsilon = 1"),
        ((4, 1.0, None, 0), "report_budget: 0 is out of range"),
        ((1000, 1.0, None, 1), "report_budget: 1 byte holds no report over 1000 values; projective-geometry takes 2"),
    ],
)
def test_surveys_that_cannot_be(arguments: tuple[int, float], complaint: str) -> None:
    with pytest.raises(ParameterError) as caught:
        choose(*arguments)
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize(
    ("epsilon", "most"),
    [(0.5, (2, 5, 9, 18)), (1.0, (3, 6, 12, 25)), (1.5, (3, 6, 13, 26)), (2.0, (3, 6, 12, 25)), (4.0, (2, 4, 9, 19))],
)
def test_few_of_many_values_are_for_privset_and_the_rest_for_the_set_response(
    epsilon: float, most: tuple[int, ...]
) -> None:
    for size, limit in zip((8, 16, 32, 64), most, strict=True):
        for at_most in range(1, size + 1):
            chosen = choose(size, epsilon, items=SETS, promises={"at_most": at_most})
            assert chosen.name == ("privset" if at_most <= limit else "set-response")


def test_without_a_promise_a_set_is_for_the_set_response() -> None:
    assert [one.mechanism.name for one in candidates(8, 1.0, items=SETS)] == ["set-response"]
    assert choose(1024, 1.0, 2.0, items=SETS).permanent_epsilon == pytest.approx(2.0, abs=1e-12)


def test_of_sets_a_smaller_budget_shortens_the_list() -> None:
    """Better than another mechanism: 46 of 1,027 cells have 1.2 times the risk of 89, and a window 100 times."""
    wide, usual, narrow = (
        choose(1024, 1.0, budget=budget, items=SETS, promises={"at_most": 3}) for budget in (200, 64, 3)
    )
    assert [one.name for one in (wide, usual, narrow)] == ["privset"] * 3
    assert [one.row_bytes for one in (wide, usual, narrow)] == [123, 64, 3]
    assert wide.risk < usual.risk < 1.2 * wide.risk < narrow.risk
    with pytest.raises(ParameterError, match="report_budget: 1 byte holds no report over 1024 values; privset takes 2"):
        choose(1024, 1.0, budget=1, items=SETS, promises={"at_most": 3})
