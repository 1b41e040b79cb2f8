"""Each family beyond the contract: known values, known mistakes avoided, bad parameters refused."""

import math
import re
from dataclasses import fields
from fractions import Fraction
from itertools import product

import pytest

from contract.cases import usual
from dither_shared import (
    MECHANISMS,
    BitFlip,
    CountMeanSketch,
    DitheredResponse,
    HadamardCountMeanSketch,
    HadamardResponse,
    KeyedEntropy,
    LocalHashing,
    Mechanism,
    OptimizedUnary,
    ParameterError,
    ProjectiveGeometry,
    ProjectiveSketch,
    RandomizedResponse,
    Rappor,
    SetResponse,
    Shape,
    SubsetSelection,
    SymmetricUnary,
)
from dither_shared.mechanism import MAX_CELLS, MAX_COUNTERS, NUMBERS, SPELLED, STRINGS
from dither_shared.mechanisms.projective_geometry import _risk
from dither_shared.mechanisms.randomized_response import symbol_chain
from dither_shared.primitives.bloom import bloom_positions

QUARTER, HALF, THREE_QUARTERS = Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)


def rappor(f: float = 0.5, p: float = 0.5, q: float = 0.75, **shape: int) -> Rappor:
    return Rappor(permanent_f=Fraction(f), instant_p=Fraction(p), instant_q=Fraction(q), **shape)


def test_field_is_chosen_by_the_risk_of_its_mechanism() -> None:
    for size, epsilon in ((10, 0.5), (100, 2.0), (1000, 5.0)):
        chosen = ProjectiveGeometry.calibrate(size, epsilon)
        assert _risk(size, chosen.order, math.exp(epsilon)) == pytest.approx(chosen.risk, rel=1e-9)
        assert all(_risk(size, order, math.exp(epsilon)) >= chosen.risk * (1 - 1e-9) for order in (2, 3, 4, 5, 7))


def test_variances_and_losses_equal_the_published_ones() -> None:
    """Warner's survey with γ = 3/4 and 1/4, and n·Var at ε = 1, with s = e^(ε/2)."""
    for truth in (THREE_QUARTERS, QUARTER):
        survey = RandomizedResponse(size=2, truth=truth)
        assert survey.ratio == 3
        assert survey.p - survey.q == 2 * truth - 1
        assert survey.variance(0.2) == pytest.approx(0.75)
    e, s = math.e, math.exp(0.5)
    optimized = OptimizedUnary.calibrate(1000, 1.0)
    for mechanism, frequency, published in (
        (RandomizedResponse.calibrate(10, 1.0), 0.0, (e + 8) / (e - 1) ** 2),
        (SymmetricUnary.calibrate(1000, 1.0), 0.5, s / (s - 1) ** 2),
        (optimized, 0.0, 4 * e / (e - 1) ** 2),
        (optimized, 0.3, 4 * e / (e - 1) ** 2 + 0.3),
        (OptimizedUnary.calibrate(1000, 1.0, 2.0), 0.3, optimized.variance(0.3)),  # memoisation costs nothing
        (BitFlip.calibrate(10, 1.0, 1), 0.0, 10 * e / (e - 1) ** 2),
        (BitFlip.calibrate(10, 1.0, 2), 0.0, 5 * s / (s - 1) ** 2),
    ):
        assert mechanism.variance(frequency) == pytest.approx(published, rel=1e-9), mechanism


def test_rappor_has_the_epsilons_of_its_paper() -> None:
    """f = 1/2, p = 1/2, q = 3/4, h = 2: ε∞ = 4 ln 3 (theorem 1) and ε₁ = 2 ln(q*(1-p*)/(p*(1-q*))) (theorem 2)."""
    mechanism = rappor()
    assert (mechanism.a, mechanism.b) == (Fraction(11, 16), Fraction(9, 16))
    assert mechanism.ratio == (Fraction(11, 16) * Fraction(7, 16) / (Fraction(9, 16) * Fraction(5, 16))) ** 2
    assert mechanism.epsilon == pytest.approx(1.0742858641667, abs=1e-12)
    assert mechanism.permanent_epsilon == pytest.approx(4 * math.log(3), abs=1e-14)


@pytest.mark.parametrize("size", [2, 3, 10, 100])
def test_the_chain_of_randomized_response_spends_all_of_its_epsilon(size: int) -> None:
    """The second channel's ratio is c = (b(a+k-2)-(k-1))/(a-b), which equals (ab-1)/(a-b) only for k = 2."""
    a, b = math.exp(2), math.exp(1)
    mechanism = RandomizedResponse.calibrate(size, 1.0, 2.0)
    ratio = float(symbol_chain(size, mechanism.truth, mechanism.permanent_truth).instant.ratio)
    assert ratio == pytest.approx((b * (a + size - 2) - (size - 1)) / (a - b), rel=1e-9)
    published = (a * b - 1) / (a - b)
    assert (ratio == pytest.approx(published)) == (size == 2)
    assert 0 <= 1.0 - mechanism.epsilon < 1e-12


def test_epsilon_of_repeated_reports_equals_the_published_one() -> None:
    """L-OSUE at (ε∞, ε₁) = (4, 1): 1.00, 1.95, 2.78, 3.74, 4.00 after 1, 2, 3, 5, 10; L-GRR (k = 5): 1.97 after 2."""
    unary = OptimizedUnary.calibrate(9, 1.0, 4.0)
    after = [unary.epsilon_after(reports) for reports in (1, 2, 3, 5, 10)]
    assert after == pytest.approx([1.00, 1.95, 2.78, 3.74, 4.00], abs=0.006)
    assert RandomizedResponse.calibrate(5, 1.0, 4.0).epsilon_after(2) == pytest.approx(1.97, abs=0.006)
    rappors = [rappor().epsilon_after(reports) for reports in (1, 2, 5, 10, 100)]
    assert rappors == pytest.approx([1.074, 2.017, 3.656, 4.299, 4.394], abs=0.0006)


def test_bloom_positions_are_distinct_and_uniform() -> None:
    """40,000 positions over 100 bits: chi-square with 99 degrees of freedom exceeds 190 less than once in 10^6."""
    counts = [0] * 100
    for number in range(20_000):
        first, second = bloom_positions(str(number).encode(), 1, 100, 2)
        assert first != second
        counts[first] += 1
        counts[second] += 1
    assert sum((count - 400) ** 2 / 400 for count in counts) < 190
    assert sorted(bloom_positions(b"all", 0, 3, 3)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("sketch", "bits", "cohorts"),
    [
        *((CountMeanSketch(bits=m, cohorts=n, keep=THREE_QUARTERS), m, n) for m, n in ((2, 1), (4, 3), (256, 2))),
        (ProjectiveSketch.calibrate(None, 1.0, buckets=64), 64, 2),
    ],
)
def test_collisions_of_a_sketch_follow_a_binomial_law(sketch: Mechanism, bits: int, cohorts: int) -> None:
    """The share of cohorts with a collision is Bin(M, 1/m)/M; minus its expectation, times m/(m-1)."""
    chance = Fraction(1, bits)
    law = {k: math.comb(cohorts, k) * chance**k * (1 - chance) ** (cohorts - k) for k in range(cohorts + 1)}
    bias = {k: (Fraction(k, cohorts) - chance) * Fraction(bits, bits - 1) for k in law}
    second, third = (sum(law[k] * bias[k] ** power for k in law) for power in (2, 3))
    assert sketch.collision_variance == pytest.approx(float(second))
    assert sketch.collision_cube == pytest.approx(float(third))


def test_bloom_words_beyond_the_largest_multiple_of_the_bits_are_skipped() -> None:
    """A third of 3,000 positions is in each third of the range; a deviation of 6 errors has probability 1e-9."""
    quarter = 1 << 30
    parts = [bloom_positions(b"%d" % number, 0, 3 * quarter, 1)[0] // quarter for number in range(3000)]
    assert all(abs(parts.count(part) - 1000) < 6 * math.sqrt(3000 * 2 / 9) for part in range(3))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: RandomizedResponse.calibrate(1, 1.0), "size: 1 is out of range"),
        (lambda: RandomizedResponse.calibrate(None, 1.0), "size: this mechanism needs a list"),
        (lambda: RandomizedResponse(size=2, truth=HALF), "truth: 0.5 reveals nothing"),
        (lambda: RandomizedResponse(size=2, truth=Fraction(1)), "truth: 1 leaves nothing to chance"),
        (lambda: RandomizedResponse(size=2, truth=Fraction(0)), "truth: 0 leaves nothing to chance"),
        (lambda: RandomizedResponse(size=4, truth=Fraction(1, 5)), "truth: 0.2 reveals nothing about 4"),
        (lambda: RandomizedResponse.calibrate(2, -1.0), "epsilon: -1.0 is not positive"),
        (lambda: SymmetricUnary.calibrate(2, 26.0), "epsilon: 26.0 is above 25"),
        (lambda: SymmetricUnary(size=2, keep=HALF), "keep: 0.5 must lie"),
        (lambda: SymmetricUnary(size=2, keep=Fraction(1)), "keep: 1 must lie"),
        (lambda: RandomizedResponse(size=2, truth=THREE_QUARTERS, permanent_truth=Fraction(1)), "permanent_truth: 1 "),
        (lambda: OptimizedUnary.calibrate(4, 1.0, 1.0), "permanent_epsilon: 1 must exceed epsilon = 1"),
        (lambda: OptimizedUnary(size=4, raised=HALF), "raised: 0.5 must lie"),
        (lambda: OptimizedUnary(size=4, raised=Fraction(0)), "raised: 0 must lie"),
        (lambda: LocalHashing(size=4, symbols=6, truth=HALF), "symbols: 6 is not a prime power"),
        (lambda: ProjectiveGeometry(size=4, order=6, inside=HALF), "order: 6 is not a prime power"),
        (lambda: ProjectiveGeometry(size=2, order=2, inside=Fraction(1, 9)), "inside: 0.111111 must lie"),
        (lambda: HadamardResponse(size=4, inside=HALF), "inside: 0.5 must lie"),
        (lambda: ProjectiveGeometry.calibrate(1 << 20, 1.0), "order: no finite field has at most"),
        (lambda: LocalHashing(size=1 << 20, symbols=1 << 20, truth=HALF), "symbols: 1048576 for 1048576 values"),
        (lambda: SubsetSelection(size=4, subset=4, inside=HALF), "subset: 4 is out of range"),
        (lambda: SubsetSelection(size=4, subset=0, inside=HALF), "subset: 0 is out of range"),
        (lambda: SubsetSelection(size=4, subset=2, inside=Fraction(1)), "inside: 1 must lie"),
        (lambda: SubsetSelection(size=4, subset=2, inside=HALF), "inside: 0.5 must lie"),
        (lambda: BitFlip(size=4, bits=2, keep=Fraction(1)), "keep: 1 must lie"),
        (lambda: BitFlip(size=4, bits=2, keep=HALF), "keep: 0.5 must lie"),
        (lambda: BitFlip(size=4, bits=5, keep=THREE_QUARTERS), "bits: 5 is out of range; it must lie between 1 and 4"),
        (lambda: CountMeanSketch(keep=Fraction(1)), "keep: 1 must lie"),
        (lambda: CountMeanSketch(keep=HALF), "keep: 0.5 must lie"),
        (lambda: HadamardCountMeanSketch(inside=HALF), "inside: 0.5 must lie"),
        (lambda: CountMeanSketch(bits=1, keep=THREE_QUARTERS), "bits: 1 is out of range"),
        (lambda: CountMeanSketch(bits=65537, keep=THREE_QUARTERS), "bits: 65537 is out of range"),
        (lambda: CountMeanSketch(bits=2, cohorts=65537, keep=THREE_QUARTERS), "cohorts: 65537 is out of range"),
        (lambda: RandomizedResponse.calibrate(MAX_CELLS + 1, 1.0), "size: 1048577 is out of range"),
        (lambda: CountMeanSketch.calibrate(9, 1.0), "size: count-mean-sketch takes any string"),
        (lambda: CountMeanSketch.configure(None, {"epsilon": 1.0, "bits": 60000}), "bits: 60000 in 1024 cohorts"),
        (lambda: HadamardCountMeanSketch.configure(None, {"epsilon": 1.0, "bits": 6}), "bits: 6 is not a power of 2"),
        (lambda: rappor(p=0.5, q=0.5), "q: equals p"),
        (lambda: rappor(f=0), "f: 0 must lie"),
        (lambda: rappor(f=1), "f: 1 must lie"),
        (lambda: rappor(bits=4097), "bits: 4097 is out of range"),
        (lambda: rappor(bits=4, hashes=4), "hashes: 4 is out of range"),
        (lambda: rappor(bits=1), "bits: 1 is out of range"),
        (lambda: rappor(hashes=0), "hashes: 0 is out of range"),
        (lambda: rappor(cohorts=65537), "cohorts: 65537 is out of range"),
        (lambda: Rappor.calibrate(7, 1.0), "size: rappor takes any string"),
        (lambda: Rappor.calibrate(None, 1.0, bits=4, hashes=4), "hashes: 4 is out of range"),
        (lambda: Rappor.calibrate(None, 2.0, 2.0), "permanent_epsilon: 2 must exceed epsilon = 2"),
    ],
)
def test_impossible_parameters_are_refused(make: object, complaint: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize(
    ("name", "keys", "least", "most"),
    [
        ("bit-flip", ("bits",), 1, 6),
        ("set-response", ("window",), 1, 16),
        ("privset", ("report_budget",), 1, 1 << 20),
        ("privset", ("at_most",), 1, 4096),
        ("rappor", ("bits", "hashes", "cohorts"), 1, 1 << 16),
        ("count-mean-sketch", ("bits", "cohorts"), 1, 1 << 16),
        ("hadamard-count-mean-sketch", ("bits", "cohorts"), 1, 1 << 16),
        ("projective-count-mean-sketch", ("buckets",), 2, 1 << 16),
        ("prefix-sketch", ("characters", "length", "buckets"), 1, 1 << 16),
        ("dithered-response", ("resolution",), 1, 256),
        ("dithered-response", ("steps",), 1, 1023),
        *((name, ("resolution",), 1, 128) for name in ("discrete-laplace", "exponential", "discrete-gaussian")),
    ],
)
def test_whole_numbers_of_a_definition_have_their_ranges(
    name: str, keys: tuple[str, ...], least: int, most: int
) -> None:
    """Each key is checked together with the other parameters that its family requires."""
    family = MECHANISMS[name]
    size = None if family.items in {STRINGS, SPELLED, NUMBERS} else 6
    required = {"delta": 0.01} if "delta" in family.keys else {"at_most": 2} if name == "privset" else {}
    for key, number in product(keys, (least - 1, most + 1)):
        with pytest.raises(ParameterError) as caught:
            family.configure(size, {"epsilon": 1.0, **required, key: number})
        assert str(caught.value) == f"{key}: {number} is out of range; it must lie between {least} and {most}"


def test_parameters_at_the_ends_of_their_ranges_are_accepted() -> None:
    for make in (
        lambda: RandomizedResponse.calibrate(2, 25.0),
        lambda: RandomizedResponse.calibrate(MAX_CELLS, 1.0),
        lambda: SubsetSelection(size=4, subset=1, inside=HALF),
        lambda: SubsetSelection(size=4, subset=3, inside=Fraction(9, 10)),
        lambda: BitFlip(size=4, bits=1, keep=THREE_QUARTERS),
        lambda: BitFlip(size=4, bits=4, keep=THREE_QUARTERS),
        lambda: CountMeanSketch(bits=2, cohorts=1 << 16, keep=THREE_QUARTERS),
        lambda: CountMeanSketch(bits=1 << 16, cohorts=MAX_COUNTERS >> 17, keep=THREE_QUARTERS),
        lambda: rappor(bits=2, hashes=1, cohorts=1),
        lambda: rappor(bits=4096, cohorts=1 << 16),
        lambda: rappor(bits=4, hashes=3),
    ):
        mechanism: Mechanism = make()
        assert 0 < mechanism.epsilon <= 25.0, mechanism


def test_item_outside_the_domain_is_refused_without_naming_it() -> None:
    survey = RandomizedResponse.calibrate(3, 1.0)
    assert [survey.marked(item) for item in range(3)] == [(0,), (1,), (2,)]
    for item in (-1, 3, b"1"):
        with pytest.raises(ParameterError, match="item: "):
            survey.randomize(item, KeyedEntropy(b""))
    for mechanism, item in ((survey, 314159), (rappor(), 314159)):
        with pytest.raises(ParameterError, match="item: ") as caught:
            mechanism.randomize(item, KeyedEntropy(b""))
        assert "314159" not in str(caught.value)


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanism_is_shown_and_compared_by_its_parameters_alone(name: str) -> None:
    mechanism, family = usual(name, 10), MECHANISMS[name]
    parameters = {field.name for field in fields(family) if field.init}
    shown = set(re.findall(r"(\w+)=", repr(mechanism)))
    assert parameters - {"permanent_inside"} <= shown <= parameters | {"size", "cohorts"}
    assert not parameters & {"listed", "coverage", "permanent_ratio", "delta", "ratio", "shape", "cells"}
    assert ("size" in parameters) == (family.items not in {STRINGS, SPELLED})
    assert ("cohorts" in parameters) == (name in {"rappor", "count-mean-sketch", "hadamard-count-mean-sketch"})
    again = usual(name, 10)
    assert (again, hash(again)) == (mechanism, hash(mechanism))


@pytest.mark.parametrize("name", MECHANISMS)
def test_default_cohort_is_the_first(name: str) -> None:
    mechanism = usual(name, 10)
    for number in range(9):
        item = b"%d" % number if mechanism.items.open else number
        assert mechanism.marked(item) == mechanism.marked(item, 0)
        drawn, again = (KeyedEntropy(b"cohort", b"%d" % number) for _ in range(2))
        assert mechanism.randomize(item, drawn) == mechanism.randomize(item, again, 0)


@pytest.mark.parametrize("family", [RandomizedResponse, SetResponse, DitheredResponse])
def test_truth_is_rounded_toward_no_information(family: type[Mechanism]) -> None:
    """No truth is a multiple of 2^-64: 1/3 of two symbols is below chance and rounded up, 2/5 of four is above."""
    shapes: dict[str, list[dict[str, int]]] = {
        "randomized-response": [{"size": 2}, {"size": 4}],
        "set-response": [{"size": 4, "window": 1}, {"size": 4, "window": 2}],
        "dithered-response": [{"size": 5, "steps": 1}, {"size": 7, "steps": 3}],
    }
    two, four = shapes[family.name]
    assert 0 < family(truth=Fraction(1, 3), **two).a - Fraction(1, 3) < Fraction(1, 1 << 64)  # type: ignore[call-arg]
    assert 0 < Fraction(2, 5) - family(truth=Fraction(2, 5), **four).a < Fraction(1, 1 << 64)  # type: ignore[call-arg]


def test_subset_is_a_list_where_that_halves_the_report() -> None:
    shapes = {
        (size, subset): SubsetSelection(size=size, subset=subset, inside=Fraction(9, 10)).shape
        for size, subset in ((16, 2), (16, 3), (17, 1), (17, 2))
    }
    assert [each for each, shape in shapes.items() if shape is Shape.LIST] == [(16, 2), (17, 1)]


def test_truth_of_one_report_may_come_with_a_permanent_epsilon() -> None:
    configured = RandomizedResponse.configure(4, {"truth": 0.5, "permanent_epsilon": 3.0})
    assert configured.truth == HALF
    assert configured.permanent_stage == RandomizedResponse.calibrate(4, 1.0, 3.0).permanent_stage is not None


def test_truth_between_two_integers_is_rounded_toward_chance() -> None:
    assert 0 < Fraction(2, 3) - LocalHashing(size=4, symbols=2, truth=Fraction(2, 3)).truth < Fraction(1, 2**60)
