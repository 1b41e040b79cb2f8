"""Small mechanisms of every family in the registry, and inputs that bring out their worst case."""

from dither_shared import MECHANISMS, Mechanism, Shape
from dither_shared.mechanism import Item

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 10.0)


def small(name: str, epsilon: float) -> list[Mechanism]:
    """Return mechanisms of the family that are small enough to enumerate."""
    family = MECHANISMS[name]
    if family.items.open:
        shapes = [{"bits": 4, "hashes": 1}, {"bits": 4, "hashes": 2}, {"bits": 3, "hashes": 2}]
        if "hashes" not in family.keys:
            shapes = [{"bits": 2}, {"bits": 4}]
        return [family.configure(None, {"epsilon": epsilon, "cohorts": 2, **shape}) for shape in shapes]
    cases = [family.calibrate(size, epsilon) for size in (2, 3, 5)]
    lists = family.calibrate(12, epsilon)  # a few of so many cells are listed by their numbers
    if lists.shape is Shape.LIST:
        cases.append(lists)
    if "bits" in family.keys:
        cases += [family.configure(4, {"epsilon": epsilon, "bits": bits}) for bits in (1, 2, 3)]
    if "permanent_epsilon" in family.keys:
        both = {"epsilon": epsilon, "permanent_epsilon": 2 * epsilon}
        cases += [family.configure(size, both) for size in (2, 3)]
    return cases


def every_small() -> list[tuple[float, Mechanism]]:
    """Return (declared epsilon, mechanism) over the whole registry."""
    return [(epsilon, mechanism) for name in MECHANISMS for epsilon in EPSILONS for mechanism in small(name, epsilon)]


def name_of(case: object) -> str:
    """Return a readable test id."""
    if not isinstance(case, Mechanism):
        return str(case)
    kind = "once" if case.permanent_ratio is None else "permanent"
    return f"{case.name}-{kind}-{case.size or 'any'}-{case.cells}-{case.epsilon:.2g}"


def items(mechanism: Mechanism) -> list[Item]:
    """Return every index of a closed domain; of an open one, a value for each set of cells there is."""
    if mechanism.size is not None:
        return list(range(mechanism.size))
    found: dict[tuple[frozenset[int], ...], Item] = {}
    for number in range(400):
        value = str(number).encode()
        marks = tuple(frozenset(mechanism.marked(value, cohort)) for cohort in range(mechanism.cohorts))
        found.setdefault(marks, value)
    return list(found.values())


def items_apart(mechanism: Mechanism, cohort: int) -> list[Item]:
    """Return one item for each set of cells that some item marks in this cohort: all that its law depends on."""
    by_marks = {frozenset(mechanism.marked(item, cohort)): item for item in items(mechanism)}
    return list(by_marks.values())
