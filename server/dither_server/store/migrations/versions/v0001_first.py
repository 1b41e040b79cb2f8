"""Metrics, batches, tallies and tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "metrics",
        sa.Column("version", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(64), nullable=False, index=True),
        sa.Column("definition", sa.Text, nullable=False),
    )
    op.create_table(
        "batches",
        sa.Column("batch", sa.LargeBinary(16), primary_key=True),
        sa.Column("digest", sa.LargeBinary(16), nullable=False),
        sa.Column("day", sa.Date, nullable=False, index=True),
    )
    op.create_table(
        "tallies",
        sa.Column("version", sa.String(16), sa.ForeignKey("metrics.version"), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("shard", sa.LargeBinary(16), primary_key=True),
        sa.Column("block", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("counts", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("digest", sa.LargeBinary(32), primary_key=True),
        sa.Column("role", sa.String(8), nullable=False),
        sa.Column("note", sa.String(64), nullable=False),
        sa.Column("day", sa.Date, nullable=False),
    )
