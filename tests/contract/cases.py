"""Small mechanisms of every family, inputs that attain their worst case, and tests over many mechanisms."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from typing import Any, Protocol, TypeVar

from dither_shared import MECHANISMS, Mechanism, PrefixSketch, Shape
from dither_shared.mechanism import LISTED, SETS, Item
from dither_shared.mechanisms.numeric import NumericMechanism
from dither_shared.mechanisms.projective_sketch import ProjectiveBuckets, Space

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 10.0)

NUMERIC = {name: family for name, family in MECHANISMS.items() if issubclass(family, NumericMechanism)}

Case = TypeVar("Case")
Case_contra = TypeVar("Case_contra", contravariant=True)


class Property(Protocol[Case_contra]):
    """A test of one property over all its cases, or over an argument's cases."""

    def __call__(self, others: Iterable[Case_contra] | None = None) -> None:
        """Raise AssertionError that names every case for which the property does not hold."""


def each(cases: Callable[[], Iterable[Case]]) -> Callable[[Callable[[Case], None]], Property[Case]]:
    """Turn a check of one case into one test of all cases, which tries every case and names the failing ones.

    ``cases`` is called when the test runs: collecting the tests builds no mechanism.
    """

    def decorate(check: Callable[[Case], None]) -> Property[Case]:
        def test(others: Iterable[Case] | None = None) -> None:
            tried = [*(cases() if others is None else others)]
            assert tried, "there is no case, so this test could not fail"
            wrong: dict[str, Exception] = {}
            for case in tried:
                try:
                    check(case)
                except Exception as error:  # a broken law may raise anything
                    wrong[name_of(case)] = error
            if wrong:
                first, why = next(iter(wrong.items()))
                raise AssertionError(
                    f"{len(wrong)} of {len(tried)} cases fail: {', '.join(wrong)}; the first, {first}: {why!r}"
                ) from why

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorate


def usual(name: str, size: int = 8, **parameters: float | str) -> Mechanism:
    """Return a mechanism of the family as a definition asks for it, of ``size`` answers if it takes listed answers."""
    family = MECHANISMS[name]
    needed: dict[str, float] = {"delta": 1e-6, "resolution": 8} if "delta" in family.keys else {}
    if "at_most" in family.keys:
        needed["at_most"] = 3
    return family.configure(size if family.items in {LISTED, SETS} else None, {"epsilon": 1.0, **needed, **parameters})


@cache
def small_numeric(name: str, epsilon: float) -> tuple[NumericMechanism, ...]:
    """Return mechanisms of a numeric family that are small enough to enumerate."""
    family = NUMERIC[name]
    shapes: list[dict[str, float]] = [{"resolution": steps} for steps in (1, 2, 3, 8)]
    if "steps" in family.keys:
        shapes = [{"steps": m, "resolution": d} for m, d in ((1, 1), (1, 4), (2, 1), (2, 3), (3, 4), (4, 2))]
        shapes += [{"permanent_epsilon": 2 * epsilon, **shape} for shape in shapes[1:4]]
    if "delta" in family.keys:  # at a small ε the noise has too many steps to enumerate
        shapes = [{"delta": delta, "resolution": d} for delta in (1e-3, 0.01) for d in (1, 2, 3) if epsilon >= 1]
    return tuple(family.configure(None, {"epsilon": epsilon, **shape}) for shape in shapes)


def small_projective(family: type[ProjectiveBuckets], epsilon: float) -> list[Mechanism]:
    """Return sketches of few buckets: over fields of 2, 3 and 4, on lines and planes, once or permanently."""
    shape: dict[str, Any] = {"rows": 2}
    if issubclass(family, PrefixSketch):
        shape = {"rows": 1, "levels": (1, 3), "weights": (1 << 15, 1 << 14, 1 << 14)}
    cases: list[Mechanism] = []
    for order, buckets, forever in ((2, 2, None), (2, 4, None), (4, 4, None), (3, 8, None), (2, 4, 2), (3, 2, 3)):
        lasting = None if forever is None else forever * Fraction(epsilon)
        inside, permanent_inside = Space(order, buckets).insides(Fraction(epsilon), lasting)
        law: dict[str, Any] = {
            "order": order,
            "buckets": buckets,
            "inside": inside,
            "permanent_inside": permanent_inside,
        }
        cases.append(family(**shape, **law))
    return cases


@cache
def small(name: str, epsilon: float) -> tuple[Mechanism, ...]:
    """Return mechanisms of the family that are small enough to enumerate."""
    return tuple(small_numeric(name, epsilon) if name in NUMERIC else _small_of_frequencies(name, epsilon))


def _small_of_frequencies(name: str, epsilon: float) -> list[Mechanism]:
    family = MECHANISMS[name]
    if issubclass(family, ProjectiveBuckets):
        return small_projective(family, epsilon)
    if family.items.open:
        shapes = [{"bits": 4, "hashes": 1}, {"bits": 4, "hashes": 2}, {"bits": 3, "hashes": 2}]
        if "hashes" not in family.keys:
            shapes = [{"bits": 2}, {"bits": 4}]
        return [family.configure(None, {"epsilon": epsilon, "cohorts": 2, **shape}) for shape in shapes]
    if family.items.sets:
        return _small_of_sets(family, epsilon)
    cases = [family.calibrate(size, epsilon) for size in (2, 3, 5)]
    lists = family.calibrate(12, epsilon)  # few of many cells are listed by their numbers
    if lists.shape is Shape.LIST:
        cases.append(lists)
    if "bits" in family.keys:
        cases += [family.configure(4, {"epsilon": epsilon, "bits": bits}) for bits in (1, 2, 3)]
    if "permanent_epsilon" in family.keys:
        both = {"epsilon": epsilon, "permanent_epsilon": 2 * epsilon}
        cases += [family.configure(size, both) for size in (2, 3)]
    return cases


def _small_of_sets(family: type[Mechanism], epsilon: float) -> list[Mechanism]:
    """Return every shape for up to 4 values, and one with a permanent part for up to 3 values."""
    key = "at_most" if "at_most" in family.keys else "window"
    shapes = [(size, most) for size in (2, 3, 4) for most in range(1, size + 1)]
    cases = [family.configure(size, {"epsilon": epsilon, key: most}) for size, most in shapes]
    cases += [
        family.configure(size, {"epsilon": epsilon, key: most, "permanent_epsilon": 2 * epsilon})
        for size, most in shapes
        if size < 4
    ]
    return cases


def small_at(*epsilons: float) -> list[Mechanism]:
    """Return the small mechanisms of every family at each declared epsilon."""
    return [mechanism for name in MECHANISMS for epsilon in epsilons for mechanism in small(name, epsilon)]


def every_small() -> list[Mechanism]:
    """Return the small mechanisms of every family at every epsilon."""
    return small_at(*EPSILONS)


def name_of(case: object) -> str:
    """Return a readable name of a case, such as a test id."""
    if isinstance(case, tuple):
        return " ".join(map(name_of, case))
    if not isinstance(case, Mechanism):
        return str(case)
    kind = "once" if case.permanent_ratio is None else "permanent"
    return f"{case.name}-{kind}-{case.size or 'any'}-{case.cells}-{case.epsilon:.2g}"


@cache
def items(mechanism: Mechanism) -> tuple[Item, ...]:
    """Return every index, or set of indices, of a closed domain; of an open one, a value for each set of cells."""
    if mechanism.size is not None:
        if not mechanism.items.sets:
            return tuple(range(mechanism.size))
        return tuple(item for item in range(1 << mechanism.size) if item.bit_count() <= mechanism.largest)
    values: dict[tuple[frozenset[int], ...], Item] = {}
    for number in range(400):
        value = str(number).encode()
        marks = tuple(frozenset(mechanism.marked(value, cohort)) for cohort in range(mechanism.cohorts))
        values.setdefault(marks, value)
    return tuple(values.values())


def values(mechanism: Mechanism) -> tuple[Item, ...]:
    """Return the values whose shares are estimated: the members of sets, or every item."""
    return tuple(range(mechanism.size or 0)) if mechanism.items.sets else items(mechanism)


def has(mechanism: Mechanism, item: Item, value: Item) -> bool:
    """Return whether an item equals the value or, for a set, contains it."""
    if not mechanism.items.sets:
        return item == value
    assert isinstance(item, int)
    assert isinstance(value, int)
    return bool(item >> value & 1)


@cache
def items_apart(mechanism: Mechanism, cohort: int) -> tuple[Item, ...]:
    """Return one item for each set of cells that some item marks in this cohort, on which alone its law depends."""
    by_marks = {frozenset(mechanism.marked(item, cohort)): item for item in items(mechanism)}
    return tuple(by_marks.values())
