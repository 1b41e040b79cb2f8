"""Versions of metrics that are disabled."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make their table."""
    op.create_table(
        "disabled",
        sa.Column("version", sa.String(16), sa.ForeignKey("metrics.version"), primary_key=True),
        sa.Column("day", sa.Date, nullable=False),
    )
