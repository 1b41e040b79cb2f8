"""Pools, batches, sealed reports, digests of what has left, and what else is kept in mind."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "relay_pools",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("pool", sa.Text, nullable=False),
        sa.Column("suite", sa.String(16), nullable=False),
        sa.Column("length", sa.Integer, nullable=False),
        sa.Column("listed", sa.Boolean, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("forwarded", "unread", "dropped")),
        sa.UniqueConstraint("pool", "suite"),
    )
    op.create_table(
        "relay_batches",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("pool", sa.Integer, sa.ForeignKey("relay_pools.number"), nullable=False),
        sa.Column("frozen", sa.Date),
        sa.Column("total", sa.BigInteger),
        sa.Column("share", sa.Integer),
        sa.Column("length", sa.Integer, nullable=False),
    )
    op.create_table(
        "relay_sealed",
        sa.Column("batch", sa.Integer, sa.ForeignKey("relay_batches.number"), primary_key=True, autoincrement=False),
        sa.Column("digest", sa.LargeBinary(16), primary_key=True),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "relay_forwarded",
        sa.Column("digest", sa.LargeBinary(16), primary_key=True),
        sa.Column("day", sa.Date, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "relay_state",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
