"""The choice of a mechanism: the least risk that fits, and errors that name fitting parameters.

tests/vectors/choices.json holds the choices themselves, at a few budgets and with permanent draws.
"""

from itertools import product

import pytest

from contract.cases import each
from dither_shared import MECHANISMS, ParameterError
from dither_shared.mechanism import LISTED, SETS
from dither_shared.mechanisms.auto import candidates, choose


@each(lambda: product((2, 16, 1024, 16384), (0.25, 1.0, 2.0, 4.0, 5.0)))
def test_choice_for_listed_answers_is_at_the_frontier(case: tuple[int, float]) -> None:
    """Compare with subset selection with the best d, which no mechanism beats (Ye and Barg 2019)."""
    size, epsilon = case
    chosen, (optimum, risk) = choose(size, epsilon), next(iter(candidates(size, epsilon).items()))
    assert risk == pytest.approx(1.0, rel=1e-9)
    over = chosen.risk / optimum.risk
    assert chosen.row_bytes <= 64
    if optimum.row_bytes <= 64:
        assert over == pytest.approx(1.0, rel=1e-9)
    assert over <= (1.02 if size >= 1024 and epsilon <= 4 else 1.08)


@pytest.mark.parametrize("size", [2, 13])
def test_mechanisms_of_equal_risk_are_ranked_by_the_bytes_of_a_report_and_then_by_simplicity(size: int) -> None:
    """Of 13 values the projective plane of order 3 has the risk of subset selection; of 2 several have the same."""
    families = MECHANISMS.of(LISTED)
    ranked = [
        (round(risk, 9), mechanism.row_bytes, families.index(type(mechanism)))
        for mechanism, risk in candidates(size, 1.0).items()
    ]
    assert ranked == sorted(ranked)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((1, 1.0), "size: 1 is out of range"),
        ((4, 0.0), "epsilon: 0.0 is not positive"),
        ((4, 1.0, None, 0), "report_budget: 0 is out of range"),
        (
            (1000, 1.0, None, 1),
            "report_budget: a report about 1000 values does not fit into 1 byte; projective-geometry needs 2",
        ),
    ],
)
def test_impossible_surveys_are_refused_with_the_way_out(arguments: tuple[int, float], complaint: str) -> None:
    with pytest.raises(ParameterError) as caught:
        choose(*arguments)
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize(("epsilon", "most"), [(0.5, (2, 5, 9, 18)), (4.0, (2, 4, 9, 19))])
def test_privset_is_chosen_for_few_of_many_values_and_set_response_for_more(
    epsilon: float, most: tuple[int, ...]
) -> None:
    for size, limit in zip((8, 16, 32, 64), most, strict=True):
        for at_most in range(1, size + 1):
            chosen = choose(size, epsilon, items=SETS, promises={"at_most": at_most})
            assert chosen.name == ("privset" if at_most <= limit else "set-response")


def test_set_response_is_chosen_for_sets_of_any_size() -> None:
    assert [mechanism.name for mechanism in candidates(8, 1.0, items=SETS)] == ["set-response"]
    assert choose(1024, 1.0, 2.0, items=SETS).permanent_epsilon == pytest.approx(2.0, abs=1e-12)
