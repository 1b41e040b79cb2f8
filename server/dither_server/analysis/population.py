"""The population: known shares of people by declared attributes, and the weights of strata that follow from them.

    source = "Downloads of November 2026"   # shown beside the estimates
    most_weight = 10

    [margins.platform]
    linux = 0.2
    windows = 0.5
    macos = 0.3

    [[joint]]
    attributes = ["channel", "age"]
    cells = {"stable/new" = 0.3, "stable/old" = 0.5, "beta/new" = 0.1, "beta/old" = 0.1}

Several margins are met together by raking (iterative proportional fitting; Deming and Stephan 1940): the shares of
strata are those nearest to the reported ones, in Kullback-Leibler divergence, that have the margins.
"""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np

from dither_shared import Metric, ParameterError, Strata
from dither_shared.errors import did_you_mean
from dither_shared.wire import OTHER

from ..tally.arrays import Booleans, Floats, Indices

MOST_WEIGHT = 10.0
"""The largest weight unless the file has another: a report may not stand for more than ten times its share."""

_LARGEST = 1 << 20
"""Maximum bytes of the file."""

_ROUNDING = 0.005
"""How far shares may be from adding up to 1, because people round them; they are divided by their sum."""

_ROUNDS, _MET = 2_000, 1e-10
"""Maximum rounds of raking, and the tolerance within which each share must be met."""

_KEYS = {"source", "most_weight", "margins", "joint"}


@dataclass(frozen=True)
class _Margin:
    """The shares of people with each combination of values of some attributes; ``place`` names it in the file."""

    place: str
    attributes: tuple[str, ...]
    shares: Mapping[tuple[str, ...], float]

    @classmethod
    def read(cls, place: str, attributes: tuple[str, ...], table: object) -> Self:
        """Return a margin of a table of labels and shares. Raises ParameterError for invalid shares."""
        if not isinstance(table, dict) or not table:
            raise ParameterError(place, "not a table of values and their shares, such as {linux = 0.2, windows = 0.8}")
        shares = {}
        for label, share in table.items():
            values = tuple(label.split("/")) if len(attributes) > 1 else (label,)
            if len(values) != len(attributes):
                raise ParameterError(f"{place}.{label:.40}", f"not a value of each of {', '.join(attributes)}")
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
                raise ParameterError(f"{place}.{label:.40}", "not a share from 0 to 1")
            shares[values] = float(share)
        total = math.fsum(shares.values())
        if abs(total - 1) > _ROUNDING:
            raise ParameterError(place, f"the shares add up to {total:.4g}, not to 1")
        return cls(place, attributes, {values: share / total for values, share in shares.items()})

    def sums(self, attributes: Sequence[str]) -> dict[tuple[str, ...], float]:
        """Return the shares of the combinations of some of its attributes."""
        kept = [self.attributes.index(name) for name in attributes]
        sums: dict[tuple[str, ...], float] = {}
        for values, share in self.shares.items():
            part = tuple(values[place] for place in kept)
            sums[part] = sums.get(part, 0.0) + share
        return sums


@dataclass(frozen=True)
class KnownPopulation:
    """Margins that are taken as known, the source from which they are, and the largest weight that is accepted."""

    margins: tuple[_Margin, ...]
    source: str = ""
    most_weight: float = MOST_WEIGHT

    @classmethod
    def load(cls, path: str | Path, metrics: Mapping[str, Metric]) -> Self:
        """Return the population of a file; raise ParameterError if it cannot be read, or does not fit the metrics."""
        try:
            with Path(path).open("rb") as file:
                text = file.read(_LARGEST + 1).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise ParameterError(str(path), f"cannot be read: {reason}") from None
        if len(text) > _LARGEST:
            raise ParameterError(str(path), f"longer than {_LARGEST} bytes, the maximum for a population")
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ParameterError(str(path), f"not TOML: {error}") from None
        except (ValueError, RecursionError):
            raise ParameterError(str(path), "a number or a list in it is too long to be read") from None
        try:
            found = cls.read(document)
            found.require_known(metrics)
        except ParameterError as error:
            raise error.within(f"{path}: ") from None
        return found

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """Return the population of a TOML document. Raises ParameterError at the key that is wrong."""
        for key in document:
            if key not in _KEYS:
                raise ParameterError(f"{key:.40}", f"unknown{did_you_mean(key, sorted(_KEYS))}")
        source, most = document.get("source", ""), document.get("most_weight", MOST_WEIGHT)
        if not isinstance(source, str) or len(source) > 200:
            raise ParameterError("source", "not a text of at most 200 characters")
        if isinstance(most, bool) or not isinstance(most, int | float) or not 1 <= most <= 1000:
            raise ParameterError("most_weight", "not a number from 1 to 1000")
        margins, joint = document.get("margins", {}), document.get("joint", [])
        if not isinstance(margins, dict) or not isinstance(joint, list) or not (margins or joint):
            raise ParameterError("margins", "none; give a table such as [margins.platform], or [[joint]]")
        found = [_Margin.read(f"margins.{name:.40}", (name,), table) for name, table in margins.items()]
        found += [_joint(f"joint[{place}]", table) for place, table in enumerate(joint)]
        _require_agreement(found)
        return cls(tuple(found), source, float(most))

    def require_known(self, metrics: Mapping[str, Metric]) -> None:
        """Raise ParameterError for an attribute or a value that no metric declares."""
        declared: dict[str, set[str]] = {}
        for name, values in chain.from_iterable(one.strata.attributes for one in metrics.values() if one.strata):
            declared.setdefault(name, set()).update(values)
        for margin in self.margins:
            for place, name in enumerate(margin.attributes):
                if name not in declared:
                    raise ParameterError(
                        margin.place, f"no metric declares {name:.40}{did_you_mean(name, sorted(declared))}"
                    )
                for value in sorted({values[place] for values in margin.shares} - declared[name]):
                    meant = did_you_mean(value, sorted(declared[name]))
                    raise ParameterError(margin.place, f"no metric declares {name}={value:.40}{meant}")

    def of(self, metric: Metric) -> tuple[_Margin, ...]:
        """Return the margins of the attributes that a metric declares, summed over others."""
        names = metric.strata.names if metric.strata else ()
        kept = [(one, tuple(name for name in one.attributes if name in names)) for one in self.margins]
        return tuple(_Margin(one.place, some, one.sums(some)) for one, some in kept if some)

    def shares(self, metric: Metric, reports: Floats) -> Floats:
        """Return the share of people in each cell of a metric's strata, given the reports of each cell.

        Raises ParameterError if the metric has none of the attributes, if the file lacks a value that it declares, if
        people whom the margins count have sent no report, if raking does not meet the margins, or if a report would
        weigh more than ``most_weight``.
        """
        strata, margins = metric.strata, self.of(metric)
        if strata is None or not margins:
            known = ", ".join(dict.fromkeys(chain.from_iterable(one.attributes for one in self.margins)))
            raise ParameterError(
                "weighted", f"{metric.name} declares none of the attributes of the population: {known}"
            )
        targets = [_target(margin, strata) for margin in margins]
        shares = reports * np.all([target[place] > 0 for target, place in targets], axis=0)
        for margin, (target, place) in zip(margins, targets, strict=True):
            missing = np.flatnonzero((target > 0) & (np.bincount(place, shares, len(target)) == 0))
            if len(missing):
                label = "/".join(strata_values(strata, margin.attributes, int(np.argmax(place == missing[0]))))
                raise ParameterError(
                    "weighted",
                    f"{margin.place}: no report from {label}, which is {target[missing[0]]:.3g} of the population; "
                    "ask for more days, or join it with another value",
                )
        shares = _raked(shares / shares.sum(), targets)
        weights = shares / np.where(reports > 0, reports / reports[shares > 0].sum(), 1)
        if weights.max() > self.most_weight * (1 + 1e-9):
            label = strata.labels[int(weights.argmax())]
            raise ParameterError(
                "weighted",
                f"a report from {label} would weigh {weights.max():.3g}, and most_weight is {self.most_weight:g}; "
                "ask for more days, join strata, or raise most_weight",
            )
        return shares


def strata_values(strata: Strata, attributes: Sequence[str], cell: int) -> tuple[str, ...]:
    """Return the values of some attributes in a cell."""
    return tuple(strata.cells[cell][strata.names.index(name)] for name in attributes)


def _joint(place: str, table: object) -> _Margin:
    if not isinstance(table, dict) or set(table) != {"attributes", "cells"}:
        raise ParameterError(place, 'not a table of attributes = ["platform", "channel"] and cells')
    names = table["attributes"]
    if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise ParameterError(f"{place}.attributes", "not a list of two attributes or more")
    if len(set(names)) < len(names):
        raise ParameterError(f"{place}.attributes", "names an attribute twice")
    return _Margin.read(f"{place}.cells", tuple(names), table["cells"])


def _require_agreement(margins: Sequence[_Margin]) -> None:
    """Raise ParameterError if two margins give the same attributes other shares."""
    for index, one in enumerate(margins):
        for other in margins[:index]:
            both = [name for name in one.attributes if name in other.attributes]
            if not both:
                continue
            ours, theirs = one.sums(both), other.sums(both)
            for values in sorted(ours.keys() | theirs.keys()):
                if abs(ours.get(values, 0.0) - theirs.get(values, 0.0)) > _ROUNDING:
                    label, given = "/".join(values), f"{ours.get(values, 0.0):.4g}"
                    raise ParameterError(
                        one.place, f"{label:.40} is {given}, and {theirs.get(values, 0.0):.4g} in {other.place}"
                    )


def _target(margin: _Margin, strata: Strata) -> tuple[Floats, Indices]:
    """Return the share of each combination, and the combination of each cell. The file may leave out "other"."""
    combined = [strata_values(strata, margin.attributes, cell) for cell in range(len(strata))]
    numbered = {values: place for place, values in enumerate(dict.fromkeys(combined))}
    for values in numbered:
        if values not in margin.shares and OTHER not in values:
            raise ParameterError("weighted", f"{margin.place}: lacks {'/'.join(values)}; give it 0 if nobody has it")
    for values in margin.shares:
        if values not in numbered:
            raise ParameterError("weighted", f"{margin.place}: has {'/'.join(values)}, which this metric does not list")
    target = np.array([margin.shares.get(values, 0.0) for values in numbered])
    return target, np.array([numbered[values] for values in combined], dtype=np.intp)


def _raked(shares: Floats, targets: Sequence[tuple[Floats, Indices]]) -> Floats:
    """Return the shares scaled to each margin in turn until all are met."""
    for _ in range(_ROUNDS):
        for target, place in targets:
            have = np.asarray(np.bincount(place, shares, len(target)), dtype=np.float64)
            shares = np.asarray(shares * (target / np.where(have > 0, have, 1))[place])
        if all(np.abs(np.bincount(place, shares, len(target)) - target).max() < _MET for target, place in targets):
            return np.asarray(shares / shares.sum())
    raise ParameterError(
        "weighted", "raking does not meet all margins: some strata have no reports; join values or ask for more days"
    )


def who_answered(
    population: KnownPopulation, metric: Metric, reports: Callable[[str, str], int]
) -> list[tuple[str, list[tuple[str, float, float]]]]:
    """Return each attribute whose shares are known, with its values: the share of reports, and of the population.

    ``reports`` returns the number of reports with a value of an attribute; nothing is returned without any.
    """
    answered: dict[str, list[tuple[str, float, float]]] = {}
    listed = dict(metric.strata.attributes) if metric.strata else {}
    for margin in population.of(metric):
        for name in margin.attributes:
            known = margin.sums([name])
            counts = {value: reports(name, value) for value in listed[name]}
            total = sum(counts.values())
            if total and name not in answered:
                shown = [value for value in listed[name] if counts[value] or known.get((value,))]
                answered[name] = [(value, counts[value] / total, known.get((value,), 0.0)) for value in shown]
    return list(answered.items())


def indicators(population: KnownPopulation, metric: Metric) -> Floats:
    """Return the constraints of raking as indicators of each margin's combinations, shape (cells, combinations)."""
    strata = metric.strata
    if strata is None:
        return np.ones((1, 1))
    columns: list[Booleans] = []
    for margin in population.of(metric):
        target, place = _target(margin, strata)
        columns += [place == combination for combination in range(len(target))]
    return np.array(columns, dtype=np.float64).T
