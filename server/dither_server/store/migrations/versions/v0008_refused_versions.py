"""The versions of refused batches."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add them to the key. Of what was refused before, no version is known."""
    op.rename_table("refusals", "refusals_before")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE refusals_before DROP CONSTRAINT refusals_pkey")
    op.create_table(
        "refusals",
        sa.Column("metric", sa.String(64), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("kind", sa.String(32), primary_key=True),
        sa.Column("version", sa.String(16), primary_key=True),
        sa.Column("shard", sa.LargeBinary(16), primary_key=True),
        sa.Column("batches", sa.BigInteger, nullable=False),
    )
    columns = "metric, day, kind, shard, batches"
    op.execute(f"INSERT INTO refusals (version, {columns}) SELECT '', {columns} FROM refusals_before")  # noqa: S608  # both are ours
    op.drop_table("refusals_before")
