"""Select strata: the reports of an answer, by the attributes that devices send in the clear."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dither_shared import Metric, ParameterError, Strata

from .parameters import Chosen, refuse_unknown

_OTHER = "other_"
"""The prefix of arguments about the other side of a comparison."""


@dataclass(frozen=True)
class Subgroup:
    """The reports of some strata, all together.

    ``values`` are each attribute with its value, None for any; for a metric without strata there are none, and
    ``places`` is None.
    """

    values: tuple[tuple[str, str | None], ...] = ()
    places: tuple[int, ...] | None = None

    @property
    def about(self) -> dict[str, object]:
        """The fields of an answer that name it; none if the metric has no strata."""
        return {"stratum": dict(self.values)} if self.values else {}

    @property
    def label(self) -> str:
        """The chosen values, as in the label of a stratum."""
        return " / ".join(value for _, value in self.values if value is not None)

    def overlaps(self, other: "Subgroup") -> bool:
        """Return whether both hold reports of one stratum, if they are of one metric version."""
        return self.places is None or other.places is None or not set(self.places).isdisjoint(other.places)


EVERYONE = Subgroup()
"""All reports of a metric without strata."""


def part_of(metric: Metric, chosen: Chosen, known: Iterable[str] = ()) -> Subgroup:
    """Return the reports whose attributes have the ``chosen`` values; if none are chosen, all reports.

    Raises ParameterError for an attribute that the metric does not have, listing what else is ``known`` there, or for a
    value that is not listed.
    """
    strata = metric.strata
    for name, _ in chosen:
        if strata is None or name not in strata.names:
            refuse_unknown(name, [*known, *(() if strata is None else strata.names)])
    return EVERYONE if strata is None else _part(strata, dict(chosen))


def has_stratum(metric: Metric, chosen: Chosen) -> bool:
    """Return whether reports of a metric version can have these attributes with these values."""
    listed = {} if metric.strata is None else {one.name: one.values for one in metric.strata.attributes}
    return all(value in listed.get(name, ()) for name, value in chosen)


def parts_by(metric: Metric, part: Subgroup, by: Sequence[str]) -> list[Subgroup]:
    """Return the parts of a part, one for each combination of values of the attributes ``by``; without any, itself.

    Raises ParameterError for an attribute that the metric does not have, or whose value is already chosen.
    """
    strata = metric.strata
    for name in by:
        if strata is None or name not in strata.names:
            there = "it has none" if strata is None else f"known: {', '.join(strata.names)}"
            raise ParameterError("by", f"names no attribute of {metric.name}; {there}")
        if dict(part.values)[name] is not None:
            raise ParameterError("by", f"{name} has only one value in this query; leave out one of the two")
    if strata is None or not by:
        return [part]
    fixed = {name: value for name, value in part.values if value is not None}
    kept = [place for place, name in enumerate(strata.names) if name in by]
    cells = [strata.cells[place] for place in part.places or ()]
    combined = dict.fromkeys(tuple(cell[place] for place in kept) for cell in cells)
    named = [strata.names[place] for place in kept]
    return [_part(strata, fixed | dict(zip(named, one, strict=True))) for one in combined]


def both_sides(first: Metric, second: Metric, chosen: Chosen, known: Iterable[str]) -> tuple[Subgroup, Subgroup]:
    """Return the part of each side of a comparison.

    ``platform=linux`` applies to both sides that have such an attribute, ``other_platform=windows`` only to the second.
    Raises ParameterError as ``part_of`` does.
    """
    ours, theirs = (() if one.strata is None else one.strata.names for one in (first, second))
    both = [(name, value) for name, value in chosen if name in ours]
    only = {name.removeprefix(_OTHER): value for name, value in chosen if name not in ours}
    for name, _ in chosen:
        if name not in ours and not (name.startswith(_OTHER) and name.removeprefix(_OTHER) in theirs):
            refuse_unknown(name, [*known, *ours, *(_OTHER + one for one in theirs)])
    other = {name: value for name, value in both if name in theirs} | only
    return part_of(first, tuple(both)), part_of(second, tuple(other.items()))


def _part(strata: Strata, values: Mapping[str, str]) -> Subgroup:
    return Subgroup(tuple((name, values.get(name)) for name in strata.names), strata.places(values))
