"""The first promise: the declared epsilon bounds the exact privacy loss of what is sent."""

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from contract.cases import every_small, items, items_apart, name_of, small
from contract.exact_law import exact_law, worst_excess, worst_ratio
from dither_shared import MECHANISMS, Entropy, Mechanism, Rappor
from dither_shared.mechanism import NUMBERS, Item
from dither_shared.primitives.probability import exp_below

CASES = pytest.mark.parametrize(("declared", "mechanism"), every_small(), ids=name_of)


def laws(mechanism: Mechanism, cohort: int) -> list[dict[bytes, Fraction]]:
    def law(item: Item) -> dict[bytes, Fraction]:
        return exact_law(lambda entropy: mechanism.randomize(item, entropy, cohort))

    return [law(item) for item in items_apart(mechanism, cohort)]


@CASES
def test_exact_ratio_is_the_one_stated_and_within_the_declared_epsilon(declared: float, mechanism: Mechanism) -> None:
    """Where no ratio bounds what is told, the excess beyond the one stated is exactly δ."""
    every = [laws(mechanism, cohort) for cohort in range(mechanism.cohorts)]
    if mechanism.delta:
        assert max(worst_excess(laws, mechanism.ratio) for laws in every) == mechanism.delta
    else:
        assert max(worst_ratio(laws) for laws in every) == mechanism.ratio
    assert mechanism.ratio <= exp_below(Fraction(mechanism.epsilon))
    assert mechanism.epsilon <= declared


@CASES
def test_laws_are_probabilities(declared: float, mechanism: Mechanism) -> None:
    assert declared > 0
    for cohort in range(mechanism.cohorts):
        assert all(sum(law.values()) == 1 for law in laws(mechanism, cohort))


@pytest.mark.parametrize("name", [name for name, family in MECHANISMS.items() if family.items != NUMBERS])
@pytest.mark.parametrize("size", [2, 16, 1024, 16384])
@pytest.mark.parametrize("epsilon", [0.1, 0.25, 1.0, 3.0, 10.0])
def test_no_privacy_is_given_away_unused(name: str, size: int, epsilon: float) -> None:
    """Slack (declared minus exact) under 1e-12."""
    family = MECHANISMS[name]
    mechanism = family.calibrate(None if family.items.open else size, epsilon)
    assert 0 <= epsilon - mechanism.epsilon < 1e-12


class Memory(Entropy):
    """Permanent draws of one value: made once, then the same again for each report."""

    def __init__(self, source: Entropy) -> None:
        self.source = source
        self.drawn: list[int] = []
        self.next = 0

    def take(self, count: int) -> bytes:
        raise AssertionError("a randomizer makes only draws whose law is documented")

    def _remembered(self, draw: Callable[[], int]) -> int:
        if self.next == len(self.drawn):
            self.drawn.append(draw())
        self.next += 1
        return self.drawn[self.next - 1]

    def below(self, bound: int) -> int:
        return self._remembered(lambda: self.source.below(bound))

    def bernoulli(self, threshold: int) -> bool:
        return bool(self._remembered(lambda: self.source.bernoulli(threshold)))

    def choice(self, cumulative: Sequence[int]) -> int:
        return self._remembered(lambda: self.source.choice(cumulative))

    def bernoulli_bits(self, width: int, marked: int, high: int, low: int) -> int:
        return self._remembered(lambda: self.source.bernoulli_bits(width, marked, high, low))

    def subset(self, width: int, size: int) -> int:
        return self._remembered(lambda: self.source.subset(width, size))

    def subset_meeting(self, width: int, size: int, marked: int) -> int:
        return self._remembered(lambda: self.source.subset_meeting(width, size, marked))


def smallest(name: str, permanent: bool) -> list[Mechanism]:
    cases = [case for case in small(name, 1.0) if (case.permanent_ratio is not None) == permanent and not case.delta]
    return sorted(cases, key=lambda case: case.cells)[:1]


@pytest.mark.parametrize(
    "mechanism",
    [case for name in MECHANISMS for permanent in (0, 1) for case in smallest(name, bool(permanent))],
    ids=name_of,
)
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_reports_of_one_value_tell_exactly_what_is_stated_and_never_more_than_for_ever(
    mechanism: Mechanism, reports: int
) -> None:
    if mechanism.cells**reports > 100:
        reports = 2

    def series(item: Item, cohort: int, entropy: Entropy) -> tuple[bytes, ...]:
        memory = Memory(entropy)
        sent = []
        for _ in range(reports):
            memory.next = 0
            sent.append(mechanism.randomize(item, entropy, cohort, memory))
        return tuple(sent)

    worst = Fraction(1)
    for cohort in range(mechanism.cohorts):
        values = items_apart(mechanism, cohort)
        laws = [exact_law(lambda entropy, item=item, cohort=cohort: series(item, cohort, entropy)) for item in values]  # type: ignore[misc]
        worst = max(worst, worst_ratio(laws))
    assert worst == mechanism.ratio_after(reports)
    assert mechanism.permanent_ratio is None or worst <= mechanism.permanent_ratio


@pytest.mark.parametrize(
    "mechanism", [case for name in MECHANISMS for case in small(name, 1.0) if case.permanent_ratio], ids=name_of
)
def test_a_permanent_draw_of_a_key_and_a_repetition_of_it_make_a_report(mechanism: Mechanism) -> None:
    """The law is that of ``randomize``; and each permanent draw fits a payload, and is one of the law's own."""
    for cohort in range(mechanism.cohorts):
        for item in items_apart(mechanism, cohort):
            key = mechanism.permanent_key(item, cohort)

            def twice(entropy: Entropy, key: tuple[int, ...] = key) -> bytes:
                return mechanism.repeat(mechanism.permanent_draw(key, entropy), entropy)

            whole = exact_law(lambda entropy, item=item, cohort=cohort: mechanism.randomize(item, entropy, cohort))  # type: ignore[misc]
            assert exact_law(twice) == whole
            drawn = exact_law(lambda entropy, key=key: mechanism.permanent_draw(key, entropy))  # type: ignore[misc]
            assert sum(drawn.values()) == 1
            assert max(drawn) < 1 << (8 * mechanism.row_format.payload_bytes)
            again = exact_law(lambda entropy, key=key: mechanism.permanent_draw(key[::-1], entropy))  # type: ignore[misc]
            assert drawn == again, "the order of the key tells nothing"


@pytest.mark.parametrize("mechanism", [case for name in MECHANISMS for case in smallest(name, True)], ids=name_of)
def test_epsilon_of_many_reports_rises_to_that_for_ever(mechanism: Mechanism) -> None:
    after = [mechanism.epsilon_after(reports) for reports in (1, 2, 5, 10, 50)]
    assert after == sorted(after)
    assert after[0] == mechanism.epsilon
    assert mechanism.permanent_epsilon is not None
    assert 0 <= mechanism.permanent_epsilon - after[-1] < 1e-3


def test_rappor_with_colliding_bits_tells_less_and_exactly_as_much_as_it_says() -> None:
    """Values that share bits: the ratio over a list of them is the enumerated one, below that over all strings."""
    mechanism = Rappor.calibrate(None, 1.0, 2.0, bits=4, hashes=2, cohorts=1)
    first, *others = items(mechanism)
    shared = next(item for item in others if len(set(mechanism.marked(first)) & set(mechanism.marked(item))) == 1)
    assert isinstance(first, bytes)
    assert isinstance(shared, bytes)
    pair = [exact_law(lambda entropy, item=item: mechanism.randomize(item, entropy)) for item in (first, shared)]  # type: ignore[misc]
    assert worst_ratio(pair) == mechanism.ratio_over([first, shared])
    assert mechanism.ratio_over([first, shared]) ** 2 == mechanism.ratio
    assert mechanism.ratio_over([first, first]) == 1


@pytest.mark.parametrize("f", [0.01, 0.3, 0.5, 0.999])
@pytest.mark.parametrize(("p", "q"), [(0.0, 1.0), (0.25, 0.75), (0.5, 0.75), (0.77, 0.31)])
def test_rappor_of_any_f_p_and_q_is_as_private_as_it_says(f: float, p: float, q: float) -> None:
    mechanism = Rappor(
        bits=4, hashes=1, cohorts=1, permanent_f=Fraction(f), instant_p=Fraction(p), instant_q=Fraction(q)
    )
    worst = worst_ratio(laws(mechanism, 0))
    assert worst == mechanism.ratio <= exp_below(Fraction(mechanism.epsilon))
    assert mechanism.permanent_ratio is not None
    assert mechanism.ratio <= mechanism.permanent_ratio
