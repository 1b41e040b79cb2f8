"""Each day's estimates of numbers, and a view of them for whoever reads SQL."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_VIEW = """
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
    """Make the table and the view."""
    op.create_table(
        "numbers",
        sa.Column("version", sa.String(16), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.Double) for name in ("mean", "mean_error", "mean_low", "mean_high")),
        *(sa.Column(f"{name}{end}", sa.Double) for name in ("p50", "p95") for end in ("", "_low", "_high")),
        sa.ForeignKeyConstraint(["version", "day"], ["estimated_days.version", "estimated_days.day"]),
        sqlite_with_rowid=False,
    )
    op.execute(_VIEW)
