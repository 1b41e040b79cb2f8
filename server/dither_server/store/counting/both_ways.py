"""Find days on which some collectors of a database spooled, and others did not.

These know nothing of each other's batch ids. What comes sealed is counted by collectors in any case.
"""

from datetime import date

import sqlalchemy as sa

from ..tables.schema import METRICS, SEALED, TALLIES
from .folds import SHARD

__all__ = ["days_counted_both_ways"]


def days_counted_both_ways(connection: sa.Connection, since: date) -> list[date]:
    """Return the days from one on of which a fold counted reports, and a collector by itself, too."""
    registered = TALLIES.c.version.in_(sa.select(METRICS.c.version))  # or the table would be read whole
    same = [SEALED.c[name] == TALLIES.c[name] for name in ("version", "day", "stratum", "shard")]
    plain = sa.not_(sa.exists().where(*same))
    of_folds, of_collectors = (
        set(connection.scalars(sa.select(TALLIES.c.day).distinct().where(registered, TALLIES.c.day >= since, shard)))
        for shard in (TALLIES.c.shard == SHARD, sa.and_(TALLIES.c.shard != SHARD, plain))
    )
    return sorted(of_folds & of_collectors)
