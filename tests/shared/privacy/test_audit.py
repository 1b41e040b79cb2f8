"""The audit: sound randomizers pass, and randomizers with published kinds of faults or joint leaks are caught.

A sound one fails with probability at most 0.001; the seeds here are fixed, so it does so always or never.
"""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import pytest
from scipy import stats

from contract.cases import usual
from dither_shared import (
    MECHANISMS,
    DiscreteGaussian,
    Entropy,
    KeyedEntropy,
    OptimizedUnary,
    ParameterError,
    PrivSet,
    RandomizedResponse,
    Rappor,
    SetResponse,
    SubsetSelection,
)
from dither_shared.mechanism import Item
from dither_shared.mechanisms.discrete_gaussian import gaussian_noise
from dither_shared.primitives.tabulated import TabulatedLaw
from dither_shared.privacy.audit import Finding, _best_event, audit, lower_bound, upper_bound


def bound(likely: int, unlikely: int, series: int = 2500) -> object:
    """Return the approximate bound of an event that was seen in these numbers of series, at a confidence of 0.999."""
    return pytest.approx(math.log(lower_bound(likely, series, 0.9995) / upper_bound(unlikely, series, 0.9995)))


def seeded(name: str) -> Entropy:
    return KeyedEntropy(b"audit", name.encode())


@pytest.mark.parametrize(
    "name", ["randomized-response", "set-response", "rappor", "dithered-response", "discrete-gaussian"]
)
def test_sound_randomizer_passes_and_the_attack_finds_half_of_its_loss(name: str) -> None:
    """One of each kind of item, one without support and one with a δ: the ways in which the attack differs."""
    family = MECHANISMS[name]
    shape: dict[str, float] = {"delta": 0.01} if "delta" in family.keys else {}
    mechanism = usual(name, **({"bits": 16} if family.items.open else shape))
    finding = audit(mechanism, seeded(name), draws=8_000)
    assert finding.passed
    assert finding.declared == mechanism.epsilon
    assert finding.lower_bound > 0.5  # of 1: few draws show little of it, and with δ no frequent event attains it


def test_numbers_are_audited_at_the_ends_of_their_grid() -> None:
    """Reports of neighbouring points hardly differ, so the audit needs the ends."""
    finding = audit(usual("dithered-response", resolution=128), seeded("fine"), draws=8_000)
    assert finding.passed
    assert finding.lower_bound > 0.5


def test_noise_that_is_too_narrow_for_epsilon_and_delta_is_caught() -> None:
    sound = DiscreteGaussian.calibrate(None, 1.0, 0.01, resolution=2)
    assert audit(sound, seeded("delta"), draws=8_000).passed
    broken = NoiseTooNarrow(size=sound.size, deviation=sound.deviation, loss=sound.loss)
    assert not audit(broken, seeded("delta"), draws=8_000).passed


@pytest.mark.parametrize("name", ["optimized-unary", "set-response"])
def test_memoised_reports_pass_at_the_loss_of_a_series(name: str) -> None:
    finding = audit(usual(name, permanent_epsilon=2.0), seeded(f"series {name}"), draws=20_000, reports=20)
    assert finding.passed
    assert 1.0 < finding.lower_bound <= finding.declared < 2.0


@dataclass(frozen=True, kw_only=True)
class TruthInTheOtherwiseBranch(RandomizedResponse):
    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        assert isinstance(item, int)
        tells = entropy.bernoulli(self._chain.instant.threshold)
        return self.row_format.symbol(item if tells else entropy.below(self.size))


@dataclass(frozen=True, kw_only=True)
class PermanentDrawThatRedraws(Rappor):
    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        return super().randomize(item, entropy, cohort, None)


@dataclass(frozen=True, kw_only=True)
class NoiseTooNarrow(DiscreteGaussian):
    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        noise = TabulatedLaw(gaussian_noise(self.deviation / 2))
        return self.row_format.symbol(self.marked(item)[0] + noise.draw(entropy) - len(noise.weights) // 2)


@dataclass(frozen=True, kw_only=True)
class TrueValueListedFirst(SubsetSelection):
    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        assert isinstance(item, int)
        return bytes([item, entropy.below(self.size)])


@dataclass(frozen=True, kw_only=True)
class ByteThatTells(OptimizedUnary):
    place: int = 0

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        assert isinstance(item, int)
        payload = bytearray(super().randomize(item, entropy, cohort, permanent))
        payload[self.place] = item << 3  # of cells that neither of the two inputs marks
        return bytes(payload)


def test_truth_in_the_otherwise_branch_is_caught() -> None:
    sound = RandomizedResponse.calibrate(2, 1.0)
    finding = audit(TruthInTheOtherwiseBranch(size=2, truth=sound.truth), seeded("otherwise"), draws=20_000)
    assert not finding.passed
    assert finding.lower_bound > 1.5


def test_a_permanent_draw_that_redraws_is_caught_over_a_series() -> None:
    sound = Rappor.calibrate(None, 1.0, 1.5, bits=8, hashes=1, cohorts=1)
    noise = {"permanent_f": sound.permanent_f, "instant_p": sound.instant_p, "instant_q": sound.instant_q}
    broken = PermanentDrawThatRedraws(bits=8, hashes=1, cohorts=1, **noise)
    assert audit(sound, seeded("memory"), draws=15_000, reports=15).passed
    assert not audit(broken, seeded("memory"), draws=15_000, reports=15).passed


def test_a_report_that_lists_the_true_value_first_is_caught() -> None:
    sound = SubsetSelection.calibrate(16, 1.0)
    broken = TrueValueListedFirst(size=16, subset=sound.subset, inside=sound.inside)
    assert not audit(broken, seeded("order"), draws=20_000).passed


@pytest.mark.parametrize(("place", "event"), [(0, "first byte"), (-1, "last byte")])
def test_leaking_byte_without_a_marked_cell_is_caught(place: int, event: str) -> None:
    sound = OptimizedUnary.calibrate(24, 1.0)
    assert sound.row_format.payload_bytes == 3
    finding = audit(ByteThatTells(size=24, raised=sound.raised, place=place), seeded(event), draws=2_000)
    assert not finding.passed
    assert finding.event.startswith(event)


@dataclass(frozen=True, kw_only=True)
class TwoBytesThatTell(OptimizedUnary):
    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        assert isinstance(item, int)
        first, padding = entropy.below(2), bytes(self.payload_bytes - 2)
        return bytes([first << 3, *padding, (first ^ item) << 3])


@pytest.mark.parametrize(("size", "reports", "caught"), [(16, 1, True), (24, 1, False), (16, 2, False)])
def test_bytes_that_reveal_only_together_are_caught_in_one_report_of_two_bytes(
    size: int, reports: int, caught: bool
) -> None:
    finding = audit(TwoBytesThatTell(size=size, raised=Fraction(1, 4)), seeded("together"), 2_000, reports)
    assert finding.passed != caught
    assert finding.event.startswith("payload") == caught


@dataclass(frozen=True, kw_only=True)
class EachBitByItself(SetResponse):
    """A mechanism that spends the whole ε for each bit of the window, so that all bits together reveal more."""

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        chance = int(self.p * (1 << 64))
        return self.row_format.symbol(
            self.marked(item, cohort)[0] ^ entropy.bernoulli_bits(self.window, 0, 0, (1 << 64) - chance)
        )


@dataclass(frozen=True, kw_only=True)
class ValuesWithoutDummies(PrivSet):
    """A mechanism in which a small set marks fewer cells, so that its size shows."""

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        return tuple(cell for cell in super().marked(item, cohort) if cell < self.size) or (self.size,)


def test_bits_that_each_spend_the_whole_epsilon_are_caught() -> None:
    """A single bit of p = 0.81 has the loss ln(p/q) = 1.4."""
    sound = SetResponse.calibrate(6, 2.0, window=2)
    broken = EachBitByItself(size=6, window=2, truth=sound.truth)
    assert audit(sound, seeded("bits"), draws=8_000).passed
    assert not audit(broken, seeded("bits"), draws=8_000).passed


def test_sets_that_mark_fewer_cells_are_caught() -> None:
    sound = PrivSet.calibrate(4, 1.0, at_most=3)
    broken = ValuesWithoutDummies(size=4, at_most=3, subset=sound.subset, inside=sound.inside)
    assert audit(sound, seeded("dummies"), draws=8_000).passed
    assert not audit(broken, seeded("dummies"), draws=8_000).passed


@pytest.mark.parametrize(("draws", "reports"), [(17, 9), (1, 1), (10, 0)])
def test_audit_of_too_few_draws_is_refused(draws: int, reports: int) -> None:
    with pytest.raises(ParameterError, match=f"draws: {draws} are too few for two series of {reports}"):
        audit(RandomizedResponse.calibrate(2, 1.0), seeded("few"), draws=draws, reports=reports)


@pytest.mark.parametrize(("draws", "reports"), [(2, 1), (18, 9)])
def test_audit_of_one_series_per_half_has_bound_zero(draws: int, reports: int) -> None:
    finding = audit(RandomizedResponse.calibrate(2, 1.0), seeded("few"), draws=draws, reports=reports)
    assert finding.lower_bound == 0.0


@dataclass(frozen=True, kw_only=True)
class Dictated(RandomizedResponse):
    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        return entropy.take(1)


class Dictation(Entropy):
    """Symbols by their counts: of the first input, then of the second; twice, for both halves."""

    def __init__(self, first: dict[int, int], second: dict[int, int]) -> None:
        self._rows = iter(
            2 * b"".join(bytes([symbol]) * count for row in (first, second) for symbol, count in row.items())
        )

    def take(self, count: int) -> bytes:
        return bytes(next(self._rows) for _ in range(count))


@pytest.mark.parametrize(("often", "chosen"), [(500, "2"), (502, "3")])
def test_audit_chooses_an_event_at_a_level_corrected_for_all_tried_events(often: int, chosen: str) -> None:
    """Symbol 2 is seen 1,000 times and ``often``, symbol 3 100 times and 14 times, so 3 is stronger evidence if real.

    Each of 11 events (three symbols as first byte, last byte and payload, and two scores) may fail with probability
    (1 - 0.999) / 22². With one event less, 3 is chosen for 500 too; with one more, 2 is chosen for 502 too.
    """
    mechanism = Dictated.calibrate(5, 1.0)
    finding = audit(
        mechanism,
        Dictation({2: 1000, 3: 100, 4: 1400}, {2: often, 3: 14, 4: 2486 - often}),
        draws=5000,
        confidence=0.999,
    )
    assert finding.event.split()[-1] == chosen
    assert finding.lower_bound == (bound(1000, often) if chosen == "2" else bound(100, 14))


@pytest.mark.parametrize(("often", "chosen"), [(574, "2"), (575, "3")])
def test_audit_tries_the_events_whose_counts_differ_most(often: int, chosen: str) -> None:
    """Of 75 events 64 and two scores are tried; 22 symbols are more frequent than symbol 3 but reveal little."""
    few, more = dict.fromkeys(range(5, 27), 63), dict.fromkeys(range(5, 27), 86)
    finding = audit(
        Dictated.calibrate(27, 1.0),
        Dictation({2: 1000, 3: 100, 4: 14, **few}, {2: often, 3: 13, 4: 595 - often, **more}),
        draws=5000,
    )
    assert finding.event.split()[-1] == chosen


def test_audit_tries_a_rare_event_that_differs_by_more_than_chance_before_frequent_ones_that_do_not() -> None:
    telling, *others = (("payload", number) for number in range(66))
    one, two = Counter(dict.fromkeys(others, 5_000)), Counter(dict.fromkeys(others, 4_900))
    one[telling], two[telling] = 100, 10
    assert _best_event([one, two], 10**6, 0.999, 0.0) == (telling, 0)


def test_audit_bound_deducts_delta() -> None:
    """The bound is that of an event whose probability is lower by δ."""
    mechanism = Dictated.calibrate(5, 1.0)
    object.__setattr__(mechanism, "delta", Fraction(1, 100))
    finding = audit(mechanism, Dictation({0: 1000, 2: 1490, 3: 10}, {0: 500, 2: 2000}), draws=5000)
    assert finding.event == "score >= 1"
    bound = math.log((lower_bound(1000, 2500, 0.9995) - 0.01) / upper_bound(500, 2500, 0.9995))
    assert finding.lower_bound == pytest.approx(bound)


@pytest.mark.parametrize(
    ("first", "second", "event"),
    [
        ({0: 1000, 2: 1500}, {0: 500, 2: 2000}, "score >= 1"),
        ({1: 500, 2: 2000}, {1: 1000, 2: 1500}, "score <= -1"),
        ({0: 1500, 2: 1000}, {0: 2000, 2: 500}, "score <= 0"),
        ({1: 2000, 2: 500}, {1: 1500, 2: 1000}, "score >= 0"),
    ],
)
def test_audit_score_adds_one_inputs_cells_and_subtracts_the_others(
    first: dict[int, int], second: dict[int, int], event: str
) -> None:
    """Inputs 0 and 1 are compared: their symbols count 1 and -1, all others 0."""
    finding = audit(Dictated.calibrate(5, 1.0), Dictation(first, second), draws=5000)
    assert finding.event == event
    assert finding.lower_bound == bound(1000, 500)


@dataclass(frozen=True, kw_only=True)
class DictatedBits(Rappor):
    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        return (0, 1) if item == b"0" else (2, 3)

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        return entropy.take(1)


@pytest.mark.parametrize("other", [0b0000, 0b0001, 0b0010, 0b0111, 0b1111, 0b1000])
@pytest.mark.parametrize(("marked", "event"), [(0b0011, "score >= 1"), (0b1100, "score <= -1")])
def test_audit_assigns_a_row_with_all_cells_of_only_one_input_to_it(marked: int, event: str, other: int) -> None:
    """The other four bits do not matter; each sort has 16 rows, so that no single row reveals as much as its sort."""
    often, seldom = (
        {high << 4 | low: count for high in range(16) for low, count in ((marked, telling), (other, 160 - telling))}
        for telling in (100, 50)
    )
    counts = (often, seldom) if marked == 0b0011 else (seldom, often)
    f = Fraction(1, 2)
    mechanism = DictatedBits(bits=8, hashes=2, cohorts=1, permanent_f=f, instant_p=f, instant_q=f / 2)
    finding = audit(mechanism, Dictation(*counts), draws=5120)
    assert finding.event == event
    assert finding.lower_bound == bound(1600, 800, 2560)


@dataclass(frozen=True, kw_only=True)
class FarApart(Rappor):
    """All strings mark the same cells in every cohort, except the last string that is tried, in the last cohort."""

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        return (2, 3) if (item, cohort) == (b"39", 3) else (1, 2) if item == b"1" else (0, 1)

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        return bytes([int((item, cohort) == (b"39", 3))])


@dataclass(frozen=True, kw_only=True)
class ThirdOfMany(OptimizedUnary):
    """A mechanism of which only the third value marks a cell."""

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        return (0,) if item == 2 else ()

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        return bytes([int(item == 2)])


def test_audit_compares_the_inputs_that_mark_the_most_different_cells() -> None:
    f = Fraction(1, 2)
    strings = FarApart(bits=8, hashes=2, cohorts=9, permanent_f=f, instant_p=f, instant_q=f / 2)
    for mechanism in (strings, ThirdOfMany(size=8, raised=Fraction(1, 4))):
        assert not audit(mechanism, seeded("apart"), draws=500).passed


@dataclass(frozen=True, kw_only=True)
class OneValueRemembered(OptimizedUnary):
    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        return (permanent if item == 0 and permanent is not None else entropy).take(1)


def test_audit_compares_whether_two_reports_are_equal() -> None:
    finding = audit(OneValueRemembered(size=8, raised=Fraction(1, 4)), seeded("twice"), draws=4_000, reports=2)
    assert not finding.passed
    assert finding.event.startswith("distinct reports")


@pytest.mark.parametrize(("draws", "reports"), [(4_000, 1), (4_000, 3), (9_000, 1_500)])
def test_audit_progress_is_reported_about_every_thousand_reports(draws: int, reports: int) -> None:
    progress: list[int] = []
    audit(RandomizedResponse.calibrate(2, 1.0), seeded("progress"), draws, reports, drawn=progress.append)
    (each,) = set(progress)
    assert 1000 - reports < each <= max(1000, reports)
    assert 2 * draws - 4 * each < sum(progress) <= 2 * draws


@pytest.mark.parametrize(("loss", "passed"), [(1.0, True), (math.nextafter(1.0, 2.0), False)])
def test_audit_passes_up_to_the_declared_loss(loss: float, passed: bool) -> None:
    assert Finding("x", 1, 1.0, loss, 0.999, 100, "score >= 1").passed == passed


def test_audit_at_extreme_confidence_still_chooses_the_best_event() -> None:
    dictation = Dictation({0: 600, 1: 900, 3: 1000}, {0: 600, 1: 1300, 3: 600})  # the scores reveal less than symbol 3
    finding = audit(Dictated.calibrate(5, 1.0), dictation, draws=5000, confidence=1 - 1e-14)
    assert finding.event == "first byte 3"
    assert finding.lower_bound > 0.04


@pytest.mark.parametrize(
    ("successes", "trials"),
    [(0, 1), (1, 1), (3, 10), (10, 10), (499_000, 10**6), (10**6 - 1, 10**6)],
)
def test_audit_bounds_equal_clopper_and_pearsons(successes: int, trials: int) -> None:
    exact = stats.binomtest(successes, trials).proportion_ci(0.998, method="exact")
    assert lower_bound(successes, trials, 0.999) == pytest.approx(exact.low, rel=1e-9, abs=1e-12)
    assert upper_bound(successes, trials, 0.999) == pytest.approx(exact.high, rel=1e-9)


def test_bound_that_a_float_cannot_tell_from_1_is_1() -> None:
    assert upper_bound(10**6 - 1, 10**6, math.nextafter(1, 0)) == 1.0
