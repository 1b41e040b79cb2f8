"""Mechanisms of numeric questions, by enumeration: their scores, and the promises that other mechanisms lack."""

from fractions import Fraction
from itertools import product

from contract.cases import EPSILONS, NUMERIC, each, small_numeric, usual
from dither_shared.mechanisms.numeric import NumericMechanism

CASES = each(lambda: [case for name in NUMERIC for epsilon in EPSILONS for case in small_numeric(name, epsilon)])


@CASES
def test_point_marks_the_cell_that_it_makes_likeliest(mechanism: NumericMechanism) -> None:
    for cohort in range(mechanism.cohorts):
        laws = [mechanism.cell_law(item, cohort) for item in range(mechanism.size)]
        for item, law in enumerate(laws):
            (marked,) = mechanism.marked(item, cohort)
            assert sum(law) == 1
            assert law[marked] == max(other[marked] for other in laws)


@each(lambda: product(NUMERIC, (0.1, 1.0, 4.0, 10.0)))
def test_numeric_mechanisms_of_the_usual_size_spend_all_of_epsilon_and_delta(case: tuple[str, float]) -> None:
    name, declared = case
    mechanism = usual(name, epsilon=declared)
    delta = 1e-6 if "delta" in mechanism.keys else 0.0
    assert 0 <= declared - mechanism.epsilon < 1e-12
    assert 0.999 * delta <= mechanism.delta <= Fraction(delta)


@CASES
def test_random_rounding_keeps_epsilon_and_the_mean(mechanism: NumericMechanism) -> None:
    """The law of a number is a mixture of the laws of two points; no two mixtures differ more than points do."""
    places = [point + rest for point in range(mechanism.size - 1) for rest in (Fraction(0), Fraction(6, 7))]
    for cohort in range(mechanism.cohorts):
        laws = [mechanism.cell_law(item, cohort) for item in range(mechanism.size)]
        least, most = ([end(column) for column in zip(*laws, strict=True)] for end in (min, max))
        for place in places:
            point, rest = int(place), place - int(place)
            law = [(1 - rest) * lower + rest * upper for lower, upper in zip(laws[point], laws[point + 1], strict=True)]
            assert sum(law) == 1
            assert all(low <= chance <= high for low, chance, high in zip(least, law, most, strict=True))
            if not mechanism.delta:
                assert all(high <= mechanism.ratio * chance for chance, high in zip(law, most, strict=True))
    for place in places:
        point, rest = int(place), place - int(place)
        scores = [
            sum(
                chance * mechanism.mean_score(cell, cohort)
                for cohort in range(mechanism.cohorts)
                for cell, chance in enumerate(mechanism.cell_law(item, cohort))
            )
            / mechanism.cohorts
            for item in (point, point + 1)
        ]
        assert (1 - rest) * scores[0] + rest * scores[1] == place / (mechanism.size - 1)


@CASES
def test_scores_are_unbiased_with_the_stated_variance(mechanism: NumericMechanism) -> None:
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


@each(lambda: small_numeric("dithered-response", 1.0))
def test_share_below_each_point_has_an_unbiased_estimate_from_one_phase(mechanism: NumericMechanism) -> None:
    d = mechanism.cohorts
    for point in range(1, mechanism.size):
        j = -(-point // d)
        for item in range(mechanism.size):
            below = sum(mechanism.cell_law(item, j * d - point)[:j])
            assert (below - mechanism.q * j) / (mechanism.p - mechanism.q) == (item < point)
