"""Estimates of each day, and a view of them for whoever reads SQL."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_VIEW = """
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


def upgrade() -> None:
    """Make the tables and the view."""
    op.create_table(
        "estimated_days",
        sa.Column("version", sa.String(16), sa.ForeignKey("metrics.version"), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sa.Column("labels", sa.LargeBinary(16), nullable=False),
    )
    op.create_table(
        "estimates",
        sa.Column("version", sa.String(16), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("frequency", sa.Double),
        sa.Column("noise_error", sa.Double),
        sa.Column("standard_error", sa.Double),
        sa.Column("low", sa.Double),
        sa.Column("high", sa.Double),
        sa.ForeignKeyConstraint(["version", "day"], ["estimated_days.version", "estimated_days.day"]),
        sqlite_with_rowid=False,
    )
    op.execute(_VIEW)
