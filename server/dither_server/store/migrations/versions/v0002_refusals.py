"""Counts of refused batches."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make their table."""
    op.create_table(
        "refusals",
        sa.Column("metric", sa.String(64), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("kind", sa.String(32), primary_key=True),
        sa.Column("shard", sa.LargeBinary(16), primary_key=True),
        sa.Column("batches", sa.BigInteger, nullable=False),
    )
