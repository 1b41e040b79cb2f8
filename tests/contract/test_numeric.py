"""Mechanisms of numeric questions, by enumeration: what their scores add up to, and what they promise beyond others."""

from fractions import Fraction

import pytest

from contract.cases import NUMERIC, every_small_numeric, name_of, small_numeric
from contract.exact_law import exact_law, worst_ratio
from contract.test_privacy import Memory
from dither_shared import Entropy
from dither_shared.mechanisms.numeric import NumericMechanism
from dither_shared.primitives.elimination import solve
from dither_shared.primitives.probability import ONE

CASES = pytest.mark.parametrize(("declared", "mechanism"), every_small_numeric(), ids=name_of)


@CASES
def test_a_point_marks_the_cell_that_no_other_makes_likelier(declared: float, mechanism: NumericMechanism) -> None:
    assert 0 <= declared - mechanism.epsilon < 1e-12
    for cohort in range(mechanism.cohorts):
        laws = [mechanism.cell_law(item, cohort) for item in range(mechanism.size)]
        for item, law in enumerate(laws):
            (marked,) = mechanism.marked(item, cohort)
            assert sum(law) == 1
            assert law[marked] == max(other[marked] for other in laws)


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("declared", [0.1, 1.0, 4.0, 10.0])
def test_no_privacy_is_given_away_unused_at_the_usual_size(name: str, declared: float) -> None:
    parameters = {"epsilon": declared}
    if "delta" in NUMERIC[name].keys:
        parameters |= {"delta": 1e-6, "resolution": 8}
    mechanism = NUMERIC[name].configure(None, parameters)
    assert 0 <= declared - mechanism.epsilon < 1e-12
    assert 0.999 * parameters.get("delta", 0) <= mechanism.delta <= Fraction(parameters.get("delta", 0))


@CASES
def test_scores_are_unbiased_and_vary_as_is_stated(declared: float, mechanism: NumericMechanism) -> None:
    assert declared > 0
    d, steps = mechanism.cohorts, mechanism.size - 1
    variances = []
    for item in range(mechanism.size):
        mean = square = Fraction(0)
        for cohort in range(d):
            for cell, chance in enumerate(mechanism.cell_law(item, cohort)):
                score = mechanism.mean_score(cell, cohort)
                mean += chance * score / d
                square += chance * score**2 / d
        assert mean == Fraction(item, steps)
        assert mechanism.mean_variance(item) == square - mean**2
        variances.append(square - mean**2)
    assert mechanism.worst_mean_variance == max(variances)
    assert mechanism.average_mean_variance == (sum(variances) - (variances[0] + variances[-1]) / 2) / steps
    scores = [mechanism.mean_score(cell, cohort) for cohort in range(d) for cell in range(mechanism.cells)]
    assert mechanism.reach == (float(min(scores)), float(max(scores)))


@pytest.mark.parametrize("mechanism", small_numeric("dithered-response", 1.0), ids=name_of)
def test_the_share_below_each_point_has_an_unbiased_estimate_from_one_phase(mechanism: NumericMechanism) -> None:
    d = mechanism.cohorts
    for point in range(1, mechanism.size):
        j = -(-point // d)
        for item in range(mechanism.size):
            below = sum(mechanism.cell_law(item, j * d - point)[:j])
            assert (below - mechanism.q * j) / (mechanism.p - mechanism.q) == (item < point)


@pytest.mark.parametrize(
    "mechanism",
    [case for name in ("discrete-laplace", "exponential") for case in small_numeric(name, 1.0)],
    ids=name_of,
)
def test_the_share_below_each_point_has_unbiased_scores_in_a_table(mechanism: NumericMechanism) -> None:
    laws = [mechanism.cell_law(item) for item in range(mechanism.size)]
    table = [[int(chance * ONE) for chance in law] for law in laws]
    for point in range(1, mechanism.size):
        scores = solve(table, [ONE * (item < point) for item in range(mechanism.size)])
        assert [sum(p * g for p, g in zip(law, scores, strict=True)) for law in laws] == [
            item < point for item in range(mechanism.size)
        ]


@pytest.mark.parametrize(
    "mechanism",
    [case for case in small_numeric("dithered-response", 1.0) if case.cells <= 3],
    ids=name_of,
)
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_reports_in_one_phase_tell_exactly_what_is_stated(mechanism: NumericMechanism, reports: int) -> None:
    def series(item: int, cohort: int, entropy: Entropy) -> tuple[bytes, ...]:
        memory, sent = Memory(entropy), []
        for _ in range(reports):
            memory.next = 0
            sent.append(mechanism.randomize(item, entropy, cohort, memory))
        return tuple(sent)

    worst = Fraction(1)
    for cohort in range(mechanism.cohorts):
        apart = {mechanism.marked(item, cohort): item for item in range(mechanism.size)}
        laws = [exact_law(lambda entropy, x=x, c=cohort: series(x, c, entropy)) for x in apart.values()]  # type: ignore[misc]
        worst = max(worst, worst_ratio(laws))
    assert worst == mechanism.ratio_after(reports)
    assert mechanism.permanent_ratio is None or worst <= mechanism.permanent_ratio
