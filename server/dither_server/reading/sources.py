"""Sources of answers: the strata and days of a metric version on which an answer is based, and answers cached by them.

The strata are attributes that devices send in the clear. Answers are cached by what they were computed from, so that
none is stale after reports are counted or removed.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np

from dither_shared import Metric, ParameterError, Strata

from ..analysis.columns import Table
from ..analysis.shuffling.amplified import amplified
from ..store import History, Sealed, Slice, Snapshot
from ..tally.repeats import Repeats
from ..tally.tally import Tally
from .parameters import Chosen, refuse_unknown
from .query import EstimateQuery, Query, Span
from .summaries.view import Page

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


def has_same_question(one: Metric, other: Metric) -> bool:
    """Return whether two versions of a metric differ in nothing but their noise."""
    return one.question.domain_digest == other.question.domain_digest and one.strata == other.strata


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


T = TypeVar("T")

_OVERHEAD, _CELL, _ROW = 2_000, 16, 1_000
"""Bytes of a key with the answer's metadata, of a value in a list, and of a row shown on a page."""


class AnswerCache:
    """The answers used last, of at most ``limit`` bytes in all, not counting labels, because the metric holds them.

    A key depends on a ``Slice`` for each tally from which the answer is computed, and takes only the space of its
    labels. Safe to use from many threads.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Bytes of the answers that are remembered now."""
        return self._bytes

    def __contains__(self, key: Hashable) -> bool:
        """Return whether the answer of a key is remembered now."""
        return key in self._known

    def find(self, key: Hashable) -> Any | None:
        """Return the answer of a key if it is remembered, else None."""
        with self._lock:
            if key not in self._known:
                return None
            self._known.move_to_end(key)
            return self._known[key][0]

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the answer of a key: the cached one, or the result of ``compute``, which is then cached."""
        found = self.find(key)
        if found is None:
            found = compute()
            self._keep(key, found, _OVERHEAD + _size(found))
        return cast("T", found)

    def _keep(self, key: Hashable, found: object, size: int) -> None:
        with self._lock:
            if key not in self._known and size <= self._limit:
                self._known[key] = (found, size)
                self._bytes += size
            while self._bytes > self._limit:
                _, (_, oldest) = self._known.popitem(last=False)
                self._bytes -= oldest


def _size(found: Any) -> int:
    """Return about how many bytes an answer takes: a table, what holds one, or an estimate, which has a size."""
    table = found if isinstance(found, Table) else getattr(found, "table", None)
    if not isinstance(table, Table):
        return int(found.size)
    rows = len(found.found.shown) if isinstance(getattr(found, "found", None), Page) else 0
    columns = [column for listed in table.lists.values() for column in listed.columns.values()]
    return _ROW * rows + sum(one.nbytes if isinstance(one, np.ndarray) else _CELL * len(one) for one in columns)


Answered = tuple[tuple[date, tuple[tuple[int, int], ...]], ...]
"""The reports of each day, by place of the stratum."""


class Source(NamedTuple):
    """The source of an answer: a metric version, the selected strata, and what was collected of them.

    With ``distinct``, all reports are assumed to come from different people. ``answered``, from which weights follow,
    are the reports of each day and place, in all strata; None if no weights are asked for.
    """

    metric: Metric
    part: Subgroup
    slice: Slice
    distinct: bool
    answered: Answered | None = None

    @classmethod
    def of(cls, metric: Metric, part: Subgroup, history: History, span: Span, query: EstimateQuery) -> Self:
        """Return the source of the reports of these days."""
        answered = _answered(history, span) if isinstance(query, Query) and query.weighted else None
        return cls(metric, part, history.slice(*span, part.places), query.distinct, answered)

    @property
    def span(self) -> Span:
        """The days that are asked for."""
        return self.slice.since, self.slice.until

    def at(self, history: History) -> Self:
        """Return the same source at another moment."""
        answered = None if self.answered is None else _answered(history, self.span)
        return self._replace(slice=history.slice(*self.span, self.part.places), answered=answered)

    def until(self, history: History, day: date) -> Self:
        """Return the source of its days up to one."""
        return self._replace(slice=history.slice(self.slice.since, day, self.part.places))

    @property
    def repeats(self) -> Repeats:
        """How its reports may repeat."""
        found = Repeats.of(self.metric, self.slice.reports)
        return found._replace(chance=0.0) if self.distinct else found

    def tally(self, snapshot: Snapshot) -> Tally:
        """Return its tally."""
        return replace(snapshot.tally(self.metric, *self.span, self.slice.places), repeats=self.repeats)


def _answered(history: History, span: Span) -> Answered:
    since, until = span
    return tuple(
        (day, tuple(sorted(places.items())))
        for day, places in history.reports.items()
        if (since is None or day >= since) and (until is None or day <= until)
    )


def key_of(sources: Sequence[Source], labels: tuple[str, ...] | None, *asked: object) -> Hashable:
    """Return the key of an answer: what it depends on, in little space however many days were collected.

    ``labels`` are candidates that replace those of the metric. Labels are not part of a version that takes any string.
    """
    whole = repr((*asked, *((source.slice, source.distinct, source.answered) for source in sources)))
    named = (labels,) if labels is not None else tuple(source.metric.labels for source in sources)
    return hashlib.blake2b(whole.encode(), digest_size=16).digest(), named


_MOST_DELTA = 1e-6
"""Maximum δ, the probability with which the bound on ε may fail; it is smaller for many reports."""

_MOST = 10**9
"""Maximum reports that count as shuffled together, because computing more takes long."""


def about_sealed(sealed: Sealed | None, metric: Metric | None = None, periods: int = 1) -> dict[str, Any]:
    """Return the field ``sealed`` of an answer, if any of its reports came sealed.

    With a ``metric`` it includes the epsilon after shuffling for a device with one report in each of ``periods``
    periods, so in as many batches, which takes a second or two to compute the first time.
    """
    if sealed is None:
        return {}
    worth = {} if metric is None else {"shuffled": _worth(metric, sealed, periods)}
    return {"sealed": sealed._asdict() | worth}


def _worth(metric: Metric, sealed: Sealed, periods: int) -> dict[str, Any]:
    """Return the ε of shuffled reports: of one, and of one per period, each in a batch of its own.

    No batch has reports of two periods, because rows are sealed for one. n is what the relay claims less what was not
    counted, and at most the number of reports that came, because a relay may claim any number. It is rounded down, so
    that few values are ever computed and none promises too much.
    """
    least = min(max(1, min(sealed.least_total - sealed.refused, sealed.reports)), _MOST)
    among = least - least % 10 ** max(0, len(str(least)) - 2)
    delta = min(_MOST_DELTA, 10.0 ** -(len(str(among)) + 1))
    found = amplified(metric.mechanism, among, delta)
    if found.reason is not None:
        return {"none": found.reason}
    epsilon, lost = found.after(periods)
    worth = {"reports": among, "delta": delta, "epsilon": found.best, "any_law": found.generic}
    bound = {} if found.blanket is None else {"this_law": found.blanket}
    return worth | bound | {"periods": periods, "together": epsilon, "together_delta": lost}


def folded(up_to: datetime | None) -> dict[str, str]:
    """Return the member ``folded_up_to`` of an answer, such as 2026-11-20T14:05:59Z; nothing if no fold has finished.

    Read it before the counts: then it never promises more than they contain.
    """
    return {} if up_to is None else {"folded_up_to": up_to.isoformat().replace("+00:00", "Z")}
