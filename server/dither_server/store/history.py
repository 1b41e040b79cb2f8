"""What was collected of a metric version, read at one moment: its counts, and day by day how many reports."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import sqlalchemy as sa

from dither_shared import Metric

from .counting.folds import read_folded_up_to
from .tables.refusals import read_refused
from .tables.schema import IDENTITY
from .tables.sealed_sums import Sealed, read_sealed
from .tables.tallies import Places, read_reports, read_stored_rows, read_tally

if TYPE_CHECKING:
    from ..tally.tally import Tally

T = TypeVar("T")


class Slice(NamedTuple):
    """What was collected of a metric version from ``since`` to ``until`` in the strata at ``places``.

    ``reports`` are those of each day with any, ascending. Without ``since`` the slice begins with the first such day,
    without ``until`` it ends with the last.

    Equal slices have equal tallies: each report adds one to the reports of its day, and only a purge removes any, which
    ``purges`` counts. So whatever is computed from a slice and its tally may be cached by the slice.
    """

    version: str
    since: date | None
    until: date | None
    places: tuple[int, ...] | None
    reports: tuple[tuple[date, int], ...]
    refused: tuple[tuple[str, int], ...]
    sealed: Sealed | None
    purges: int

    @property
    def total(self) -> int:
        """The number of its reports."""
        return sum(number for _, number in self.reports)

    @property
    def days(self) -> tuple[date | None, date | None]:
        """The first and the last day, as asked for or else with reports."""
        first, last = (self.reports[0][0], self.reports[-1][0]) if self.reports else (None, None)
        return self.since or first, self.until or last


@dataclass(frozen=True)
class History:
    """What was collected of a metric version: for each day, reports and sealed ones by place of the stratum.

    ``refused`` counts the refused batches of each day by kind of problem. ``blocks`` and ``chunks`` are the stored rows
    that make up the tally, and ``folded_up_to`` is when the last finished fold of a spool began.
    """

    version: str
    reports: Mapping[date, Mapping[int, int]]
    refused: Mapping[date, Mapping[str, int]]
    sealed: Mapping[date, Mapping[int, Sealed]]
    purges: int
    blocks: int
    chunks: int
    folded_up_to: datetime | None

    def days(self, places: Places = None) -> dict[date, int]:
        """Return the reports of each day with any in these strata, ascending."""
        return _by_day(self.reports, None, None, places)

    def strata(self) -> Counter[int]:
        """Return the reports of each stratum, by its place."""
        found: Counter[int] = Counter()
        for places in self.reports.values():
            found.update(places)
        return found

    def slice(self, since: date | None, until: date | None, places: Places = None) -> Slice:
        """Return what was collected on these days, both included, in these strata."""
        reports = tuple(_by_day(self.reports, since, until, places).items())
        ours = None if places is None else tuple(places)
        found = Slice(self.version, since, until, ours, reports, (), None, self.purges)
        refused: Counter[str] = Counter()
        for _, kinds in _within(self.refused, *found.days):
            refused.update(kinds)
        sealed = None
        for _, parts in _within(self.sealed, since, until):
            for place, one in parts.items():
                if places is None or place in places:
                    sealed = one.plus(sealed)
        return found._replace(refused=tuple(sorted(refused.items())), sealed=sealed)


class Snapshot:
    """A database at one moment: everything here is read in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def history(self, metric: Metric, since: date | None = None, until: date | None = None) -> History:
        """Return what was collected of a metric version on these days, both included, without its counts."""
        refused: defaultdict[date, Counter[str]] = defaultdict(Counter)
        for refusal, number in read_refused(self._connection, metric.name, since, until).items():
            refused[refusal.day][refusal.kind] += number
        return History(
            metric.version,
            _nested(read_reports(self._connection, metric, since, until)),
            refused,
            _nested(read_sealed(self._connection, metric, since, until)),
            int(self._connection.execute(sa.select(IDENTITY.c.purges)).scalar_one()),
            *read_stored_rows(self._connection, metric, since, until),
            read_folded_up_to(self._connection),
        )

    def tally(
        self, metric: Metric, since: date | None = None, until: date | None = None, places: Places = None
    ) -> "Tally":
        """Return the tally of a metric version over these days, both included, and the strata at ``places``."""
        return read_tally(self._connection, metric, since, until, places)


def _nested(found: Mapping[tuple[date, int], T]) -> dict[date, dict[int, T]]:
    by_day: defaultdict[date, dict[int, T]] = defaultdict(dict)
    for (day, place), one in found.items():
        by_day[day][place] = one
    return dict(by_day)


def _by_day(
    reports: Mapping[date, Mapping[int, int]], since: date | None, until: date | None, places: Places
) -> dict[date, int]:
    sums = (
        (day, sum(number for place, number in parts.items() if places is None or place in places))
        for day, parts in _within(reports, since, until)
    )
    return {day: number for day, number in sums if number}


def _within(by_day: Mapping[date, T], since: date | None, until: date | None) -> Iterator[tuple[date, T]]:
    """Yield the days from ``since`` to ``until``, both included; a single day is looked up directly."""
    days = [since] if since is not None and since == until else by_day
    for day in days:
        if day in by_day and (since is None or day >= since) and (until is None or day <= until):
            yield day, by_day[day]
