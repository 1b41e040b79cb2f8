"""The audit: sound randomizers pass, and randomizers broken in the ways that others were are caught.

A sound one fails with probability at most 0.001; the seeds here are fixed, so it does so always or never.
"""

import math
from dataclasses import dataclass

import pytest
from scipy import stats

from dither_shared import (
    MECHANISMS,
    Entropy,
    KeyedEntropy,
    OptimizedUnary,
    ParameterError,
    RandomizedResponse,
    Rappor,
    SubsetSelection,
)
from dither_shared.mechanism import Item
from dither_shared.privacy.audit import audit
from dither_shared.privacy.binomial import lower_bound, upper_bound


def seeded(name: str) -> Entropy:
    return KeyedEntropy(b"audit", name.encode())


@pytest.mark.parametrize("name", MECHANISMS)
def test_sound_randomizers_pass_and_the_attack_is_no_straw_man(name: str) -> None:
    family = MECHANISMS[name]
    parameters = {"epsilon": 1.0}
    if family.items.open:
        parameters["bits"] = 16
    mechanism = family.configure(None if family.items.open else 8, parameters)
    finding = audit(mechanism, seeded(name), draws=20_000)
    assert finding.passed
    assert finding.declared == mechanism.epsilon
    assert finding.lower_bound > 0.6


def test_memoised_reports_are_held_to_what_many_of_them_may_tell() -> None:
    finding = audit(OptimizedUnary.calibrate(8, 1.0, 2.0), seeded("series"), draws=60_000, reports=20)
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
class TrueValueListedFirst(SubsetSelection):
    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        assert isinstance(item, int)
        return bytes([item, entropy.below(self.size)])


def test_truth_in_the_otherwise_branch_is_caught() -> None:
    sound = RandomizedResponse.calibrate(2, 1.0)
    finding = audit(TruthInTheOtherwiseBranch(size=2, truth=sound.truth), seeded("otherwise"), draws=20_000)
    assert not finding.passed
    assert finding.lower_bound > 1.5


def test_a_permanent_draw_that_redraws_is_caught_over_a_series() -> None:
    sound = Rappor.calibrate(None, 1.0, 1.5, bits=8, hashes=1, cohorts=1)
    noise = {"permanent_f": sound.permanent_f, "instant_p": sound.instant_p, "instant_q": sound.instant_q}
    broken = PermanentDrawThatRedraws(bits=8, hashes=1, cohorts=1, **noise)
    assert audit(sound, seeded("memory"), draws=60_000, reports=15).passed
    assert not audit(broken, seeded("memory"), draws=60_000, reports=15).passed


def test_a_report_that_lists_the_true_value_first_is_caught() -> None:
    sound = SubsetSelection.calibrate(16, 1.0)
    broken = TrueValueListedFirst(size=16, subset=sound.subset, inside=sound.inside)
    assert not audit(broken, seeded("order"), draws=20_000).passed


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (5_000, 10**6), (499_000, 10**6)])
def test_bounds_are_those_of_clopper_and_pearson(successes: int, trials: int) -> None:
    exact = stats.binomtest(successes, trials).proportion_ci(0.998, method="exact")
    assert lower_bound(successes, trials, 0.999) == pytest.approx(exact.low, rel=1e-9, abs=1e-12)
    assert upper_bound(successes, trials, 0.999) == pytest.approx(exact.high, rel=1e-9)


def test_too_few_draws() -> None:
    with pytest.raises(ParameterError, match="draws: 10 are too few for two series of 9"):
        audit(RandomizedResponse.calibrate(2, 1.0), seeded("few"), draws=10, reports=9)


@dataclass(frozen=True, kw_only=True)
class Dictated(RandomizedResponse):
    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        return entropy.take(1)


class Dictation(Entropy):
    """Symbols in a row, by their counts, of one input and of the other; twice, for both halves."""

    def __init__(self, one: dict[int, int], other: dict[int, int]) -> None:
        self._rows = iter(
            2 * b"".join(bytes([symbol]) * count for row in (one, other) for symbol, count in row.items())
        )

    def take(self, count: int) -> bytes:
        return bytes(next(self._rows) for _ in range(count))


@pytest.mark.parametrize(("rare", "chosen"), [(13, "3"), (15, "2")])
def test_an_event_is_chosen_by_a_level_that_allows_for_all_that_were_tried(rare: int, chosen: str) -> None:
    """Symbol 2 is seen 1,000 times and 500 times, symbol 3 100 times and ``rare`` times, so 3 speaks clearer if true.

    Of 11 events (three symbols as first byte, last byte and payload, and two scores) each is held to a failure of
    (1 - 0.999) / 22². With four times that, 3 is chosen for 15 too; with a quarter, 2 for 13 too.
    """
    mechanism = Dictated.calibrate(5, 1.0)
    finding = audit(
        mechanism,
        Dictation({2: 1000, 3: 100, 4: 1400}, {2: 500, 3: rare, 4: 2000 - rare}),
        draws=5000,
        confidence=0.999,
    )
    assert finding.event.split()[-1] == chosen
    likely, unlikely = (1000, 500) if chosen == "2" else (100, rare)
    bound = math.log(lower_bound(likely, 2500, 0.9995) / upper_bound(unlikely, 2500, 0.9995))
    assert finding.lower_bound == pytest.approx(bound)


@pytest.mark.parametrize(
    ("one", "other", "event"),
    [
        ({0: 1000, 2: 1500}, {0: 500, 2: 2000}, "score >= 1"),
        ({1: 500, 2: 2000}, {1: 1000, 2: 1500}, "score <= -1"),
        ({0: 1500, 2: 1000}, {0: 2000, 2: 500}, "score <= 0"),
        ({1: 2000, 2: 500}, {1: 1500, 2: 1000}, "score >= 0"),
    ],
)
def test_the_score_speaks_for_what_one_input_marks_and_against_what_the_other_does(
    one: dict[int, int], other: dict[int, int], event: str
) -> None:
    """Inputs 0 and 1 are compared: their symbols count 1 and -1, all others 0."""
    finding = audit(Dictated.calibrate(5, 1.0), Dictation(one, other), draws=5000)
    assert finding.event == event
    assert finding.lower_bound == pytest.approx(
        math.log(lower_bound(1000, 2500, 0.9995) / upper_bound(500, 2500, 0.9995))
    )
