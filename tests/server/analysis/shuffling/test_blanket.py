"""The privacy blanket and the generic bound, held to what a shuffle truly hides."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from contract.cases import each
from dither_server.analysis.shuffling.blanket import blanket_delta, blanket_epsilon
from dither_server.analysis.shuffling.generic import generic_delta, generic_epsilon, group_delta
from dither_shared import MECHANISMS, LocalHashing, Mechanism, ParameterError, ProjectiveGeometry, SubsetSelection
from dither_shared.mechanism import Item
from dither_shared.primitives.channel import OwnedChannel, TwoLevel
from server.analysis.shuffling.exact import exact_delta, table_of

Case = tuple[Mechanism, Sequence[Item], tuple[int, ...], list[tuple[int, int]] | None]
FIRST_TWO = [(0, 1)]
"""The pair that stands for all, where all pairs are alike."""


def built(name: str, size: int, epsilon: float, **more: float) -> Mechanism:
    return MECHANISMS[name].configure(size, {"epsilon": epsilon, **more})


def law_of(name: str, size: int, epsilon: float) -> TwoLevel:
    law = built(name, size, epsilon).two_level
    assert law
    return law


def cases(epsilon: float) -> list[Case]:
    """Return small mechanisms, their values and numbers of reports."""
    exact, odds = Fraction(epsilon), Fraction(math.exp(epsilon))
    listed: list[Case] = [
        (built("randomized-response", k, epsilon), range(k), reports, FIRST_TWO)
        for k, reports in ((2, (1, 2, 3, 5, 7)), (3, (2, 4, 6)), (4, (3, 4)), (5, (4,)))
    ]
    halves = SubsetSelection(size=4, subset=2, inside=OwnedChannel.at(exact, 2, 4).inside)
    plane = ProjectiveGeometry(size=7, order=2, inside=OwnedChannel.at(exact, 3, 7).inside)
    listed += [(halves, range(4), (2, 3, 4), FIRST_TWO), (plane, range(7), (2, 3, 4), FIRST_TWO)]
    hashed = [LocalHashing(size=3, symbols=g, truth=odds / (odds + g - 1)) for g in (2, 3)]
    listed += [(mechanism, range(3), (2, 3, 4), None) for mechanism in hashed]
    listed += [(built("hadamard-response", 3, epsilon), range(3), (2, 4), None)]
    listed += [(built(name, 3, epsilon), range(3), (2, 3, 4), None) for name in ("optimized-unary", "symmetric-unary")]
    listed += [(built("set-response", 2, epsilon, window=window), range(4), (2, 3), None) for window in (1, 2)]
    listed += [(built("set-response", 3, epsilon, window=2), (0, 7, 5), (2, 3), None)]
    listed += [(built("privset", 3, epsilon, at_most=1), (0, 1, 2, 4), (2, 3), None)]
    return listed


@each(lambda: [case for epsilon in (0.5, 2.0) for case in cases(epsilon)])
def test_no_shuffling_bound_is_below_the_exact_delta(case: Case) -> None:
    """By enumeration of all values that the others may hold."""
    mechanism, values, reports, pairs = case
    law, table = mechanism.two_level, table_of(mechanism, values)
    assert law
    for count in reports:
        for part in (0.1, 0.6):
            after = part * mechanism.epsilon
            truth = exact_delta(table, count, Fraction(math.exp(after)), pairs)
            assert truth <= Fraction(blanket_delta(law, count, after))
            assert truth <= Fraction(generic_delta(mechanism.epsilon, count, after))


@pytest.mark.parametrize(
    ("name", "size", "counts"),
    [("randomized-response", 2, (2, 3, 5, 8)), ("randomized-response", 3, (3, 5)), ("hadamard-response", 3, (3, 4))],
)
@pytest.mark.parametrize("own", [2, 3])
def test_no_bound_for_several_reports_of_one_device_is_below_the_exact_delta(
    name: str, size: int, counts: tuple[int, ...], own: int
) -> None:
    """All that they and the others may hold."""
    for epsilon in (0.5, 2.0):
        mechanism = built(name, size, epsilon)
        law, table = mechanism.two_level, table_of(mechanism, range(size))
        assert law
        for count in (count for count in counts if count >= own):
            for part in (0.1, 0.4, 0.8):
                after = part * mechanism.epsilon
                truth = exact_delta(table, count, Fraction(math.exp(own * after)), own=own)
                assert truth <= Fraction(group_delta(blanket_delta(law, count, after), after, own))
                assert truth <= Fraction(group_delta(generic_delta(mechanism.epsilon, count, after), after, own))


@pytest.mark.parametrize(("size", "reports"), [(2, 2), (3, 2), (4, 3)])
def test_blanket_of_randomized_response_is_often_exact(size: int, reports: int) -> None:
    coin = built("randomized-response", size, 1.0)
    truth = exact_delta(table_of(coin, range(size)), reports, Fraction(math.exp(0.1)), FIRST_TWO)
    assert coin.two_level
    assert blanket_delta(coin.two_level, reports, 0.1) == pytest.approx(float(truth), rel=1e-5)


TABLE = [(10**3, 1.0, 1e-6, 0.182, 0.149, 0.0802, 0.103, 0.101), (10**4, 4.0, 1e-6, 0.601, 0.411, 0.381, 0.288, 0.282)]
"""Reports, ε₀, δ, and ε by the generic bound, for two answers, 10 answers, subset selection of 100, a plane of 1024."""


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_published_table_of_bounds_is_reproduced_to_its_last_digit(
    row: tuple[int, float, float, float, float, float, float, float],
) -> None:
    reports, epsilon, delta, *expected = row
    laws = [law_of("randomized-response", size, epsilon) for size in (2, 10)]
    laws += [law_of("subset-selection", 100, epsilon), law_of("projective-geometry", 1024, epsilon)]
    epsilons = [generic_epsilon(epsilon, reports, delta), *(blanket_epsilon(law, reports, delta) for law in laws)]
    assert [float(f"{each:.3g}") for each in epsilons] == expected


@pytest.mark.parametrize("after", [0.05, 0.7])
def test_the_lattice_adds_next_to_nothing_to_the_direct_sum(after: float) -> None:
    """Of two answers a report that hides the others is as often of the one as of the other."""
    law, reports = law_of("randomized-response", 2, 1.0), 200
    odds, bar, hidden = float(law.ratio), math.exp(after), float(law.blanket)
    counts = np.array([(one, other, reports - one - other) for one, other in np.ndindex(201, 201)])
    chances = stats.multinomial.pmf(counts, reports, [hidden / 2, hidden / 2, 1 - hidden])
    direct = chances @ np.maximum(counts @ [odds - bar, 1 - bar * odds, 0], 0) / reports
    assert 0 < blanket_delta(law, reports, after) / direct - 1 < 1e-3


@pytest.mark.parametrize(("reports", "delta", "place"), [(0, 1e-6, "reports"), (10, 0.0, "delta"), (10, 1.0, "delta")])
def test_blanket_of_no_reports_or_an_impossible_delta_is_refused(reports: int, delta: float, place: str) -> None:
    with pytest.raises(ParameterError, match=place):
        blanket_epsilon(law_of("randomized-response", 2, 1.0), reports, delta)


@pytest.mark.parametrize(("name", "reports"), [("randomized-response", 10**3), ("optimized-unary", 2)])
def test_every_number_of_reports_has_a_bound_that_falls_with_reports_and_delta(name: str, reports: int) -> None:
    for epsilon in (0.1, 8.0):
        law, most = law_of(name, 10, epsilon), built(name, 10, epsilon).epsilon
        epsilons = [blanket_epsilon(law, reports, delta) for delta in (1e-12, 1e-6, 1e-3)]
        assert most * (1 + 1e-12) >= epsilons[0] >= epsilons[1] >= epsilons[2] >= 0
        for loss, delta in zip(epsilons, (1e-12, 1e-6, 1e-3), strict=True):
            assert loss >= most or blanket_delta(law, reports, loss) <= delta
        assert blanket_epsilon(law, 10 * reports, 1e-6) <= epsilons[1]
    assert blanket_delta(law, reports, most + 1e-9) == 0
