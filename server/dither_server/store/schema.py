"""The tables, and the views for programs that read SQL.

From the first release on, a change here needs a step in ``database.COLLECTOR`` that upgrades older databases.
"""

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager

import sqlalchemy as sa

SCHEMA = sa.MetaData()

REVISION = sa.Table("alembic_version", SCHEMA, sa.Column("version_num", sa.String(32), primary_key=True))
"""One row: the number of the schema that a database has."""

METRICS = sa.Table(
    "metrics",
    SCHEMA,
    sa.Column("version", sa.String(16), primary_key=True),
    sa.Column("name", sa.String(64), nullable=False, index=True),
    sa.Column("definition", sa.Text, nullable=False),
)

DISABLED = sa.Table(
    "disabled",
    SCHEMA,
    sa.Column("version", sa.String(16), sa.ForeignKey(METRICS.c.version), primary_key=True),
    sa.Column("day", sa.Date, nullable=False),
)

# Ids of batches and of sealed rows, with the day on which each came.
BATCHES = sa.Table(
    "batches",
    SCHEMA,
    sa.Column("batch", sa.LargeBinary(17), primary_key=True),
    sa.Column("day", sa.Date, nullable=False),
    sqlite_with_rowid=False,
)

# The days of these ids, numbered in the order in which they were made the current day.
BATCH_DAYS = sa.Table(
    "batch_days",
    SCHEMA,
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("opened", sa.Integer, nullable=False),
)

# Each process has its own shard, so that writers never touch the same row; a reader sums the shards. ``stratum`` is the
# index of the reports' public stratum among those of the metric, 0 if it has none.
TALLIES = sa.Table(
    "tallies",
    SCHEMA,
    sa.Column("version", sa.String(16), sa.ForeignKey(METRICS.c.version), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("stratum", sa.SmallInteger, primary_key=True, autoincrement=False, server_default="0"),
    sa.Column("shard", sa.LargeBinary(16), primary_key=True),
    sa.Column("block", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("counts", sa.LargeBinary, nullable=False),
)

# The part of these that came sealed, through a relay; also the basis of the privacy of shuffling, the least total.
SEALED = sa.Table(
    "sealed",
    SCHEMA,
    sa.Column("version", sa.String(16), sa.ForeignKey(METRICS.c.version), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("stratum", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("shard", sa.LargeBinary(16), primary_key=True),
    *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("batches", "reports", "least_total", "refused")),
)

# The number of reports behind each day's estimates, which are stale once the day has more: reports only ever grow.
ESTIMATED_DAYS = sa.Table(
    "estimated_days",
    SCHEMA,
    sa.Column("version", sa.String(16), sa.ForeignKey(METRICS.c.version), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("reports", sa.BigInteger, nullable=False),
    sa.Column("labels", sa.LargeBinary(16), nullable=False),
)

# For programs that read SQL and no blocks; they read the view daily_estimates.
ESTIMATES = sa.Table(
    "estimates",
    SCHEMA,
    sa.Column("version", sa.String(16), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("frequency", sa.Double),
    sa.Column("noise_error", sa.Double),
    sa.Column("standard_error", sa.Double),
    sa.Column("low", sa.Double),
    sa.Column("high", sa.Double),
    sa.ForeignKeyConstraint(["version", "day"], [ESTIMATED_DAYS.c.version, ESTIMATED_DAYS.c.day]),
    sqlite_with_rowid=False,
)

sa.event.listen(
    ESTIMATES,
    "after_create",
    sa.DDL(  # type: ignore[no-untyped-call]  # it has no annotations
        """
CREATE VIEW daily_estimates AS
SELECT
    metrics.name AS metric,
    estimates.version,
    estimates.day,
    estimates.value,
    estimated_days.reports,
    estimates.frequency,
    estimates.frequency * estimated_days.reports AS count,
    estimates.noise_error,
    estimates.standard_error,
    estimates.low,
    estimates.high
FROM estimates
JOIN estimated_days ON estimated_days.version = estimates.version AND estimated_days.day = estimates.day
JOIN metrics ON metrics.version = estimates.version
"""
    ),
)

# The same for questions that a number answers; the view is daily_numbers.
NUMBERS = sa.Table(
    "numbers",
    SCHEMA,
    sa.Column("version", sa.String(16), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    *(sa.Column(name, sa.Double) for name in ("mean", "mean_error", "mean_low", "mean_high")),
    *(sa.Column(f"{name}{end}", sa.Double) for name in ("p50", "p95") for end in ("", "_low", "_high")),
    sa.ForeignKeyConstraint(["version", "day"], [ESTIMATED_DAYS.c.version, ESTIMATED_DAYS.c.day]),
    sqlite_with_rowid=False,
)

sa.event.listen(
    NUMBERS,
    "after_create",
    sa.DDL(  # type: ignore[no-untyped-call]  # it has no annotations
        """
CREATE VIEW daily_numbers AS
SELECT
    metrics.name AS metric,
    numbers.version,
    numbers.day,
    estimated_days.reports,
    numbers.mean,
    numbers.mean_error,
    numbers.mean_low,
    numbers.mean_high,
    numbers.p50,
    numbers.p50_low,
    numbers.p50_high,
    numbers.p95,
    numbers.p95_low,
    numbers.p95_high
FROM numbers
JOIN estimated_days ON estimated_days.version = numbers.version AND estimated_days.day = numbers.day
JOIN metrics ON metrics.version = numbers.version
"""
    ),
)

DAILY = {"shares": ESTIMATES, "numbers": NUMBERS}
"""The tables of daily estimates, by the name under which a kind of question asks for one."""

# A refused batch is counted under its metric's name only if the collector knows the name, and under its version only if
# it is registered or among the few others that each process records per day, so that strangers cannot fill the table
# with invented names.
REFUSALS = sa.Table(
    "refusals",
    SCHEMA,
    sa.Column("metric", sa.String(64), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("kind", sa.String(32), primary_key=True),
    sa.Column("version", sa.String(16), primary_key=True),
    sa.Column("shard", sa.LargeBinary(16), primary_key=True),
    sa.Column("batches", sa.BigInteger, nullable=False),
)

# A run of ``dither-server fold``; ``begun`` is when it listed the segments. No count is stored with a time.
FOLD_RUNS = sa.Table(
    "fold_runs",
    SCHEMA,
    sa.Column("run", sa.LargeBinary(16), primary_key=True),
    sa.Column("begun", sa.DateTime, nullable=False),
    sa.Column("finished", sa.Boolean, nullable=False),
)

# The buckets of a run that are in the tallies, until it is finished.
FOLDS = sa.Table(
    "folds",
    SCHEMA,
    sa.Column("run", sa.LargeBinary(16), sa.ForeignKey(FOLD_RUNS.c.run), primary_key=True),
    sa.Column("bucket", sa.SmallInteger, primary_key=True, autoincrement=False),
    *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("batches", "rows", "repeated", "conflicts")),
    sa.Column("damaged", sa.BigInteger, nullable=False),
)

# One row: a random name, drawn when the table was made, which copies of the database keep; and how many days were
# purged, which invalidates cached answers.
IDENTITY = sa.Table(
    "identity",
    SCHEMA,
    sa.Column("identity", sa.LargeBinary(16), primary_key=True),
    sa.Column("purges", sa.Integer, nullable=False, server_default="0"),
)


@sa.event.listens_for(IDENTITY, "after_create")
def _draw_identity(_: sa.Table, connection: sa.Connection, **__: object) -> None:
    connection.execute(sa.insert(IDENTITY), {"identity": secrets.token_bytes(16)})


# Only the digest of a token is stored: reading the database is not enough to report or to read with it.
TOKENS = sa.Table(
    "tokens",
    SCHEMA,
    sa.Column("digest", sa.LargeBinary(32), primary_key=True),
    sa.Column("role", sa.String(8), nullable=False),
    sa.Column("note", sa.String(64), nullable=False),
    sa.Column("day", sa.Date, nullable=False),
    sa.Column("expires", sa.Date),
    sa.Column("used", sa.Date),
)


class Repository:
    """Some tables of a database, each method in a transaction of its own. Methods raise StoreError if that fails.

    ``transaction`` opens a transaction, for reading unless ``write`` is true.
    """

    def __init__(self, transaction: Callable[..., AbstractContextManager[sa.Connection]]) -> None:
        self._transaction = transaction
