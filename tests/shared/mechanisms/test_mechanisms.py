"""What each family promises beyond the contract: known values, known mistakes avoided, bad parameters refused."""

import math
from fractions import Fraction

import pytest

from dither_shared import (
    MECHANISMS,
    BitFlip,
    CountMeanSketch,
    HadamardCountMeanSketch,
    HadamardResponse,
    KeyedEntropy,
    LocalHashing,
    OptimizedUnary,
    ParameterError,
    ProjectiveGeometry,
    RandomizedResponse,
    Rappor,
    SubsetSelection,
    SymmetricUnary,
)
from dither_shared.primitives.bloom import bloom_positions

QUARTER, HALF, THREE_QUARTERS = Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)


def rappor(f: float = 0.5, p: float = 0.5, q: float = 0.75, **shape: int) -> Rappor:
    return Rappor(permanent_f=Fraction(f), instant_p=Fraction(p), instant_q=Fraction(q), **shape)


def test_the_two_coin_survey_is_truth_three_quarters_and_epsilon_ln_3() -> None:
    survey = RandomizedResponse(size=2, truth=THREE_QUARTERS)
    assert survey.ratio == 3
    assert survey.epsilon == pytest.approx(math.log(3), abs=1e-15)
    assert survey.variance(0.2) == pytest.approx(THREE_QUARTERS * QUARTER / HALF**2)


def test_telling_the_opposite_is_as_private_and_estimates_with_the_sign_turned() -> None:
    liar = RandomizedResponse(size=2, truth=QUARTER)
    assert liar.ratio == 3
    assert liar.p - liar.q == -HALF


def test_k_ary_truth_is_the_optimal_one() -> None:
    mechanism = RandomizedResponse.calibrate(10, 1.0)
    assert float(mechanism.truth) == pytest.approx(math.e / (math.e + 9), rel=1e-15)
    assert mechanism.variance() == pytest.approx((math.e + 8) / (math.e - 1) ** 2, rel=1e-12)


def test_symmetric_unary_spends_half_of_epsilon_on_each_bit() -> None:
    s = math.exp(0.5)
    mechanism = SymmetricUnary.calibrate(1000, 1.0)
    assert float(mechanism.p) == pytest.approx(s / (s + 1), rel=1e-15)
    assert mechanism.variance(0.5) == pytest.approx(s / (s - 1) ** 2, rel=1e-12)


def test_rappor_has_the_epsilons_of_its_paper() -> None:
    """f = 1/2, p = 1/2, q = 3/4, h = 2: ε∞ = 4 ln 3 (theorem 1) and ε₁ = 2 ln(q*(1-p*)/(p*(1-q*))) (theorem 2)."""
    mechanism = rappor()
    assert (mechanism.a, mechanism.b) == (Fraction(11, 16), Fraction(9, 16))
    assert mechanism.ratio == (Fraction(11, 16) * Fraction(7, 16) / (Fraction(9, 16) * Fraction(5, 16))) ** 2
    assert mechanism.epsilon == pytest.approx(1.0742858641667, abs=1e-12)
    assert mechanism.permanent_epsilon == pytest.approx(4 * math.log(3), abs=1e-14)


@pytest.mark.parametrize("bits", [33, 100, 128, 4096])
def test_rappor_has_no_width_limit_below_4096_bits_and_no_grid_for_f(bits: int) -> None:
    mechanism = rappor(f=0.01, bits=bits)
    assert float(mechanism.permanent_f) == pytest.approx(0.01, rel=1e-15)
    assert mechanism.permanent_f >= Fraction(0.01)
    assert len(mechanism.randomize(b"value", KeyedEntropy(b"any"))) == (bits + 7) // 8


def test_rappor_calibrates_to_both_epsilons() -> None:
    mechanism = Rappor.calibrate(None, 1.5, 4.0, bits=32, hashes=3, cohorts=4)
    assert mechanism.permanent_epsilon is not None
    assert 0 <= 1.5 - mechanism.epsilon < 1e-12
    assert 0 <= 4.0 - mechanism.permanent_epsilon < 1e-12


def test_optimised_unary_has_the_variance_of_its_paper() -> None:
    mechanism = OptimizedUnary.calibrate(1000, 1.0)
    assert mechanism.p == HALF
    assert mechanism.variance(0.0) == pytest.approx(4 * math.e / (math.e - 1) ** 2, rel=1e-12)
    assert mechanism.variance(0.3) - mechanism.variance(0.0) == pytest.approx(0.3, rel=1e-9)


def test_memoisation_is_free_in_the_variance_of_optimised_unary() -> None:
    once, memoised = OptimizedUnary.calibrate(50, 1.0), OptimizedUnary.calibrate(50, 1.0, 2.0)
    assert memoised.variance(0.1) == pytest.approx(once.variance(0.1), rel=1e-12)
    assert memoised.p == HALF


@pytest.mark.parametrize("size", [2, 3, 10, 100])
def test_the_chain_of_randomized_response_spends_all_of_its_epsilon(size: int) -> None:
    """The second channel's ratio is c = (b(a+k-2)-(k-1))/(a-b), not (ab-1)/(a-b), but for k = 2."""
    a, b = math.exp(2), math.exp(1)
    mechanism = RandomizedResponse.calibrate(size, 1.0, 2.0)
    ratio = float(mechanism._chain.instant.ratio)
    assert ratio == pytest.approx((b * (a + size - 2) - (size - 1)) / (a - b), rel=1e-9)
    published = (a * b - 1) / (a - b)
    assert (ratio == pytest.approx(published)) == (size == 2)
    assert 0 <= 1.0 - mechanism.epsilon < 1e-12


def test_epsilon_of_repeated_reports_is_that_of_the_literature() -> None:
    """L-OSUE at (ε∞, ε₁) = (4, 1): 1.00, 1.95, 2.78, 3.74, 4.00 after 1, 2, 3, 5, 10; L-GRR (k = 5): 1.97 after 2."""
    unary = OptimizedUnary.calibrate(9, 1.0, 4.0)
    after = [unary.epsilon_after(reports) for reports in (1, 2, 3, 5, 10)]
    assert after == pytest.approx([1.00, 1.95, 2.78, 3.74, 4.00], abs=0.006)
    assert RandomizedResponse.calibrate(5, 1.0, 4.0).epsilon_after(2) == pytest.approx(1.97, abs=0.006)
    rappors = [rappor().epsilon_after(reports) for reports in (1, 2, 5, 10, 100)]
    assert rappors == pytest.approx([1.074, 2.017, 3.656, 4.299, 4.394], abs=0.0006)


def test_one_bit_of_bit_flip_uses_the_whole_epsilon() -> None:
    one, two = BitFlip.calibrate(10, 1.0, 1), BitFlip.calibrate(10, 1.0, 2)
    assert float(one.p / one.q) == pytest.approx(math.e)
    assert float(two.p / two.q) == pytest.approx(math.exp(0.5))
    assert one.epsilon == pytest.approx(1)
    assert two.epsilon == pytest.approx(1)


def test_a_memoised_report_is_the_same_for_ever() -> None:
    mechanism = BitFlip.calibrate(40, 1.0)
    drawn = {mechanism.randomize(3, KeyedEntropy(b"any"), 0, KeyedEntropy(b"secret")) for _ in range(20)}
    assert len(drawn) == 1


def test_hadamard_response_uses_no_row_that_tells_nothing() -> None:
    """Every value owns exactly half of the symbols, and no two values own the same half."""
    mechanism = HadamardResponse.calibrate(7, 1.0)
    owned = [mechanism.marked(item) for item in range(7)]
    assert mechanism.cells == 8
    assert all(len(symbols) == 4 for symbols in owned)
    assert len(set(owned)) == 7


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_no_mechanism_beats_subset_selection_and_the_large_ones_come_close(epsilon: float) -> None:
    least = SubsetSelection.calibrate(1024, epsilon).risk
    for family in (OptimizedUnary, ProjectiveGeometry, LocalHashing):
        assert 1 <= family.calibrate(1024, epsilon).risk / least < 1.02


def test_permanent_bits_are_the_same_for_ever_and_the_reports_are_not() -> None:
    """With p = 0 and q = 1 a report is its permanent draw; with noise on top it is not."""
    bare, noisy = rappor(p=0, q=1), rappor()

    def memory() -> KeyedEntropy:
        return KeyedEntropy(b"secret", b"version", b"cohort", b"value")

    fresh = KeyedEntropy(b"fresh")
    assert len({bare.randomize(b"value", fresh, 3, memory()) for _ in range(20)}) == 1
    assert len({noisy.randomize(b"value", fresh, 3, memory()) for _ in range(20)}) == 20
    assert len({bare.randomize(b"value", fresh, 3) for _ in range(20)}) == 20


def test_bloom_positions_are_distinct_and_uniform() -> None:
    """40,000 positions over 100 bits: chi-square with 99 degrees of freedom exceeds 190 less than once in 10^6."""
    counts = [0] * 100
    for number in range(20_000):
        one, two = bloom_positions(str(number).encode(), 1, 100, 2)
        assert one != two
        counts[one] += 1
        counts[two] += 1
    assert sum((count - 400) ** 2 / 400 for count in counts) < 190
    assert sorted(bloom_positions(b"all", 0, 3, 3)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: RandomizedResponse.calibrate(1, 1.0), "size: 1 is out of range"),
        (lambda: RandomizedResponse.calibrate(None, 1.0), "size: this mechanism needs a list"),
        (lambda: RandomizedResponse(size=2, truth=HALF), "truth: 0.5 tells nothing"),
        (lambda: RandomizedResponse(size=2, truth=Fraction(1)), "truth: 1 would always tell"),
        (lambda: RandomizedResponse(size=2, truth=Fraction(0)), "truth: 0 would always tell"),
        (lambda: RandomizedResponse(size=4, truth=Fraction(1, 5)), "truth: 0.2 tells nothing of 4"),
        (lambda: RandomizedResponse.calibrate(2, -1.0), "epsilon: -1.0 is not positive"),
        (lambda: SymmetricUnary.calibrate(2, 26.0), "epsilon: 26.0 is above 25"),
        (lambda: SymmetricUnary(size=2, keep=HALF), "keep: 0.5 must lie"),
        (lambda: OptimizedUnary.calibrate(4, 1.0, 1.0), "permanent_epsilon: 1 must exceed epsilon = 1"),
        (lambda: OptimizedUnary(size=4, raised=HALF), "raised: 0.5 must lie"),
        (lambda: LocalHashing(size=4, symbols=6, truth=HALF), "symbols: 6 is not a prime power"),
        (lambda: LocalHashing(size=10**6, symbols=997, truth=HALF), "symbols: 997 for 1000000 values makes a table"),
        (lambda: ProjectiveGeometry(size=4, order=6, inside=HALF), "order: 6 is not a prime power"),
        (lambda: ProjectiveGeometry(size=2, order=2, inside=Fraction(1, 9)), "inside: 0.111111 must lie"),
        (lambda: ProjectiveGeometry.calibrate(1 << 20, 1.0), "order: no field makes at most"),
        (lambda: LocalHashing(size=1 << 20, symbols=1 << 20, truth=HALF), "symbols: 1048576 for 1048576 values"),
        (lambda: SubsetSelection(size=4, subset=4, inside=HALF), "subset: 4 is out of range"),
        (lambda: BitFlip.configure(4, {"epsilon": 1.0, "bits": 5}), "bits: 5 is out of range"),
        (lambda: BitFlip(size=4, bits=5, keep=THREE_QUARTERS), "bits: 5 is out of range; it must lie between 1 and 4"),
        (lambda: CountMeanSketch.calibrate(9, 1.0), "size: count-mean-sketch takes any string"),
        (lambda: CountMeanSketch.configure(None, {"epsilon": 1.0, "bits": 60000}), "bits: 60000 in 1024 cohorts"),
        (lambda: HadamardCountMeanSketch.configure(None, {"epsilon": 1.0, "bits": 6}), "bits: 6 is not a power of 2"),
        (lambda: rappor(p=0.5, q=0.5), "q: equals p"),
        (lambda: rappor(f=0), "f: 0 must lie"),
        (lambda: rappor(f=1), "f: 1 must lie"),
        (lambda: rappor(bits=4097), "bits: 4097 is out of range"),
        (lambda: rappor(bits=4, hashes=4), "hashes: 4 is out of range"),
        (lambda: rappor(cohorts=0), "cohorts: 0 is out of range"),
        (lambda: Rappor.calibrate(7, 1.0), "size: rappor takes any string"),
        (lambda: Rappor.calibrate(None, 2.0, 2.0), "permanent_epsilon: 2 must exceed epsilon = 2"),
    ],
)
def test_parameters_that_cannot_be(make: object, complaint: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value).startswith(complaint)


def test_an_item_outside_the_domain_is_refused_without_being_told() -> None:
    for mechanism, item in ((RandomizedResponse.calibrate(3, 1.0), 314159), (rappor(), 314159)):
        with pytest.raises(ParameterError, match="item: ") as caught:
            mechanism.randomize(item, KeyedEntropy(b""))
        assert "314159" not in str(caught.value)


@pytest.mark.parametrize("name", MECHANISMS)
def test_where_no_cohort_is_named_it_is_the_first(name: str) -> None:
    family = MECHANISMS[name]
    mechanism = family.configure(None if family.items.open else 10, {"epsilon": 1.0})
    for number in range(10):
        item = b"%d" % number if family.items.open else number
        assert mechanism.marked(item) == mechanism.marked(item, 0)
        drawn, again = (KeyedEntropy(b"cohort", b"%d" % number) for _ in range(2))
        assert mechanism.randomize(item, drawn) == mechanism.randomize(item, again, 0)
