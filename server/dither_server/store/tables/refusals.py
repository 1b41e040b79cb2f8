"""Refused batches in the database: how many, of which metric and version, on which day, and why."""

from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

import sqlalchemy as sa

from .schema import REFUSALS

__all__ = ["Refusal", "add_refusals", "read_refused"]


class Refusal(NamedTuple):
    """What is kept of a refused batch: its metric and version, the day, and the problem's kind.

    The metric is "" if the batch named none of ours. The version is "" if the metric is, or if nobody told it.
    """

    metric: str
    day: date
    kind: str
    version: str = ""


def add_refusals(connection: sa.Connection, refused: Mapping[Refusal, int], shard: bytes) -> None:
    """Add counts to those of a shard, whose only writer we are."""
    for refusal, batches in refused.items():
        key = {**refusal._asdict(), "shard": shard}
        same = [REFUSALS.c[name] == value for name, value in key.items()]
        more = sa.update(REFUSALS).where(*same).values(batches=REFUSALS.c.batches + batches)
        if not connection.execute(more).rowcount:
            connection.execute(sa.insert(REFUSALS), {**key, "batches": batches})


def read_refused(
    connection: sa.Connection, metric: str | None, since: date | None, until: date | None
) -> dict[Refusal, int]:
    """Return how many batches were refused; see ``Store.refused``."""
    key = [REFUSALS.c[name] for name in Refusal._fields]
    query = sa.select(*key, sa.func.sum(REFUSALS.c.batches)).group_by(*key).order_by(*key)
    if metric is not None:
        query = query.where(REFUSALS.c.metric == metric)
    if since is not None:
        query = query.where(REFUSALS.c.day >= since)
    if until is not None:
        query = query.where(REFUSALS.c.day <= until)
    return {Refusal(*row[:-1]): int(row[-1]) for row in connection.execute(query)}
