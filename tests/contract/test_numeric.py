"""Mechanisms of numeric questions, by enumeration: their laws, their losses, and what their scores add up to."""

from collections.abc import Sequence
from fractions import Fraction

import pytest

from contract.cases import name_of
from contract.exact_law import exact_law, worst_ratio
from contract.numeric_cases import NUMERIC, every_small_numeric, small_numeric
from contract.test_privacy import Memory
from dither_shared import Entropy, KeyedEntropy, Report
from dither_shared.mechanisms.numeric import NumericMechanism
from dither_shared.primitives.elimination import solve
from dither_shared.primitives.probability import ONE, exp_below

CASES = pytest.mark.parametrize(("declared", "mechanism"), every_small_numeric(), ids=name_of)
SMALL = pytest.mark.parametrize(
    "mechanism",
    [case for name in NUMERIC for epsilon in (1.0, 2.0) for case in small_numeric(name, epsilon)],
    ids=name_of,
)


def law_of(mechanism: NumericMechanism, item: int, cohort: int) -> list[Fraction]:
    """Return P[cell] of the code that a device runs."""
    law = exact_law(lambda entropy: mechanism.randomize(item, entropy, cohort))
    cells = {mechanism.row_format.cells_of(payload): chance for payload, chance in law.items()}
    return [cells.get((cell,), Fraction(0)) for cell in range(mechanism.cells)]


def excess(one: Sequence[Fraction], other: Sequence[Fraction], ratio: Fraction) -> Fraction:
    return sum((max(Fraction(0), p - ratio * q) for p, q in zip(one, other, strict=True)), Fraction(0))


@CASES
def test_a_device_reports_by_the_law_that_is_stated(declared: float, mechanism: NumericMechanism) -> None:
    assert declared > 0
    for cohort in range(mechanism.cohorts):
        for item in range(mechanism.size):
            law = mechanism.cell_law(item, cohort)
            assert law_of(mechanism, item, cohort) == list(law)
            assert sum(law) == 1
            (marked,) = mechanism.marked(item, cohort)
            assert law[marked] == max(
                law[marked], *(mechanism.cell_law(x, cohort)[marked] for x in range(mechanism.size))
            )


@CASES
def test_what_a_report_tells_is_exactly_what_is_stated(declared: float, mechanism: NumericMechanism) -> None:
    assert mechanism.ratio <= exp_below(Fraction(mechanism.epsilon))
    assert 0 <= declared - mechanism.epsilon < 1e-12
    worst, ratio = Fraction(0), Fraction(1)
    for cohort in range(mechanism.cohorts):
        laws = [mechanism.cell_law(item, cohort) for item in range(mechanism.size)]
        worst = max(worst, *(excess(one, other, mechanism.ratio) for one in laws for other in laws))
        if not mechanism.delta:
            ratio = max(ratio, worst_ratio([dict(enumerate(law)) for law in laws]))
    assert mechanism.delta or ratio == mechanism.ratio
    assert worst == mechanism.delta


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


@SMALL
def test_rows_round_trip_and_parameters_make_the_mechanism_again(mechanism: NumericMechanism) -> None:
    entropy = KeyedEntropy(b"rows", mechanism.name.encode())
    for item in range(mechanism.size):
        cohort = entropy.below(mechanism.cohorts)
        report = Report(cohort, mechanism.randomize(item, entropy, cohort))
        assert Report.decode(report.encode(mechanism), mechanism) == report
    given = {key: getattr(mechanism, key) for key in mechanism.parameters()}
    again = type(mechanism)(**given)
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert again.cell_law(0) == mechanism.cell_law(0)
