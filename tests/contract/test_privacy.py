"""The first promise: the declared epsilon bounds the exact privacy loss of a report."""

from collections.abc import Mapping
from fractions import Fraction
from functools import partialmethod
from itertools import product
from typing import Any

from contract.cases import EPSILONS, each, items, items_apart, small, small_at, small_numeric
from contract.exact_law import exact_law, law_of, worst_excess, worst_ratio
from dither_shared import MECHANISMS, Entropy, Mechanism, Rappor
from dither_shared.mechanism import NUMBERS, Item
from dither_shared.primitives.probability import exp_below


def laws(mechanism: Mechanism, cohort: int) -> list[Mapping[bytes, Fraction]]:
    return [law_of(mechanism, item, cohort) for item in items_apart(mechanism, cohort)]


@each(lambda: [(epsilon, case) for name in MECHANISMS for epsilon in EPSILONS for case in small(name, epsilon)])
def test_exact_ratio_is_the_stated_one_and_spends_the_declared_epsilon(case: tuple[float, Mechanism]) -> None:
    """If no ratio bounds the loss, the excess beyond the stated one is exactly δ. Every law adds up to 1."""
    declared, mechanism = case
    every = [laws(mechanism, cohort) for cohort in range(mechanism.cohorts)]
    assert all(sum(law.values()) == 1 for laws in every for law in laws)
    if mechanism.delta:
        assert max(worst_excess(laws, mechanism.ratio) for laws in every) == mechanism.delta
    else:
        assert max(worst_ratio(laws) for laws in every) == mechanism.ratio
    assert mechanism.ratio <= exp_below(Fraction(mechanism.epsilon))
    assert 0 <= declared - mechanism.epsilon < 1e-10


@each(
    lambda: product(
        [name for name, family in MECHANISMS.items() if family.items != NUMBERS],
        (2, 16, 1024, 16384),
        (0.1, 0.25, 1.0, 3.0, 10.0),
    )
)
def test_calibration_leaves_no_privacy_unused(case: tuple[str, int, float]) -> None:
    """Slack (declared minus exact) under 1e-12."""
    name, size, epsilon = case
    family = MECHANISMS[name]
    mechanism = family.calibrate(None if family.items.open else size, epsilon)
    assert 0 <= epsilon - mechanism.epsilon < 1e-12


class Memory(Entropy):
    """Permanent draws of one value: made once and repeated for each report."""

    def __init__(self, source: Entropy) -> None:
        self.source = source
        self.drawn: list[int] = []
        self.next = 0

    def take(self, count: int) -> bytes:
        raise AssertionError("a randomizer makes only draws whose law is documented")

    def remember(self, draw: str, *arguments: Any) -> int:
        if self.next == len(self.drawn):
            self.drawn.append(getattr(self.source, draw)(*arguments))
        self.next += 1
        return self.drawn[self.next - 1]


for draw in ("below", "bernoulli", "choice", "bernoulli_bits", "subset", "subset_meeting"):
    setattr(Memory, draw, partialmethod(Memory.remember, draw))


def smallest(permanent: bool) -> list[Mechanism]:
    """Return the smallest mechanism of each family with a permanent draw, or without, unless it has a δ."""
    smallest = []
    for name in MECHANISMS:
        cases = [case for case in small(name, 1.0) if case.memoised == permanent and not case.delta]
        smallest += sorted(cases, key=lambda case: case.cells)[:1]
    return smallest


def few_cells() -> list[Mechanism]:
    """Return mechanisms for which the laws of two or three reports of one value can be enumerated."""
    phased = [case for case in small_numeric("dithered-response", 1.0) if case.cells <= 3]
    subsets = [case for case in small("privset", 1.0) if case.memoised and case.marks == 2 and case.size == 2]
    return [*smallest(permanent=False), *smallest(permanent=True), *phased, *subsets]


def series_law(mechanism: Mechanism, item: Item, cohort: int, reports: int) -> Mapping[tuple[bytes, ...], Fraction]:
    """Return the joint law of several reports of one value by one device, in one cohort."""

    def series(entropy: Entropy) -> tuple[bytes, ...]:
        memory = Memory(entropy)
        sent = []
        for _ in range(reports):
            memory.next = 0
            sent.append(mechanism.randomize(item, entropy, cohort, memory))
        return tuple(sent)

    return exact_law(series)


@each(lambda: product((1, 2, 3), few_cells()))
def test_reports_of_one_value_lose_exactly_the_stated_privacy_and_never_more_than_the_permanent_bound(
    case: tuple[int, Mechanism],
) -> None:
    reports, mechanism = case
    if mechanism.cells**reports > 100:
        reports = min(reports, 2)
    worst = Fraction(1)
    for cohort in range(mechanism.cohorts):
        apart = items_apart(mechanism, cohort)
        worst = max(worst, worst_ratio([series_law(mechanism, item, cohort, reports) for item in apart]))
    assert worst == mechanism.ratio_after(reports)
    assert mechanism.permanent_ratio is None or worst <= mechanism.permanent_ratio


@each(lambda: [case for case in small_at(1.0) if case.permanent_ratio])
def test_permanent_draw_by_key_and_its_repetition_have_the_law_of_randomize(mechanism: Mechanism) -> None:
    """Each permanent draw also fits a payload, and the order of a key's items does not matter."""
    for cohort in range(mechanism.cohorts):
        for item in items_apart(mechanism, cohort):
            key = mechanism.permanent_key(item, cohort)

            def twice(entropy: Entropy, key: tuple[int, ...] = key) -> bytes:
                return mechanism.repeat(mechanism.permanent_draw(key, entropy), entropy)

            assert exact_law(twice) == law_of(mechanism, item, cohort)
            drawn = exact_law(lambda entropy, key=key: mechanism.permanent_draw(key, entropy))  # type: ignore[misc]
            assert sum(drawn.values()) == 1
            assert max(drawn) < 1 << (8 * mechanism.row_format.payload_bytes)
            again = exact_law(lambda entropy, key=key: mechanism.permanent_draw(key[::-1], entropy))  # type: ignore[misc]
            assert drawn == again


@each(lambda: smallest(permanent=True))
def test_epsilon_of_many_reports_rises_to_the_permanent_one(mechanism: Mechanism) -> None:
    after = [mechanism.epsilon_after(reports) for reports in (1, 2, 5, 10, 50)]
    assert after == sorted(after)
    assert after[0] == mechanism.epsilon
    assert mechanism.permanent_epsilon is not None
    assert 0 <= mechanism.permanent_epsilon - after[-1] < 1e-3


def test_rappor_values_with_shared_bits_lose_exactly_the_ratio_over_their_list() -> None:
    """The ratio over a list of values is below the ratio over all strings."""
    mechanism = Rappor.calibrate(None, 1.0, 2.0, bits=4, hashes=2, cohorts=1)
    first, *others = items(mechanism)
    shared = next(item for item in others if len(set(mechanism.marked(first)) & set(mechanism.marked(item))) == 1)
    assert isinstance(first, bytes)
    assert isinstance(shared, bytes)
    pair = [law_of(mechanism, item) for item in (first, shared)]
    assert worst_ratio(pair) == mechanism.ratio_over([first, shared])
    assert mechanism.ratio_over([first, shared]) ** 2 == mechanism.ratio
    assert mechanism.ratio_over([first, first]) == 1


@each(lambda: product((0.01, 0.3, 0.5, 0.999), ((0.0, 1.0), (0.25, 0.75), (0.5, 0.75), (0.77, 0.31))))
def test_rappor_with_any_f_p_and_q_has_the_stated_ratio(case: tuple[float, tuple[float, float]]) -> None:
    f, (p, q) = case
    mechanism = Rappor(
        bits=4, hashes=1, cohorts=1, permanent_f=Fraction(f), instant_p=Fraction(p), instant_q=Fraction(q)
    )
    worst = worst_ratio(laws(mechanism, 0))
    assert worst == mechanism.ratio <= exp_below(Fraction(mechanism.epsilon))
    assert mechanism.permanent_ratio is not None
    assert mechanism.ratio <= mechanism.permanent_ratio
