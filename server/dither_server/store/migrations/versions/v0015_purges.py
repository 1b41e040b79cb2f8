"""How many days were purged, by which remembered answers are known to be old."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0013"


def upgrade() -> None:
    """Add the column."""
    op.add_column("identity", sa.Column("purges", sa.Integer, nullable=False, server_default="0"))
