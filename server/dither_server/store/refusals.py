"""Refused batches in the database: how many, of which metric, on which day, and why."""

from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

import sqlalchemy as sa

from .schema import REFUSALS

__all__ = ["Refusal", "add_refusals", "read_refusals"]


class Refusal(NamedTuple):
    """What is kept of a refused batch: the metric ("" if it named none of ours), the day, and the problem's kind."""

    metric: str
    day: date
    kind: str


def add_refusals(connection: sa.Connection, refused: Mapping[Refusal, int], shard: bytes) -> None:
    """Add counts to those of a shard, whose only writer we are."""
    for refusal, batches in refused.items():
        key = {**refusal._asdict(), "shard": shard}
        same = [REFUSALS.c[name] == value for name, value in key.items()]
        more = sa.update(REFUSALS).where(*same).values(batches=REFUSALS.c.batches + batches)
        if not connection.execute(more).rowcount:
            connection.execute(sa.insert(REFUSALS), {**key, "batches": batches})


def read_refusals(connection: sa.Connection, metric: str, since: date | None, until: date | None) -> dict[str, int]:
    """Return how many batches of a metric were refused, by kind; see ``Store.refusals``."""
    conditions = [REFUSALS.c.metric == metric]
    if since is not None:
        conditions.append(REFUSALS.c.day >= since)
    if until is not None:
        conditions.append(REFUSALS.c.day <= until)
    total = sa.func.sum(REFUSALS.c.batches)
    query = sa.select(REFUSALS.c.kind, total).where(*conditions).group_by(REFUSALS.c.kind).order_by(REFUSALS.c.kind)
    return {kind: int(batches) for kind, batches in connection.execute(query)}
