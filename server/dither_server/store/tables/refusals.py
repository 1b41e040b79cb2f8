"""Counts of refused batches per metric, version, day and reason."""

from collections import Counter
from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

import sqlalchemy as sa

from .schema import REFUSALS, Repository


class Refusal(NamedTuple):
    """A refused batch as it is stored: its metric and version, the day, and the kind of the problem.

    The metric is "" if the batch named no metric of this collector. The version is "" if it is not known.
    """

    metric: str
    day: date
    kind: str
    version: str = ""


def add_refusals(connection: sa.Connection, refused: Mapping[Refusal, int], shard: bytes) -> None:
    """Add to the counts of a shard, which no other process writes."""
    for refusal, batches in refused.items():
        key = {**refusal._asdict(), "shard": shard}
        same = [REFUSALS.c[name] == value for name, value in key.items()]
        more = sa.update(REFUSALS).where(*same).values(batches=REFUSALS.c.batches + batches)
        if not connection.execute(more).rowcount:
            connection.execute(sa.insert(REFUSALS), {**key, "batches": batches})


def read_refused(
    connection: sa.Connection, metric: str | None, since: date | None, until: date | None
) -> dict[Refusal, int]:
    """Return how many batches were refused; see ``Refusals.read``."""
    key = [REFUSALS.c[name] for name in Refusal._fields]
    query = sa.select(*key, sa.func.sum(REFUSALS.c.batches)).group_by(*key).order_by(*key)
    if metric is not None:
        query = query.where(REFUSALS.c.metric == metric)
    if since is not None:
        query = query.where(REFUSALS.c.day >= since)
    if until is not None:
        query = query.where(REFUSALS.c.day <= until)
    return {Refusal(*row[:-1]): int(row[-1]) for row in connection.execute(query)}


class Refusals(Repository):
    """Counts of refused batches. Each attempt counts, so a batch that was asked to come again is counted each time."""

    def read(
        self, metric: str | None = None, since: date | None = None, until: date | None = None
    ) -> dict[Refusal, int]:
        """Return how many batches of a metric, or of all, were refused on these days, both included, in order."""
        with self._transaction() as connection:
            return read_refused(connection, metric, since, until)

    def by_kind(self, metric: str, since: date | None = None, until: date | None = None) -> dict[str, int]:
        """Return how many batches of a metric were refused, by the end of the problem's type, such as ``malformed``.

        Those that named no metric of ours are under the name "".
        """
        kinds: Counter[str] = Counter()
        for refusal, batches in self.read(metric, since, until).items():
            kinds[refusal.kind] += batches
        return dict(sorted(kinds.items()))

    def rows(self, metric: str, before: date | None = None) -> int:
        """Return the number of rows of a metric, before a day or in all."""
        with self._transaction() as connection:
            return connection.execute(sa.select(sa.func.count()).where(*_of(metric, before))).scalar_one()

    def purge(self, metric: str, before: date | None = None) -> int:
        """Delete these rows; return their number."""
        with self._transaction(write=True) as connection:
            return connection.execute(sa.delete(REFUSALS).where(*_of(metric, before))).rowcount


def _of(metric: str, before: date | None) -> list[sa.ColumnElement[bool]]:
    conditions = [REFUSALS.c.metric == metric]
    return conditions if before is None else [*conditions, REFUSALS.c.day < before]
