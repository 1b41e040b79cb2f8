"""All tables, and the views for programs that read SQL.

What each table holds is said in ``store/tables/schema.py``. From the first release on, a change there comes with a
migration of its own beside this one.
"""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_DAILY_ESTIMATES = """
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

_DAILY_NUMBERS = """
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


def upgrade() -> None:
    """Create the tables and views, and draw the name of the database."""
    _create_metrics()
    _create_batches()
    _create_tallies()
    _create_estimates()
    _create_folds()
    _create_tokens()
    identity = op.create_table(
        "identity",
        sa.Column("identity", sa.LargeBinary(16), primary_key=True),
        sa.Column("purges", sa.Integer, nullable=False, server_default="0"),
    )
    op.bulk_insert(identity, [{"identity": secrets.token_bytes(16)}])


def _create_metrics() -> None:
    op.create_table(
        "metrics",
        sa.Column("version", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(64), nullable=False, index=True),
        sa.Column("definition", sa.Text, nullable=False),
    )
    op.create_table(
        "disabled",
        sa.Column("version", sa.String(16), sa.ForeignKey("metrics.version"), primary_key=True),
        sa.Column("day", sa.Date, nullable=False),
    )


def _create_batches() -> None:
    op.create_table(
        "batches",
        sa.Column("batch", sa.LargeBinary(17), primary_key=True),
        sa.Column("day", sa.Date, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "batch_days",
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("opened", sa.Integer, nullable=False),
    )


def _create_tallies() -> None:
    op.create_table(
        "tallies",
        *_stratum_of_a_day(server_default="0"),
        sa.Column("shard", sa.LargeBinary(16), nullable=False),
        sa.Column("block", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("counts", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("version", "day", "stratum", "shard", "block"),
    )
    op.create_table(
        "sealed",
        *_stratum_of_a_day(),
        sa.Column("shard", sa.LargeBinary(16), nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("batches", "reports", "least_total", "refused")),
        sa.PrimaryKeyConstraint("version", "day", "stratum", "shard"),
    )
    op.create_table(
        "refusals",
        sa.Column("metric", sa.String(64), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("kind", sa.String(32), primary_key=True),
        sa.Column("version", sa.String(16), primary_key=True),
        sa.Column("shard", sa.LargeBinary(16), primary_key=True),
        sa.Column("batches", sa.BigInteger, nullable=False),
    )


def _stratum_of_a_day(server_default: str | None = None) -> tuple[sa.Column[str], sa.Column[object], sa.Column[int]]:
    return (
        sa.Column("version", sa.String(16), sa.ForeignKey("metrics.version"), nullable=False),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("stratum", sa.SmallInteger, nullable=False, server_default=server_default, autoincrement=False),
    )


def _create_estimates() -> None:
    op.create_table(
        "estimated_days",
        sa.Column("version", sa.String(16), sa.ForeignKey("metrics.version"), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sa.Column("labels", sa.LargeBinary(16), nullable=False),
    )
    shares = ("frequency", "noise_error", "standard_error", "low", "high")
    numbers = ("mean", "mean_error", "mean_low", "mean_high")
    quantiles = [f"{name}{end}" for name in ("p50", "p95") for end in ("", "_low", "_high")]
    for name, columns in (
        ("estimates", [sa.Column("value", sa.Text, nullable=False), *(sa.Column(one, sa.Double) for one in shares)]),
        ("numbers", [sa.Column(one, sa.Double) for one in (*numbers, *quantiles)]),
    ):
        op.create_table(
            name,
            sa.Column("version", sa.String(16), primary_key=True),
            sa.Column("day", sa.Date, primary_key=True),
            sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
            *columns,
            sa.ForeignKeyConstraint(["version", "day"], ["estimated_days.version", "estimated_days.day"]),
            sqlite_with_rowid=False,
        )
    op.execute(_DAILY_ESTIMATES)
    op.execute(_DAILY_NUMBERS)


def _create_folds() -> None:
    op.create_table(
        "fold_runs",
        sa.Column("run", sa.LargeBinary(16), primary_key=True),
        sa.Column("begun", sa.DateTime, nullable=False),
        sa.Column("finished", sa.Boolean, nullable=False),
    )
    counts = ("batches", "rows", "repeated", "conflicts", "damaged")
    op.create_table(
        "folds",
        sa.Column("run", sa.LargeBinary(16), sa.ForeignKey("fold_runs.run"), primary_key=True),
        sa.Column("bucket", sa.SmallInteger, primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in counts),
    )


def _create_tokens() -> None:
    op.create_table(
        "tokens",
        sa.Column("digest", sa.LargeBinary(32), primary_key=True),
        sa.Column("role", sa.String(8), nullable=False),
        sa.Column("note", sa.String(64), nullable=False),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("expires", sa.Date),
        sa.Column("used", sa.Date),
    )
